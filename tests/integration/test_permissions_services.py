"""The services themselves under the shipped permissions: each process signs in as its role, and the
whole path from an agent's item to a prompt works, for its tenant alone."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import msgspec
import pytest
import pytest_asyncio
from tests.guarded import guarded_server, password
from tests.integration.processes import Running, started

from weft.cli.demo_session import demo_key, load
from weft.client import Client, connect
from weft.log.server import EmbeddedServer
from weft_schemas.errors import Forbidden, NotFound
from weft_schemas.items import Sensitivity
from weft_schemas.policy import ContextPolicy, Phase
from weft_schemas.routing import Catalog, SelectableItem

SERVICES = {
    "firewall": "firewall",
    "summarizer": "worker",
    "memory": "worker",
    "indexer": "replica",
    "compiler": "replica",
    "router": "replica",
}
"""Service → the user that it signs in as."""

PATIENCE = 60.0


class Serving(msgspec.Struct):
    server: EmbeddedServer
    processes: list[Running]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serving(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Serving]:
    """A guarded server with every service running."""
    folder = tmp_path_factory.mktemp("services")
    async with guarded_server(folder / "nats") as server, AsyncExitStack() as stack:
        processes = []
        for service, user in SERVICES.items():
            environ = {
                "WEFT_NATS_URL": server.url,
                "WEFT_USER": user,
                "WEFT_PASSWORD": password(user),
                "WEFT_DATA_DIR": str(folder / "replica"),
            }
            process = started("weft.cli.main", "work", service, **environ)
            processes.append(await stack.enter_async_context(process))
        for process in processes:
            await process.until_ready()
        yield Serving(server, processes)


async def test_every_process_answers_the_roll_call(serving):
    async with agent(serving, "acme-reader") as client:
        found = await client.processes()
    assert sorted(one.service for one in found) == sorted(SERVICES)
    assert all(one.ready for one in found)


def agent(serving: Serving, user: str) -> Client:
    """A client signed in as this user, of the tenant that its name starts with."""
    tenant = user.partition("-")[0]
    return connect(serving.server.url, tenant=tenant, user=user, password=password(user))


async def test_the_recorded_session_goes_from_an_agent_to_a_prompt(serving):
    items = load()
    async with agent(serving, "acme-agent") as publisher:
        ack = await publisher.publish("demo", items)
        assert ack.count == len(items)
    async with agent(serving, "acme-reader") as reader:
        for phase in Phase:
            pack = await reader.compile("demo", phase, after=ack.sequence, timeout=PATIENCE)
            assert pack.pending == ()
            assert pack.stats.prompt_tokens > 0
            assert demo_key() not in pack.prompt


async def test_another_tenant_finds_neither_session_nor_artifact(serving):
    async with agent(serving, "acme-agent") as publisher:
        ack = await publisher.publish("own", load()[:14])
        pack = await publisher.compile("own", "interpret", after=ack.sequence, timeout=PATIENCE)
        handle = next(entry.handle for entry in pack.entries if entry.handle)
        assert (await publisher.drilldown(handle)).session == "own"
    async with agent(serving, "rival-agent") as rival:
        with pytest.raises(NotFound):
            await rival.compile("own", "answer")
        with pytest.raises(NotFound):
            await rival.drilldown(handle)


async def test_a_catalogue_is_its_tenants(serving):
    catalog = Catalog("tools", (SelectableItem("t1", "refund_order", "Refund an order."),))
    async with agent(serving, "acme-operator") as operator:
        ack = await operator.publish_catalog(catalog)
    async with agent(serving, "acme-agent") as client:
        reply = await client.route("refund an order", "tools", after=ack.sequence, timeout=PATIENCE)
        assert [card.id for card in reply.cards] == ["t1"]
    async with agent(serving, "rival-agent") as rival:
        with pytest.raises(NotFound):
            await rival.route("refund an order", "tools")


async def test_a_policy_is_the_operators_to_publish(serving):
    policy = ContextPolicy(session="strict", sensitivity_floor=Sensitivity.PUBLIC)
    async with agent(serving, "acme-agent") as client:
        await client.publish("strict", load()[:14])
        with pytest.raises(Forbidden):
            await client.publish_policy(policy)
    async with agent(serving, "acme-operator") as client:
        ack = await client.publish_policy(policy)
        pack = await client.compile("strict", "answer", after=ack.sequence, timeout=PATIENCE)
    assert pack.policy_version == ack.sequence
    assert pack.stats.dropped_reasons["sensitivity"] > 0


async def test_no_process_was_refused_anything_it_needs(serving):
    refused = [
        line["message"]
        for process in serving.processes
        for line in process.log
        if "violation" in line["message"].lower() or "not allow" in line["message"]
    ]
    assert refused == []
