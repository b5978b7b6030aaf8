"""Compiles that name a catalogue: cards in phase route, a filled-in tool in phase call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from tests.integration.folding import folding
from tests.integration.processes import started

from weft.client import Client
from weft.log.reading import read_matching
from weft.log.topology import provision
from weft.log.transport import connect
from weft.runtime.settings import read_settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import CompileAudit
from weft_schemas.errors import InvalidInput, NotFound, Unavailable
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.routing import Catalog, RouteAudit, SelectableItem
from weft_schemas.subjects import AUDIT_STREAM

SCHEMA = {"type": "object", "properties": {"invoice_id": {"type": "string"}}}
FILLERS = tuple(
    SelectableItem(f"filler{n}", f"filler_{n}", f"Polishes surface number {n}.") for n in range(300)
)
TOOLS = (
    SelectableItem("pay", "pay_invoice", "Pay an invoice.", side_effects=True, args_schema=SCHEMA),
    SelectableItem("find", "find_invoice", "Find an invoice."),
    *FILLERS,
)
TURN = ContextItem("u1", ItemKind.USER_TURN, "Please pay it. My invoice id is INV_4711.")


pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def compiling(folder: Path) -> AsyncIterator[str]:
    """A server of its own with a folded replica and its compiler; its address."""
    async with EmbeddedServer(folder / "nats") as server:
        log = await connect(server.url)
        await provision(log)
        environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(folder)}
        async with (
            folding(log, folder),
            started("weft.cli.main", "work", "compiler", **environ) as compiler,
        ):
            await compiler.until_ready()
            yield server.url
        await log.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a server with a compiler and a router, for all tests."""
    folder = tmp_path_factory.mktemp("up")
    async with compiling(folder) as address:
        environ = {"WEFT_NATS_URL": address, "WEFT_DATA_DIR": str(folder)}
        async with started("weft.cli.main", "work", "router", **environ) as router:
            await router.until_ready()
            yield address


@pytest_asyncio.fixture(loop_scope="module")
async def client(url: str, tenant: str) -> AsyncIterator[Client]:
    async with Client(read_settings({}, nats_url=url, tenant=tenant)) as connected:
        yield connected


async def published(client: Client) -> int:
    """The session and the catalogue, both known to the services."""
    catalogue = await client.publish_catalog(Catalog("tools", TOOLS))
    await client.route("x", "tools", after=catalogue.sequence, timeout=60)
    return (await client.publish("s1", TURN)).sequence


async def test_phase_route_carries_the_cards(client: Client, tenant: str) -> None:
    after = await published(client)
    pack = await client.compile(
        "s1", phase="route", query="pay an invoice", catalog="tools", after=after, timeout=60
    )
    assert "- pay (pay_invoice): changes things outside" in pack.prompt
    assert "- find (find_invoice): Find an invoice." in pack.prompt
    assert "Polishes" not in pack.prompt
    assert "invoice_id" not in pack.prompt
    [payload] = [
        record.payload
        async for record in read_matching(
            client.connection, f"weft-audit.{tenant}.s1.compiled", stream=AUDIT_STREAM
        )
    ]
    audit = msgspec.json.decode(payload, type=CompileAudit)
    assert [card.id for card in audit.request.cards] == ["pay", "find"]


async def test_without_a_query_the_latest_turn_is_routed_by(client: Client) -> None:
    after = await published(client)
    pack = await client.compile("s1", phase="route", catalog="tools", after=after, timeout=60)
    assert "- pay (pay_invoice)" in pack.prompt
    assert "Polishes" not in pack.prompt


async def test_a_query_without_a_known_word_shows_some_tools_and_says_so(client: Client) -> None:
    await published(client)
    ack = await client.publish("s1", ContextItem("u2", ItemKind.USER_TURN, "Bitte überweise es!"))
    pack = await client.compile(
        "s1", phase="route", catalog="tools", after=ack.sequence, timeout=60
    )
    assert "- pay (pay_invoice): changes things outside" in pack.prompt
    assert "not ranked, has no word of the query" in pack.prompt
    assert any("give its tools tags or examples" in note for note in pack.stats.notes)
    decision = await client.route("Bitte überweise es!", "tools", session="s1")
    assert (decision.abstain, decision.is_unranked, len(decision.cards)) == (True, True, 5)
    assert [tool.id for tool in (await client.tools(decision)).tools][:2] == ["pay", "find"]


async def test_a_turn_too_sensitive_to_show_is_not_routed_by(client: Client, tenant: str) -> None:
    await published(client)
    secret = ContextItem("u2", ItemKind.USER_TURN, "pay", sensitivity=Sensitivity.RESTRICTED)
    ack = await client.publish("s1", secret)
    pack = await client.compile(
        "s1", phase="route", catalog="tools", after=ack.sequence, timeout=60
    )
    assert "pay_invoice" not in pack.prompt
    routed = read_matching(client.connection, f"weft-audit.{tenant}.s1.routed", stream=AUDIT_STREAM)
    queries = [msgspec.json.decode(one.payload, type=RouteAudit).query async for one in routed]
    assert queries == [""]


async def test_the_cards_keep_within_the_budget(client: Client) -> None:
    after = await published(client)
    pack = await client.compile(
        "s1",
        phase="route",
        query="polishes surface",
        catalog="tools",
        after=after,
        budget=40,
        timeout=60,
    )
    assert pack.stats.prompt_tokens <= 40


async def test_phase_call_carries_the_schema_and_the_values(client: Client) -> None:
    after = await published(client)
    for name in ("pay", "pay_invoice"):
        pack = await client.compile(
            "s1", phase="call", tool=name, catalog="tools", after=after, timeout=60
        )
        assert '"invoice_id":{"type":"string"}' in pack.prompt
        assert "- invoice_id may be: INV_4711" in pack.prompt


async def test_a_name_of_several_tools_is_refused(client: Client) -> None:
    alike = [SelectableItem(f"{at}.pay", "pay", f"Pay with {at}.") for at in ("b", "a")]
    put = await client.publish_catalog(Catalog("alike", tuple(alike)))
    ack = await client.publish("s1", TURN)
    for past in (None, ack.sequence):
        asked = {"catalog": "alike", "after": ack.sequence, "as_of": past, "timeout": 60}
        with pytest.raises(InvalidInput, match=r"2 tools have the name 'pay': 'a.pay', 'b.pay'"):
            await client.compile("s1", "call", tool="pay", **asked)
        pack = await client.compile("s1", "call", tool="b.pay", **asked)
        assert "Pay with b." in pack.prompt
    assert put.sequence < ack.sequence


async def test_an_unknown_catalogue_is_said(client: Client) -> None:
    after = await published(client)
    with pytest.raises(NotFound, match="catalogue 'nothing'"):
        await client.compile("s1", phase="route", query="x", catalog="nothing", after=after)


async def test_without_a_router_it_is_said(tmp_path: Path) -> None:
    async with compiling(tmp_path) as url, Client(read_settings({}, nats_url=url)) as client:
        ack = await client.publish("s1", TURN)
        with pytest.raises(Unavailable, match="no service answers route"):
            await client.compile("s1", phase="route", query="x", catalog="c", after=ack.sequence)
