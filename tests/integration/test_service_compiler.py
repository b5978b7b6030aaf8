"""The compiler's service from plain NATS: waits, errors, audit, and many requests at once."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from tests.integration.compiling import TURN, compiled, compiling, envelope, folded
from tests.integration.folding import folding
from tests.integration.logged import publish, result
from tests.integration.processes import PATIENCE, Running

from weft.log.connection import Connection
from weft.log.message import Ack
from weft.log.reading import last_sequence, read_matching
from weft.log.topology import provision
from weft.log.transport import connect
from weft.runtime.request_client import ask
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import (
    CompileAudit,
    CompileRequest,
    ContextPack,
    ExplainReply,
    ExplainRequest,
)
from weft_schemas.errors import InvalidInput, NotFound, Unavailable, WeftError
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase
from weft_schemas.status import StatusReply
from weft_schemas.subjects import AUDIT_STREAM

pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def provisioned(url: str) -> AsyncIterator[Connection]:
    connection = await connect(url)
    try:
        await provision(connection)
        yield connection
    finally:
        await connection.close()


class Site(NamedTuple):
    """A log with a compiler on a read model that the tests fold, and a tenant of the test's own."""

    log: Connection
    tenant: str
    compiler: Running

    async def publish(self, session: str, items: list[ContextItem]) -> list[Ack]:
        return await publish(self.log, session, items, self.tenant)

    async def compiled(self, session: str = "s1", **request: Any) -> ContextPack:
        return await compiled(self.log, session, self.tenant, **request)

    async def explained(self, item_id: str, request: CompileRequest) -> ExplainReply:
        asked = ExplainRequest(item_id, request)
        address = (self.tenant, "s1", "explain")
        return await ask(self.log, address, asked, ExplainReply, request.timeout)

    async def audits(self) -> list[bytes]:
        subject = f"weft-audit.{self.tenant}.s1.compiled"
        return [r.payload async for r in read_matching(self.log, subject, stream=AUDIT_STREAM)]

    async def folded(self, sequence: int) -> StatusReply:
        return await folded(self.log, sequence, self.tenant)

    async def envelope(self, sequence: int, item_id: str, summary: str) -> int:
        return await envelope(self.log, sequence, item_id, summary, self.tenant)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("replica")
    async with (
        provisioned(server.url) as log,
        folding(log, folder),
        compiling(server.url, folder) as compiler,
    ):
        yield Site(log, "", compiler)


@pytest.fixture
def site(shared: Site, tenant: str) -> Site:
    return shared._replace(tenant=tenant)


async def test_what_was_just_published_is_in_the_pack(site: Site):
    for number in range(20):
        text = f"Invoice {number} is open, says Ann."
        [ack] = await site.publish(
            "s1", [ContextItem(id=f"u{number}", kind=ItemKind.USER_TURN, text=text)]
        )
        pack = await site.compiled(after=ack.sequence)
        assert text in pack.prompt
        assert pack.sequence >= ack.sequence
        assert pack.pending == ()


async def test_it_waits_for_an_envelope_and_shows_its_summary(site: Site):
    call = ContextItem(id="c", kind=ItemKind.TOOL_CALL, text="list", parent_id="u1")
    answer = ContextItem(id="r", kind=ItemKind.TOOL_RESULT, text="RAW BODY", parent_id="c")
    *_, ack = await site.publish("s1", [TURN, call, answer])
    asking = asyncio.create_task(site.compiled(after=ack.sequence, timeout=60.0))
    await asyncio.sleep(0.2)
    assert not asking.done()
    made = await site.envelope(ack.sequence, "r", "one open invoice: 4711")
    pack = await asking
    assert "one open invoice: 4711" in pack.prompt
    assert "RAW BODY" not in pack.prompt
    assert pack.sequence >= made


async def test_at_the_deadline_it_answers_and_names_what_is_pending(site: Site):
    *_, ack = await site.publish("s1", [TURN, result("r", "RAW BODY")])
    await site.folded(ack.sequence)
    pack = await site.compiled(after=ack.sequence, timeout=0.3)
    assert [item.item_id for item in pack.pending] == ["r"]
    assert "RAW BODY" not in pack.prompt
    ahead = await site.compiled(after=ack.sequence + 1_000, timeout=0.2)
    assert ahead.pending[-1].sequence == ack.sequence + 1_000
    assert ahead.pending[-1].reason == f"the read model is at {ack.sequence}"


async def test_asking_for_the_past_gives_the_past(site: Site):
    [first] = await site.publish("s1", [TURN])
    [second] = await site.publish(
        "s1", [ContextItem(id="u2", kind=ItemKind.USER_TURN, text="And the paid ones?")]
    )
    now = await site.compiled(after=second.sequence)
    past = await site.compiled(as_of=first.sequence)
    assert "paid ones" in now.prompt
    assert "paid ones" not in past.prompt
    assert past.sequence == first.sequence


