"""`weft reproduce` against compiles that the service really made, while the log goes on."""

import pytest
from tests.integration.command_line import weft
from tests.integration.compiling import TURN, compiled, compiling, envelope, folded
from tests.integration.folding import folding
from tests.integration.logged import publish, publish_raw, result

from weft.client import connect
from weft.erasure.scope import erase_scope, plan_scope
from weft.erasure.session import erase as erase_planned
from weft.erasure.session import plan
from weft.log.connection import Connection
from weft.log.secure_delete import erase
from weft.messages.writing import request
from weft_schemas.errors import NotFound
from weft_schemas.events import ErasedEvent, FactsEvent, MemoryFact, Origin, encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import STREAM, derived_subject


@pytest.fixture
async def replica(server, log: Connection, tmp_path):
    async with folding(log, tmp_path), compiling(server.url, tmp_path) as compiler:
        yield compiler


async def reproduced(server, compile_id: str):
    async with connect(server.url, tenant="acme") as client:
        return await client.reproduce(compile_id)


def scoped(name: str, text: str) -> ContextItem:
    return ContextItem(name, ItemKind.USER_TURN, text, metadata={"scope": "user:42"})


async def test_pending_and_settled_compiles_reproduce_after_the_log_went_on(
    server, log: Connection, replica
):
    *_, ack = await publish(log, "s1", [TURN, result("r", "RAW BODY")])
    await folded(log, ack.sequence)
    pending = await compiled(log, after=ack.sequence, timeout=0.2)
    made = await envelope(log, ack.sequence, "r", "one open invoice: 4711")
    settled = await compiled(log, after=made)
    policy = ContextPolicy(name="other", sensitivity_floor="public")
    subject = derived_subject("acme", TENANT_SESSION, "context_policy")
    await publish_raw(log, subject, encode_event(policy))
    await publish(log, "s1", [ContextItem("u9", ItemKind.USER_TURN, "Something else.")])
    for pack in (pending, settled):
        done = await reproduced(server, pack.id)
        assert done.identical, done.reasons
        assert done.prompt == pack.prompt
        assert done.selection == "same", done.selection_reasons


async def test_a_session_with_a_policy_of_its_own_reproduces_after_the_tenants_changed(
    server, log: Connection, replica
):
    subject = derived_subject("acme", TENANT_SESSION, "context_policy")
    strict = ContextPolicy(sensitivity_floor="internal")
    for policy in (strict, ContextPolicy(session="s1", name="own")):
        await publish_raw(log, subject, encode_event(policy))
    inner = ContextItem("d", ItemKind.DOC_SNIPPET, "A secret plan.", sensitivity="internal")
    *_, ack = await publish(log, "s1", [TURN, inner])
    pack = await compiled(log, after=ack.sequence)
    assert "secret plan" not in pack.prompt
    await publish_raw(log, subject, encode_event(ContextPolicy()))
    done = await reproduced(server, pack.id)
    assert (done.identical, done.selection) == (True, "same"), done.reasons


async def test_what_another_session_taught_is_found_again(server, log: Connection, replica):
    [taught] = await publish(log, "before", [scoped("t", "I am vegetarian.")])
    fact = FactsEvent(
        Origin(taught.sequence, "t", "memory"), "user:42", (MemoryFact("diet", "veg", ("t",)),)
    )
    await publish_raw(log, derived_subject("acme", "before", "fact"), encode_event(fact))
    [ack] = await publish(log, "s1", [scoped("u", "Book me a table.")])
    pack = await compiled(log, after=ack.sequence)
    assert "diet=veg" in pack.prompt
    assert (await reproduced(server, pack.id)).identical


async def test_the_command_prints_the_prompt_and_says_why_not(server, log: Connection, replica):
    [ack] = await publish(log, "s1", [TURN])
    pack = await compiled(log, after=ack.sequence)
    ran = await weft("reproduce", pack.id, "--tenant", "acme", url=server.url)
    assert ran.code == 0, ran.err
    assert ran.out == pack.prompt + "\n"
    assert "byte for byte the same" in ran.err
    for provider in ("openai", "anthropic"):
        asked = ("reproduce", pack.id, "--tenant", "acme", "--format", provider)
        ran = await weft(*asked, url=server.url)
        assert (ran.code, ran.json) == (0, request(pack, provider))
        assert "byte for byte the same" in ran.err
    small = await compiled(log, after=ack.sequence, budget=1)
    asked = ("reproduce", small.id, "--tenant", "acme", "--format", "openai")
    ran = await weft(*asked, url=server.url)
    assert (ran.code, ran.out) == (2, "")
    assert "no message for the model fits into a budget of 1 tokens" in ran.err
    assert await erase(log, STREAM, ack.sequence)
    ran = await weft("reproduce", pack.id, "--tenant", "acme", "--json", url=server.url)
    assert ran.code == 1
    assert "'u1' (event 1)" in ran.json["reasons"][0]
    ran = await weft("reproduce", "nothing", "--tenant", "acme", url=server.url)
    assert ran.code == 4


async def test_an_erased_session_is_refused(server, log: Connection, replica):
    [ack] = await publish(log, "s1", [TURN])
    pack = await compiled(log, after=ack.sequence)
    subject = derived_subject("acme", TENANT_SESSION, "erased")
    grave = await publish_raw(log, subject, encode_event(ErasedEvent("s1")))
    done = await reproduced(server, pack.id)
    assert done.prompt == ""
    assert done.reasons == (f"session 's1' was erased by event {grave.sequence}",)


async def test_what_erasures_took_of_the_record_is_told_and_nothing_else(
    server, log: Connection, replica
):
    [ack] = await publish(log, "s1", [scoped("u", "I live in Rome.")])
    pack = await compiled(log, after=ack.sequence)
    with pytest.raises(
        NotFound, match=r"'nothing' is recorded.*; check the id, which packs carry$"
    ):
        await reproduced(server, "nothing")
    done = await erase_scope(log, await plan_scope(log, "acme", "user:42"))
    told = rf": 1 went with scope 'user:42' of tenant 'acme', erased by event {done.tombstone}$"
    with pytest.raises(NotFound, match=f"'{pack.id}' is recorded.*check the id, or .*erased{told}"):
        await reproduced(server, pack.id)
    [ack] = await publish(log, "s1", [TURN])
    pack = await compiled(log, after=ack.sequence)
    erased = await erase_planned(log, await plan(log, "acme", "s1"))
    told = f"; 1 went with session 's1' of tenant 'acme', erased by event {erased.tombstones['s1']}"
    with pytest.raises(NotFound, match=f"{told}$"):
        await reproduced(server, pack.id)


async def test_another_tenants_compile_is_not_found(server, log: Connection, replica):
    [ack] = await publish(log, "s1", [TURN])
    pack = await compiled(log, after=ack.sequence)
    async with connect(server.url, tenant="other") as client:
        with pytest.raises(NotFound, match="no compile"):
            await client.reproduce(pack.id)
