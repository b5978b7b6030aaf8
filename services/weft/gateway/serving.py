"""A gateway on a transport: stdio for one host, Streamable HTTP for any number."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server

from weft.gateway.gateway import Gateway
from weft.gateway.mcp_server import GatewayHandlers
from weft.gateway.transports.stdin import HostInput


async def serve_stdio(gateway: Gateway) -> None:
    """Serve one host on stdin and stdout until it closes them."""
    handlers = GatewayHandlers(gateway)
    server = handlers.server()
    changes = NotificationOptions(True, True, True)
    try:
        await on_stdio(server, server.create_initialization_options(changes))
    finally:
        await handlers.close()


async def on_stdio(server: Server[Any], options: InitializationOptions) -> None:
    """Run any server of the SDK on stdin and stdout until the host closes them."""
    lines: Any = HostInput()
    async with stdio_server(stdin=lines) as (read, write):
        await server.run(read, write, options)


def http_app(handlers: GatewayHandlers, token: str = "", host: str = "127.0.0.1") -> Any:
    """An ASGI application at `/mcp`; with `token`, only requests that carry it are served."""
    app = handlers.server().streamable_http_app(host=host)
    return _Guarded(app, token) if token else app


class _Guarded:
    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            sent = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(sent, self._expected):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


@contextlib.asynccontextmanager
async def serving_http(
    gateway: Gateway, host: str, listening: socket.socket, token: str = ""
) -> AsyncIterator[int]:
    """Serve any number of hosts on a socket that listens on `host`; yields the port."""
    import uvicorn

    handlers = GatewayHandlers(gateway)
    app = http_app(handlers, token, host)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(server._serve(sockets=[listening]))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if task.done():
            task.result()
        yield listening.getsockname()[1]
    finally:
        await handlers.close()
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
