"""The compiler's service from plain NATS: waits, errors, audit, and many requests at once."""

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.folding import folding
from tests.integration.logged import publish, result
from tests.integration.processes import PATIENCE, Running, started

from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft.runtime.request_client import ask
from weft_schemas.compile import (
    CompileAudit,
    CompileRequest,
    ContextPack,
    ExplainReply,
    ExplainRequest,
)
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.errors import InvalidInput, NotFound, Unavailable, WeftError
from weft_schemas.events import EnvelopeEvent, Origin, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import AUDIT_STREAM, derived_subject

TURN = ContextItem(id="u1", kind=ItemKind.USER_TURN, text="Which invoice is open?")


@asynccontextmanager
async def compiling(server, data_dir: Path) -> AsyncIterator[Running]:
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(data_dir)}
    async with started("weft.cli.main", "work", "compiler", **environ) as compiler:
        await compiler.until_ready()
        yield compiler


@pytest.fixture
async def replica(server, log: Connection, tmp_path: Path) -> AsyncIterator[Running]:
    """A compiler process on a read model that this test folds."""
    async with folding(log, tmp_path), compiling(server, tmp_path) as compiler:
        yield compiler


async def compiled(log: Connection, session: str = "s1", **request) -> ContextPack:
    asked = CompileRequest(**{"phase": Phase.ANSWER, "timeout": 60.0, **request})
    return await ask(log, ("acme", session, "compile"), asked, ContextPack, asked.timeout)


async def folded(log: Connection, sequence: int) -> StatusReply:
    """The session's status as soon as the replica is so far."""
    asked = StatusRequest(after=sequence, timeout=60.0)
    return await ask(log, ("acme", "s1", "status"), asked, StatusReply, asked.timeout)


async def envelope(log: Connection, sequence: int, item_id: str, summary: str) -> int:
    event = EnvelopeEvent(Origin(sequence, item_id, "firewall"), ResultEnvelope(summary))
    async with Publisher(log) as publisher:
        subject = derived_subject("acme", "s1", "envelope")
        return (await publisher.publish(subject, encode_event(event))).sequence


async def test_what_was_just_published_is_in_the_pack(replica, log: Connection):
    for number in range(20):
        text = f"Invoice {number} is open, says Ann."
        [ack] = await publish(
            log, "s1", [ContextItem(id=f"u{number}", kind=ItemKind.USER_TURN, text=text)]
        )
        pack = await compiled(log, after=ack.sequence)
        assert text in pack.prompt
        assert pack.sequence >= ack.sequence
        assert pack.pending == ()


async def test_it_waits_for_an_envelope_and_shows_its_summary(replica, log: Connection):
    call = ContextItem(id="c", kind=ItemKind.TOOL_CALL, text="list", parent_id="u1")
    answer = ContextItem(id="r", kind=ItemKind.TOOL_RESULT, text="RAW BODY", parent_id="c")
    *_, ack = await publish(log, "s1", [TURN, call, answer])
    asking = asyncio.create_task(compiled(log, after=ack.sequence, timeout=60.0))
    await asyncio.sleep(0.2)
    assert not asking.done()
    made = await envelope(log, ack.sequence, "r", "one open invoice: 4711")
    pack = await asking
    assert "one open invoice: 4711" in pack.prompt
    assert "RAW BODY" not in pack.prompt
    assert pack.sequence >= made


async def test_at_the_deadline_it_answers_and_names_what_is_pending(replica, log: Connection):
    *_, ack = await publish(log, "s1", [TURN, result("r", "RAW BODY")])
    await folded(log, ack.sequence)
    pack = await compiled(log, after=ack.sequence, timeout=0.3)
    assert [item.item_id for item in pack.pending] == ["r"]
    assert "RAW BODY" not in pack.prompt
    ahead = await compiled(log, after=ack.sequence + 1_000, timeout=0.2)
    assert ahead.pending[-1].sequence == ack.sequence + 1_000
    assert ahead.pending[-1].reason == f"the read model is at {ack.sequence}"


async def test_asking_for_the_past_gives_the_past(replica, log: Connection):
    [first] = await publish(log, "s1", [TURN])
    [second] = await publish(
        log, "s1", [ContextItem(id="u2", kind=ItemKind.USER_TURN, text="And the paid ones?")]
    )
    now = await compiled(log, after=second.sequence)
    past = await compiled(log, as_of=first.sequence)
    assert "paid ones" in now.prompt
    assert "paid ones" not in past.prompt
    assert past.sequence == first.sequence


async def test_a_compile_is_audited_and_moves_nothing_in_the_log(replica, log: Connection):
    [ack] = await publish(log, "s1", [TURN])
    before = await last_sequence(log)
    packs = [await compiled(log, after=ack.sequence) for _ in range(3)]
    assert await last_sequence(log) == before
    assert len({pack.digest for pack in packs}) == 1
    stored = await log.jetstream().get_last_msg(AUDIT_STREAM, "weft-audit.acme.s1.compiled")
    audit = json.loads(stored.data)
    assert audit["id"] == packs[0].id
    assert audit["digest"] == packs[0].digest
    assert await last_sequence(log, AUDIT_STREAM) == 1, "the same compile is recorded once"
    assert CompileAudit.__struct_config__.tag == audit["type"]


