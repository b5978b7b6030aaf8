"""The process of `weft serve`: serves one port until a signal, and ends its streams first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import uvicorn

from weft.http.app import Application
from weft.http.callers import check_open, open_grant
from weft.http.clients import Clients
from weft.http.grants import TokenGrant, TokenGrants
from weft.http.log_watch import watch_log
from weft.log.timeouts import cancelled
from weft.runtime.logs import fields, set_up_logging
from weft.runtime.settings import Settings
from weft.web_server import WebServer, listener

DRAIN_SECONDS = 10
"""From the signal to the end, for requests that are still running."""
KEEP_ALIVE_SECONDS = 75
"""After which an idle connection is closed. It is longer than load balancers in front of it wait:
those could otherwise send a request into a connection that is being closed."""

_logger = logging.getLogger(__name__)


async def serve(
    settings: Settings,
    host: str,
    port: int,
    grants: TokenGrants | None,
    *,
    most_bytes: int,
    rate: float,
    listening: Callable[[int], None],
    tell: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT; `listening` is called with the port, `tell` with a line when
    the log is out of reach or back. Without grants, every request belongs to the settings' tenant,
    and only loopback is served. Raises `ConfigurationError` if that is not possible, or the port is
    taken."""
    if grants is None:
        check_open(host)
    own = open_grant(settings.tenant, settings.principal)
    given: TokenGrants | TokenGrant = own if grants is None else grants
    set_up_logging("serve", settings.log_level)
    listening_on = listener(host, port, "choose another --port")
    async with Clients(settings) as clients:
        application = Application(clients, given, most_bytes=most_bytes, rate=rate)
        server = WebServer(
            uvicorn.Config(
                application.asgi(),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=DRAIN_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )

        _logger.info("listening", extra=fields(port=listening_on.getsockname()[1]))
        listening(listening_on.getsockname()[1])
        watching = None
        if grants is None or grants.use_own_credential():
            watching = asyncio.create_task(watch_log(clients, own, tell))
        try:
            with server.ended_by_signals(application.closing.set):
                await server.serve(sockets=[listening_on])
        finally:
            listening_on.close()
            await cancelled(watching)
