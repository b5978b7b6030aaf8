"""uvicorn on one listening socket, ended by SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from weft_schemas.errors import ConfigurationError

BACKLOG = 1_024
"""How many connections may wait to be accepted."""


class WebServer(uvicorn.Server):
    """uvicorn without its signal handling, which raises the signal again after the shutdown."""

    @contextlib.contextmanager
    def ended_by_signals(self, ending: Callable[[], None]) -> Iterator[None]:
        """Within the block, a signal calls `ending` and ends the server."""

        def end() -> None:
            ending()
            self.stop()

        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, end)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """End after the requests in progress."""
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listener(host: str, port: int, hint: str) -> socket.socket:
    """A listening socket, explicitly of TCP: then asyncio sends small answers at once, instead of
    after the 40 ms of Nagle's algorithm. Raises `ConfigurationError`, which ends in `hint`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
        return made
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRNOTAVAIL:
            hint = "it is no address of this machine; give one that is, or 0.0.0.0 for all"
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error.strerror}; {hint}"
        ) from None
