"""Free ports on loopback that stay reserved.

A port that was merely found free can be given to another process before it is used, or while its
server is down. On Linux a socket that is bound but does not listen prevents that, while a server
can still listen on the port by number.
"""

from __future__ import annotations

import os
import socket
import sys
import weakref

ARE_KEPT = sys.platform.startswith("linux")


class Port:
    """A free port, reserved as long as this object lives, if the system supports it."""

    def __init__(self) -> None:
        with socket.socket() as found:
            # Both sides have to allow it; servers do, to listen again soon after they ended.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(("127.0.0.1", 0))
            self.number: int = found.getsockname()[1]
            if ARE_KEPT:
                weakref.finalize(self, os.close, found.detach())
