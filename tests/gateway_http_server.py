"""A server at an address, of the SDK's own making: `gateway_http_server.py PORT [handshake]`; with
the latter it does not know the current protocol. Started again it knows no earlier session."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from mcp import MCPError
from mcp.server.mcpserver import MCPServer

served: MCPServer[Any] = MCPServer("small")


@served.tool()
def process() -> str:
    """Tell the process that answers."""
    return str(os.getpid())


@served.tool()
def refuses(code: int) -> str:
    """Refuse with a code."""
    raise MCPError(code, "the quota is used up")


@served.tool()
def dies() -> str:
    """End in the call."""
    os._exit(9)


@asynccontextmanager
async def at_port(port: int, *args: str) -> AsyncIterator[str]:
    """The server as a process of its own; gives its address."""
    made = await asyncio.create_subprocess_exec(
        sys.executable, __file__, str(port), *args, stdout=-3, stderr=-3
    )
    try:
        with anyio.fail_after(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    break
                except OSError:
                    await asyncio.sleep(0.02)
            writer.close()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        if made.returncode is None:
            made.kill()
        await made.wait()


def handshake_only(app: Any) -> Any:
    """As a server that was written before the current protocol."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ())
        if headers.get(b"mcp-method") == b"server/discover":
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return answer


if __name__ == "__main__":
    app = served.streamable_http_app()
    made = handshake_only(app) if "handshake" in sys.argv else app
    uvicorn.run(made, port=int(sys.argv[1]), log_level="error")
