"""The client with an agent's credential: it may publish and ask, and sees neither the log nor the
object store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.guarded import guarded_server, password
from tests.integration.processes import started

import weft
from weft.log.reading import read_session
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.items import ContextItem, ItemKind

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedServer]:
    async with guarded_server(tmp_path_factory.mktemp("guarded")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def agent(server: EmbeddedServer) -> AsyncIterator[weft.Client]:
    signed = {"user": "acme-agent", "password": password("acme-agent")}
    async with weft.connect(server.url, tenant="acme", **signed) as client:
        yield client


async def stored(server: EmbeddedServer, session: str) -> list[ContextItem]:
    admin = await connect(server.url, user="admin", password=password("admin"))
    try:
        await provision(admin)
        return [record.event() async for record in read_session(admin, "acme", session)]
    finally:
        await admin.close()


async def test_many_items_are_stored_once_and_in_order(
    server: EmbeddedServer, agent: weft.Client
) -> None:
    await stored(server, "none")
    items = [ContextItem(f"m{n}", ItemKind.USER_TURN, f"turn {n}") for n in range(1_500)]
    first = await agent.publish("many", items)
    again = await agent.publish("many", items)
    assert (first.count, again.first) == (1_500, again.sequence + 1)
    assert await stored(server, "many") == items


async def test_an_agent_that_may_not_read_the_log_learns_of_an_erasure_from_a_service(
    server: EmbeddedServer, agent: weft.Client, tmp_path: Path
) -> None:
    await stored(server, "none")
    item = ContextItem("a", ItemKind.USER_TURN, "hello")
    signed = {"user": "admin", "password": password("admin")}
    environ = {
        "WEFT_NATS_URL": server.url,
        "WEFT_USER": "replica",
        "WEFT_PASSWORD": password("replica"),
        "WEFT_DATA_DIR": str(tmp_path),
    }
    async with (
        weft.connect(server.url, tenant="acme", **signed) as admin,
        started("weft.cli.main", "work", "replica", **environ) as replica,
    ):
        await admin.publish("gone", item)
        await admin.operator.erase("gone")
        await replica.until_ready()
        with pytest.raises(weft.Conflict, match="was erased"):
            await agent.publish("gone", item)
        await agent.publish("there", item)
    assert await stored(server, "gone") == []
    assert await stored(server, "there") == [item]


async def test_a_large_text_stays_in_its_event(server: EmbeddedServer, agent: weft.Client) -> None:
    item = ContextItem("big", ItemKind.TOOL_RESULT, "lorem ipsum " * 40_000)
    await agent.publish("large", item)
    assert await stored(server, "large") == [item]


async def test_a_text_that_no_event_takes_is_named(
    server: EmbeddedServer, agent: weft.Client
) -> None:
    item = ContextItem("big", ItemKind.TOOL_RESULT, "y" * agent.connection.max_payload)
    with pytest.raises(weft.InvalidInput, match=r"item 'big': \$\.text has 8,388,610 bytes of .*"):
        await agent.publish("larger", item)
    assert await stored(server, "larger") == []


async def test_what_is_not_allowed_is_forbidden_at_once(agent: weft.Client) -> None:
    with pytest.raises(weft.Forbidden, match="does not allow"):
        await agent.publish_policy(weft.ContextPolicy())
    with pytest.raises(weft.Forbidden, match="does not allow"):
        _ = [record async for record in agent.events("many")]


async def test_another_tenants_subjects_are_forbidden(server: EmbeddedServer) -> None:
    signed = {"user": "acme-agent", "password": password("acme-agent")}
    async with weft.connect(server.url, tenant="rival", **signed) as client:
        with pytest.raises(weft.Forbidden):
            await client.publish("s", ContextItem("a", ItemKind.USER_TURN, "x"))
        with pytest.raises(weft.Forbidden):
            await client.compile("s", "answer")
