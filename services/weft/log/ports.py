"""Ports of loopback that are free, and stay so for whoever they were chosen for.

A port that was only found free can be given to another process before it is used, or while the
server that used it is down. On Linux a socket that is bound and does not listen prevents that: the
system gives the port to nobody who asks for any, and a server that names it listens all the same.
"""

from __future__ import annotations

import os
import socket
import sys
import weakref

ARE_KEPT = sys.platform.startswith("linux")


class Port:
    """A free port, kept as long as somebody refers to this, where ports can be."""

    def __init__(self) -> None:
        with socket.socket() as found:
            # Both sides have to allow it; servers do, to listen again soon after they ended.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(("127.0.0.1", 0))
            self.number: int = found.getsockname()[1]
            if ARE_KEPT:
                weakref.finalize(self, os.close, found.detach())
