"""A gateway in this process, on a real log, with real servers behind it and the SDK's client before
it; and servers of the tests' own that do what no honest one does."""

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client
from mcp_types import CallToolResult

from weft.gateway.configuration.config import GatewayConfig, Limits, Options, ServerSpec
from weft.gateway.data_folder import DataFolder
from weft.gateway.gateway import Gateway
from weft.gateway.log.deployment import GatewayDeployment
from weft.gateway.mcp_server import GatewayHandlers
from weft.log.connection import Connection
from weft.log.reading import read_session
from weft.runtime.settings import Settings
from weft.web_server import listener
from weft_schemas.items import ContextItem

TENANT = "t"
SESSION = "s"
QUICK = Limits(start_seconds=30, call_seconds=20, backoff_seconds=0.2)


def python(name: str, *args: str, **more: Any) -> ServerSpec:
    """A server of this Python."""
    more.setdefault("limits", QUICK)
    return ServerSpec(name=name, transport="stdio", command=sys.executable, args=args, **more)


def time_server() -> ServerSpec:
    return python("time", "-m", "mcp_server_time", "--local-timezone", "UTC")


def git_server() -> ServerSpec:
    return python("git", "-m", "mcp_server_git")


def odd_server(name: str = "odd", *args: str, **more: Any) -> ServerSpec:
    """`tests/gateway_server.py`."""
    return python(name, str(Path(__file__).with_name("gateway_server.py")), *args, **more)


LEFT_SOCKETS = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <(socket|function _SelectorTransport):"
    "pytest.PytestUnraisableExceptionWarning"
)
"""For tests with servers at an address: a request that is cancelled while the SDK's HTTP client
connects leaves its socket to the garbage collector, seen once in some thirty runs of all tests."""


def free_port() -> tuple[str, socket.socket]:
    """Where `serving_http` may listen: an address, and a socket that does."""
    return "127.0.0.1", listener("127.0.0.1", 0, "")


@asynccontextmanager
async def gateway(
    url: str,
    folder: Path,
    *servers: ServerSpec,
    is_learned: bool = True,
    is_log_awaited: bool = True,
    **options: Any,
) -> AsyncIterator[Gateway]:
    """A gateway that writes as session `s` of tenant `t`, once its log is open and it has learned
    what its servers are; or at once."""
    options.setdefault("mode", "search")
    settings = Settings(nats_url=url, tenant=TENANT, data_dir=folder, fingerprint_key="k" * 16)
    config = GatewayConfig(servers={one.name: one for one in servers}, options=Options(**options))
    behind = GatewayDeployment(settings, named=True)
    behind.is_own = True  # no firewall runs here that could tell a handle
    async with Gateway(config, behind, DataFolder(folder), session=SESSION) as made:
        if is_log_awaited:
            await made.log.deployment()
        if is_learned:
            await made.catalogue.wait_until_known()
        yield made


@asynccontextmanager
async def host(running: Gateway, mode: str = "auto", **more: Any) -> AsyncIterator[Client]:
    """The SDK's client, connected: of the current protocol, or with `legacy` of the older one."""
    handlers = GatewayHandlers(running)
    async with Client(handlers.server(), mode=mode, cache=None, **more) as client:
        yield client
    await handlers.close()


async def called(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    """A call by way of `call_tool`."""
    return await client.call_tool("call_tool", {"tool": tool, "arguments": arguments})


def text_of(result: CallToolResult) -> str:
    return "\n".join(getattr(block, "text", "") for block in result.content)


async def logged(connection: Connection, session: str = SESSION) -> list[ContextItem]:
    """The items of a session, in order."""
    events = [record.event() async for record in read_session(connection, TENANT, session)]
    return [event for event in events if isinstance(event, ContextItem)]


def json_of(result: CallToolResult) -> Any:
    return msgspec.json.decode(text_of(result))
