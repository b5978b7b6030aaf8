"""A client on services of an earlier release, which do not know every field of its requests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio

from weft.client import Client
from weft.log.transport import connect
from weft.runtime.process import Process
from weft.runtime.request_server import RequestServer
from weft.runtime.requests import ReceivedRequest
from weft.runtime.settings import Settings, read_settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import NotFound, UnknownVersion
from weft_schemas.routing import (
    ChoiceCard,
    HydrationResult,
    RouteReply,
    RouteRequest,
    SelectableItem,
)
from weft_schemas.status import StatusReply


class EarlierHydrateRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Without the version of the catalogue."""

    tool: str
    catalog: str
    query: str = ""
    after: int = 0
    timeout: float = 2.0
    v: int = 1


class EarlierStatusRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Without facts."""

    after: int = 0
    first: int = 0
    last: int = 0
    ids: tuple[str, ...] = ()
    timeout: float = 2.0
    v: int = 1


NEWEST = 7
"""The catalogue's version that the services know; they have one tool, `pay`."""


async def route(asked: ReceivedRequest[RouteRequest]) -> RouteReply:
    return RouteReply((), asked.request.catalog, NEWEST, asked.request.query)


async def hydrate(asked: ReceivedRequest[EarlierHydrateRequest]) -> HydrationResult:
    if asked.request.tool != "pay":
        raise NotFound("no such tool")
    return HydrationResult(SelectableItem("pay", "pay", "Pay an invoice."), {}, (), NEWEST)


async def status(asked: ReceivedRequest[EarlierStatusRequest]) -> StatusReply:
    raise NotFound("never asked for")


@pytest_asyncio.fixture
async def client(server: EmbeddedServer) -> AsyncIterator[Client]:
    process = Process("router", Settings())
    process.connection = await connect(server.url, name="earlier")
    served = RequestServer(process, "group")
    await served.answer("route", RouteRequest, route)
    await served.answer("hydrate", EarlierHydrateRequest, hydrate)
    await served.answer("status", EarlierStatusRequest, status)
    assert await process.connection.flushed()
    async with Client(read_settings({}, nats_url=server.url, tenant="t")) as connected:
        yield connected
    await served.drain()
    await process.connection.close()


def decision(version: int, tool: str = "pay") -> RouteReply:
    return RouteReply((ChoiceCard(tool, tool, "Pay."),), "shop", version, "pay")


async def test_a_decisions_tools_are_the_newest_if_those_are_its_version(client: Client) -> None:
    offered = await client.tools(decision(NEWEST))
    assert [tool.description for tool in offered.tools] == ["Pay an invoice."]


@pytest.mark.parametrize("earlier", [decision(NEWEST - 1), decision(NEWEST - 1, "gone")])
async def test_tools_of_another_version_need_newer_services(
    client: Client, earlier: RouteReply
) -> None:
    with pytest.raises(UnknownVersion, match=r"answered hydrate is older .* `catalog_version`"):
        await client.tools(earlier)


async def test_facts_need_newer_services(client: Client) -> None:
    said = r"answered status is older than this client: .* `facts`.*; upgrade services before"
    with pytest.raises(UnknownVersion, match=said):
        await client.facts("user:42")
