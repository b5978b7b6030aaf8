"""The services themselves under the shipped permissions: each process signs in as its role, and the
whole path from an agent's item to a prompt works, for its tenant alone."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio
from tests.guarded import password, signed_in
from tests.integration.guarded_services import SERVICES, guarded_services
from tests.integration.processes import Running

from weft.cli.demo_session import demo_key, load
from weft.client import Client, connect
from weft.runtime.roll_call import call_roll
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.errors import Forbidden, NotFound
from weft_schemas.grants import Grant, ScopeGrants
from weft_schemas.ids import OPERATOR
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import (
    ContextPolicy,
    FirewallRules,
    MemoryRules,
    Phase,
    PhaseRule,
)
from weft_schemas.routing import Catalog, SelectableItem
from weft_schemas.status import ProcessState, StatusReply

PATIENCE = 60.0


class Serving(msgspec.Struct):
    server: EmbeddedServer
    processes: list[Running]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serving(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Serving]:
    """A guarded server with every service running."""
    folder = tmp_path_factory.mktemp("services")
    async with guarded_services(folder) as (server, running):
        yield Serving(server, list(running.values()))


async def test_every_process_answers_the_roll_call(serving):
    async with agent(serving, "acme-reader") as client:
        found = await all_processes(client)
    assert sorted(one.service for one in found) == sorted(SERVICES)
    assert all(one.ready for one in found)


async def all_processes(client: Client) -> tuple[ProcessState, ...]:
    """On a busy machine one may answer a roll call too late."""
    async with asyncio.timeout(PATIENCE):
        while len(found := await client.processes()) < len(SERVICES):
            await asyncio.sleep(0.1)
    return found


@pytest.mark.parametrize("user", ["acme-agent", "acme-reader"])
async def test_a_tenant_learns_nothing_of_the_machine_from_the_processes(serving, user):
    numbers = {process.process.pid for process in serving.processes}
    async with signed_in(serving.server, user) as connection:
        direct = await call_roll(connection, "acme")
        asked = json.dumps({"processes": True}).encode()
        names: set[str] = set()
        async with asyncio.timeout(PATIENCE):
            while len(names) < len(SERVICES):
                by_compiler = await connection.request(
                    "weft-rpc.acme.@tenant.status", asked, timeout=30
                )
                reply = msgspec.json.decode(by_compiler.data, type=StatusReply)
                names = {one.host for one in reply.processes}
    assert len(names) == len(SERVICES)
    assert direct
    for one in (*direct, *reply.processes):
        assert socket.gethostname() not in msgspec.json.encode(one).decode()
        assert (one.pid, one.port, one.last_error) == (0, 0, "")
    async with agent(serving, "acme-operator") as client:
        assert {one.pid for one in await all_processes(client)} == numbers


def agent(serving: Serving, user: str) -> Client:
    """A client signed in as this user, of the tenant that its name starts with."""
    tenant = user.partition("-")[0]
    names = {"acme-assistant": "assistant", "acme-operator": OPERATOR}
    return connect(
        serving.server.url,
        tenant=tenant,
        principal=names.get(user),
        user=user,
        password=password(user),
    )


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


LONG = " ".join(f"line {number} of the secret ledger" for number in range(400))
CLOSED = ContextPolicy(
    session="narrowed",
    phases={Phase.ANSWER: PhaseRule(tuple(ItemKind), limits={ItemKind.AGENT_MSG: 1})},
    firewall=FirewallRules(show="always_summary"),
    memory=MemoryRules(fact_tokens=0, episode_tokens=0),
)
"""In every way that a request could loosen."""


async def test_an_operators_loosened_pack_is_no_base_for_anybody_else(serving):
    """Neither what was shown beyond the limits, nor levels, nor the memory header stays."""
    call = ContextItem("c", ItemKind.TOOL_CALL, "ledger", metadata={"tool_name": "ledger"})
    items = [
        ContextItem("m", ItemKind.USER_TURN, "my timezone is CET"),
        ContextItem("a", ItemKind.AGENT_MSG, "said EARLIER"),
        ContextItem("b", ItemKind.AGENT_MSG, "said later"),
        call,
        ContextItem("r", ItemKind.TOOL_RESULT, LONG, parent_id="c"),
        ContextItem("u", ItemKind.USER_TURN, "SEVEN", sensitivity=Sensitivity.CONFIDENTIAL),
    ]
    hidden = ("SEVEN", "EARLIER", "user_timezone", "line 399 ")
    async with agent(serving, "acme-operator") as operator, agent(serving, "acme-agent") as client:
        await client.publish("narrowed", items)
        after = (await operator.publish_policy(CLOSED)).sequence
        wide = ContextPolicy(sensitivity_floor=Sensitivity.RESTRICTED)
        asked = {"after": after, "timeout": PATIENCE, "budget": 20_000}
        async with asyncio.timeout(PATIENCE):  # until what the first turn says is remembered
            base = await operator.compile("narrowed", "answer", policy=wide, **asked)
            while "user_timezone" not in base.prompt:
                await asyncio.sleep(0.1)
                base = await operator.compile("narrowed", "answer", policy=wide, **asked)
        assert [one for one in hidden if one not in base.prompt] == []
        # A policy that a request brings has no number, and so has none at all.
        for policy in (CLOSED, None):
            plain = await client.compile("narrowed", "answer", policy=policy, **asked)
            assert [one for one in hidden if one in plain.prompt] == []
            pack = await client.compile(
                "narrowed", "answer", policy=policy, stable_from=base.id, **asked
            )
            assert [one for one in hidden if one in pack.prompt] == []
            assert "compiled fresh: the policy is another" in pack.stats.notes
        again = await operator.compile(
            "narrowed", "answer", policy=wide, stable_from=base.id, **asked
        )
        assert again.prompt == base.prompt


async def test_no_process_was_refused_anything_it_needs(serving):
    refused = [
        line["message"]
        for process in serving.processes
        for line in process.log
        if "violation" in line["message"].lower() or "not allow" in line["message"]
    ]
    assert refused == []


def said(id: str, text: str, scope: str) -> ContextItem:
    return ContextItem(id, ItemKind.USER_TURN, text, metadata={"scope": scope})


async def remembered(client: Client, session: str, after: int) -> str:
    """What a prompt of the session holds of memory, once `after` is folded."""
    pack = await client.compile(session, "call", after=after, timeout=PATIENCE)
    return "".join(entry.text for entry in pack.entries if entry.section == "header")


async def until_remembered(client: Client, session: str, after: int, wanted: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while wanted not in await remembered(client, session, after):
            await asyncio.sleep(0.1)


async def test_nobody_reads_or_writes_the_memory_of_a_scope_that_is_not_granted(serving):
    """Until something is granted, a named credential has its sessions alone; who has no name, all.
    Whatever it is, `session:` of another is nobody's."""
    async with (
        agent(serving, "acme-agent") as service,
        agent(serving, "acme-assistant") as assistant,
        agent(serving, "acme-operator") as operator,
    ):
        first = await service.publish("ada", said("a", "my timezone is CET", "user:ada"))
        await until_remembered(service, "ada", first.sequence, "user_timezone=CET")

        async def tries(session: str) -> int:
            """The assistant names memory that is not its own, to read it and to change it."""
            await assistant.publish(session, said("r", "my dog is Rex", "session:ada"))
            await assistant.publish(session, said("s", "my airline is KLM", "user:mine"))
            ack = await assistant.publish(session, said("t", "my timezone is UTC", "user:ada"))
            await until_remembered(assistant, session, ack.sequence, "user_timezone=UTC")
            return ack.sequence

        last = await tries("closed")
        assert "CET" not in await remembered(assistant, "closed", last)
        with pytest.raises(Forbidden, match="scope 'user:ada' is not granted to assistant"):
            await assistant._ask(
                "ada", "compile", CompileRequest(Phase.CALL, scopes=("user:ada",)), ContextPack
            )
        with pytest.raises(Forbidden, match="scope 'user:ada' is not granted to assistant"):
            await assistant.facts("user:ada")
        with pytest.raises(Forbidden, match="scope 'session:ada' is not granted"):
            await service.facts("session:ada", session="closed")
        [fact] = [one for one in await service.facts("user:ada") if one.key == "user_timezone"]
        assert (fact.value, fact.session, fact.sources) == ("CET", "ada", ("a",))
        assert fact.sequence == first.sequence
        # Not from a session either in which somebody names it who may.
        assert "CET" not in await remembered(assistant, "ada", last)
        assert "CET" in await remembered(service, "ada", last)
        await service.publish("ada-too", said("a", "hello", "user:ada"))
        last = (
            await service.publish("ada-too", said("b", "hello again", "session:closed"))
        ).sequence
        memory = await remembered(service, "ada-too", last)
        assert "user_timezone=CET" in memory
        assert "UTC" not in memory
        assert "Rex" not in memory

        grants = (Grant("", ("user:*",)), Grant("assistant", ("user:mine",)))
        await operator.publish_grants(ScopeGrants(grants))
        await tries("granted")
        last = (await assistant.publish("again", said("m", "hi", "user:mine"))).sequence
        memory = await remembered(assistant, "again", last)
        assert "user_airline=KLM" in memory
        assert "timezone" not in memory
        last = (await service.publish("ada-now", said("a", "hi", "user:ada"))).sequence
        assert "user_timezone=CET" in await remembered(service, "ada-now", last)
        with pytest.raises(Forbidden):
            await assistant.publish_grants(ScopeGrants((Grant("*", ("*",)),)))
