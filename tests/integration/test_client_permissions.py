"""The client with an agent's credential: it may publish and ask, and sees neither the log nor the
object store."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.guarded import guarded_server, password

import weft
from weft.log.connection import connect
from weft.log.reading import read_session
from weft.log.server import EmbeddedServer
from weft.log.topology import provision
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


async def test_a_large_text_stays_in_its_event(server: EmbeddedServer, agent: weft.Client) -> None:
    item = ContextItem("big", ItemKind.TOOL_RESULT, "lorem ipsum " * 40_000)
    await agent.publish("large", item)
    assert await stored(server, "large") == [item]


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