async def test_a_compile_is_audited_and_moves_nothing_in_the_log(site: Site):
    [ack] = await site.publish("s1", [TURN])
    before = await last_sequence(site.log)
    packs = [await site.compiled(after=ack.sequence) for _ in range(3)]
    assert await last_sequence(site.log) == before
    assert len({pack.digest for pack in packs}) == 1
    [recorded] = await site.audits()
    audit = json.loads(recorded)
    assert audit["id"] == packs[0].id
    assert audit["digest"] == packs[0].digest
    assert CompileAudit.__struct_config__.tag == audit["type"]


async def test_explain_says_what_the_compile_did(site: Site):
    *_, ack = await site.publish("s1", [TURN, result("r", "text")])
    await site.folded(ack.sequence)
    request = CompileRequest(phase=Phase.ANSWER, after=ack.sequence, timeout=0.2)
    assert (await site.explained("u1", request)).included
    assert (await site.explained("r", request)).reason == "pending"
    absent = f"session 's1' has no item 'nobody' at or before sequence {ack.sequence}"
    with pytest.raises(NotFound, match=absent):
        await site.explained("nobody", request)
    assert await site.audits() == []


async def test_explain_tells_an_old_item_from_one_that_is_not_there(site: Site):
    kind = ItemKind.AGENT_MSG
    items = [ContextItem(f"a{n}", kind, f"Nothing new from buoy {n}.") for n in range(2_000)]
    *_, ack = await site.publish("s1", [*items, TURN])
    request = CompileRequest(Phase.ANSWER, after=ack.sequence, timeout=60.0)
    old = await site.explained("a0", request)
    assert (old.candidate, old.reason) == (False, "no candidate")
    assert old.detail.startswith("It is no candidate: it is not pinned, and not one of the newest ")
    before = CompileRequest(Phase.ANSWER, as_of=ack.sequence - 1, timeout=60.0)
    with pytest.raises(NotFound, match=f"has no item 'u1' at or before sequence {before.as_of}"):
        await site.explained("u1", before)


async def test_status_tells_how_far_the_replica_is(site: Site):
    items = [TURN, TURN, ContextItem(id="u1", kind=ItemKind.USER_TURN, text="Other words.")]
    acks = await site.publish("s1", items)
    status = await site.folded(acks[-1].sequence)
    assert (status.sequence, status.items, status.conflicts) == (acks[-1].sequence, 1, 1)


async def test_an_unknown_session_is_not_found(site: Site):
    [ack] = await site.publish("s1", [TURN])
    with pytest.raises(NotFound, match="'s9'"):
        await site.compiled("s9")
    with pytest.raises(Unavailable, match="not folded yet"):
        await site.compiled("s9", after=ack.sequence + 1_000, timeout=0.1)


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


async def test_a_malformed_request_gets_one_clear_error(site: Site):
    for payload, fault in BAD_REQUESTS.items():
        reply = await site.log.request(f"weft-rpc.{site.tenant}.s1.compile", payload, timeout=60)
        error = json.loads(reply.data)
        assert reply.headers["Weft-Error"] == error["code"]
        assert error["code"] in ("invalid_input", "unknown_version")
        assert fault in error["message"], payload[:40]
        assert error["retryable"] is False
    assert site.compiler.process.returncode is None


async def test_a_subject_that_names_no_session_gets_an_error_too(site: Site):
    reply = await site.log.request("weft-rpc.ac~me.s1.compile", b'{"phase":"answer"}', timeout=60)
    assert reply.headers["Weft-Error"] == InvalidInput.code


async def test_waiting_requests_hold_nobody_up_and_a_drain_answers_them(tmp_path: Path):
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        provisioned(server.url) as log,
        folding(log, tmp_path),
        compiling(server.url, tmp_path) as compiler,
    ):
        site = Site(log, "acme", compiler)
        await site.publish("s1", [TURN])
        waiting = [
            asyncio.create_task(site.compiled(after=10_000 + number, timeout=60.0))
            for number in range(200)
        ]
        await asyncio.sleep(0.3)
        assert "invoice" in (await site.compiled()).prompt
        ending = asyncio.create_task(compiler.end())
        packs = await asyncio.gather(*waiting)
        assert all(pack.pending for pack in packs)
        assert await ending == 0


async def test_without_a_read_model_it_says_what_to_start(tmp_path: Path):
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        provisioned(server.url) as log,
        compiling(server.url, tmp_path, ready=False) as compiler,
    ):
        async with asyncio.timeout(PATIENCE):
            while "no read model" not in (await compiler.get("/ready"))[1]:
                await asyncio.sleep(0.1)
        assert "start `weft work indexer`" in (await compiler.get("/ready"))[1]
        with pytest.raises(WeftError, match="catch up with the log"):
            await Site(log, "acme", compiler).compiled(timeout=0.2)