async def test_explain_says_what_the_compile_did(replica, log: Connection):
    *_, ack = await publish(log, "s1", [TURN, result("r", "text")])
    await folded(log, ack.sequence)
    request = CompileRequest(phase=Phase.ANSWER, after=ack.sequence, timeout=0.2)

    async def explained(item_id: str) -> ExplainReply:
        asked = ExplainRequest(item_id, request)
        return await ask(log, ("acme", "s1", "explain"), asked, ExplainReply, request.timeout)

    assert (await explained("u1")).included
    assert (await explained("r")).reason == "pending"
    with pytest.raises(NotFound, match="session 's1' has no item 'nobody' at or before sequence 2"):
        await explained("nobody")
    with pytest.raises(Exception, match="no message"):
        await log.jetstream().get_last_msg(AUDIT_STREAM, "weft-audit.acme.s1.compiled")


async def test_explain_tells_an_old_item_from_one_that_is_not_there(replica, log: Connection):
    kind = ItemKind.AGENT_MSG
    items = [ContextItem(f"a{n}", kind, f"Nothing new from buoy {n}.") for n in range(2_000)]
    *_, ack = await publish(log, "s1", [*items, TURN])

    async def explained(item_id: str, **more) -> ExplainReply:
        asked = ExplainRequest(item_id, CompileRequest(Phase.ANSWER, **more))
        return await ask(log, ("acme", "s1", "explain"), asked, ExplainReply, 60.0)

    old = await explained("a0", after=ack.sequence, timeout=60.0)
    assert (old.candidate, old.reason) == (False, "no candidate")
    assert old.detail == "neither pinned, recent, nor a match for the query"
    with pytest.raises(NotFound, match="has no item 'u1' at or before sequence 2000"):
        await explained("u1", as_of=2_000)


async def test_status_tells_how_far_the_replica_is(replica, log: Connection):
    items = [TURN, TURN, ContextItem(id="u1", kind=ItemKind.USER_TURN, text="Other words.")]
    acks = await publish(log, "s1", items)
    status = await folded(log, acks[-1].sequence)
    assert (status.sequence, status.items, status.conflicts) == (acks[-1].sequence, 1, 1)


async def test_an_unknown_session_is_not_found(replica, log: Connection):
    await publish(log, "s1", [TURN])
    with pytest.raises(NotFound, match="'s9'"):
        await compiled(log, "s9")
    with pytest.raises(Unavailable, match="not folded yet"):
        await compiled(log, "s9", after=1_000, timeout=0.1)


BAD_REQUESTS = {
    b"": "phase",
    b"[]": "array",
    b"{": "truncated",
    b'{"phase":"answer","budjet":3}': "budjet",
    b'{"phase":"lunch"}': "$.phase",
    b'{"phase":"answer","budget":"many"}': "$.budget",
    b'{"phase":"answer","budget":-1}': "$.budget is -1",
    b'{"phase":"answer","reserve":-5}': "$.reserve is -5",
    b'{"phase":"answer","after":-5}': "$.after is -5",
    b'{"phase":"answer","timeout":1e9}': "$.timeout",
    b'{"phase":"answer","v":9}': "version 9",
    b'{"phase":"answer","policy":{"type":"context_policy","budgets":{"route":"x"}}}': (
        "$.policy.budgets.route"
    ),
    b"\xff\xfe": "malformed",
    b'{"phase":"answer","tools":[{"a":' + b"[" * 100_000: "ecursion",
}


async def test_a_malformed_request_gets_one_clear_error(replica, log: Connection):
    for payload, fault in BAD_REQUESTS.items():
        reply = await log.request("weft-rpc.acme.s1.compile", payload, timeout=60)
        error = json.loads(reply.data)
        assert reply.headers["Weft-Error"] == error["code"]
        assert error["code"] in ("invalid_input", "unknown_version")
        assert fault in error["message"], payload[:40]
        assert error["retryable"] is False
    assert replica.process.returncode is None


async def test_a_subject_that_names_no_session_gets_an_error_too(replica, log: Connection):
    reply = await log.request("weft-rpc.ac~me.s1.compile", b'{"phase":"answer"}', timeout=60)
    assert reply.headers["Weft-Error"] == InvalidInput.code


async def test_waiting_requests_hold_nobody_up_and_a_drain_answers_them(replica, log: Connection):
    await publish(log, "s1", [TURN])
    waiting = [
        asyncio.create_task(compiled(log, after=10_000 + number, timeout=60.0))
        for number in range(200)
    ]
    await asyncio.sleep(0.3)
    assert "invoice" in (await compiled(log)).prompt
    ending = asyncio.create_task(replica.end())
    packs = await asyncio.gather(*waiting)
    assert all(pack.pending for pack in packs)
    assert await ending == 0


async def test_without_a_read_model_it_says_what_to_start(server, log: Connection, tmp_path):
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(tmp_path)}
    async with started("weft.cli.main", "work", "compiler", **environ) as compiler:
        async with asyncio.timeout(PATIENCE):
            while "no read model" not in (await compiler.get("/ready"))[1]:
                await asyncio.sleep(0.1)
        assert "start `weft work indexer`" in (await compiler.get("/ready"))[1]
        with pytest.raises(WeftError, match="catch up with the log"):
            await compiled(log, timeout=0.2)


async def test_the_time_of_a_small_compile(replica, log: Connection, tell):
    """Printed, not asserted: it depends on the machine."""
    [ack] = await publish(log, "s1", [TURN])
    await compiled(log, after=ack.sequence)
    seconds = []
    for number in range(200):
        begun = time.perf_counter()
        await compiled(log, query=f"invoice {number}")
        seconds.append(time.perf_counter() - begun)
    cuts = statistics.quantiles(seconds, n=100)
    tell(
        f"compile of one item, audited, n=200: p50 {cuts[49] * 1e3:.1f} ms, "
        f"p99 {cuts[98] * 1e3:.1f} ms"
    )
