"""The process of `weft serve`: a server on one port until a signal, its streams ended before it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from weft.http.app import Application
from weft.http.callers import check_open, open_grant
from weft.http.clients import Clients
from weft.http.grants import Grant, Grants
from weft.runtime.logs import fields, set_up_logging
from weft.runtime.settings import Settings
from weft_schemas.errors import ConfigurationError

DRAIN_SECONDS = 10
"""From the signal to the end, for the requests in work."""

BACKLOG = 1_024
"""Connections that may wait to be taken."""
KEEP_ALIVE_SECONDS = 75
"""A quiet connection is closed after so long: later than a load balancer in front of it does, which
would else send a request into one that is just being closed."""

_logger = logging.getLogger(__name__)


async def serve(
    settings: Settings,
    host: str,
    port: int,
    grants: Grants | None,
    *,
    most_bytes: int,
    rate: float,
    listening: Callable[[int], None],
) -> None:
    """Serve until SIGTERM or SIGINT; `listening` is told the port.

    Without grants every request is the settings' tenant's, on loopback only. Raises
    `ConfigurationError` where that cannot be, or the port is taken.
    """
    if grants is None:
        check_open(host)
    given: Grants | Grant = (
        open_grant(settings.tenant, settings.principal) if grants is None else grants
    )
    set_up_logging("serve", settings.log_level)
    listening_on = listener(host, port)
    async with Clients(settings) as clients:
        application = Application(clients, given, most_bytes=most_bytes, rate=rate)
        server = _Server(
            uvicorn.Config(
                application.asgi(),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=DRAIN_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )

        def end() -> None:
            application.closing.set()
            server.should_exit = True

        _logger.info("listening", extra=fields(port=listening_on.getsockname()[1]))
        listening(listening_on.getsockname()[1])
        with _signals(end):
            await server.serve(sockets=[listening_on])


class _Server(uvicorn.Server):
    """uvicorn without its signal handling, which ends a drained process by the signal again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def _signals(end: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def listener(host: str, port: int) -> socket.socket:
    """A listening socket. It says that it is TCP, which `socket.create_server` leaves open: asyncio
    then sends small answers at once, and not after the 40 ms that Nagle's algorithm waits."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
        return made
    except OSError as error:
        made.close()
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port"
        ) from None
