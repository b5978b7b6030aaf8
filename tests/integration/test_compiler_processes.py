"""Where a compile is done: in the service's own loop, or in a process where it takes longer. What
it says is the same, byte for byte."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from nats.aio.msg import Msg
from tests.retrying import PATIENCE

from weft.compiler import attempt as attempts
from weft.compiler import service
from weft.compiler.attempt import CompileResult, CompileTask, attempt
from weft.log.api import replied
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import newest_first
from weft.log.topology import provision
from weft.log.transport import connect
from weft.readmodel.fold import Fold
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import open_writer, snapshot
from weft.replica_service.service import warm
from weft.runtime.fork_server import ForkServer
from weft.runtime.pool import Pool
from weft.runtime.process import Process
from weft.runtime.replica import Replica, pool_work
from weft.runtime.request_server import ReceivedRequest, RequestServer
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import CompileAudit, CompileRequest, ContextPack, ExplainReply
from weft_schemas.errors import ERROR_HEADER, NotFound, Unavailable
from weft_schemas.events import Event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextBudget, ContextPolicy, Phase
from weft_schemas.routing import HydrationResult, SelectableItem
from weft_schemas.subjects import (
    AUDIT_STREAM,
    REPLY_TIMEOUT_HEADER,
    TIME_LEFT_HEADER,
    audit_subject,
)


def asked(request: CompileRequest) -> tuple[ReceivedRequest[CompileRequest], CompileRequest]:
    return ReceivedRequest("t", "s", request), request


def folded(data_dir: Path, events: list[Event]) -> None:
    """A read model that holds these events of session `s`."""
    generations = Generations(data_dir)
    path = generations.new()
    db = open_writer(path)
    Fold(db).apply(records_of(events, "t", "s"))
    db.close()
    generations.publish(path)


def large_session() -> list[Event]:
    text = "Order {0} left for Lisbon; the customer asks for {0} parcels and an invoice. " * 8
    turns = [ContextItem(f"i{n}", ItemKind.USER_TURN, text.format(n)) for n in range(120)]
    return [*turns, ContextPolicy("large", budgets=ContextBudget(answer=60_000))]


class Compiling(NamedTuple):
    compiler: service.Compiler
    pool: Pool


@asynccontextmanager
async def compiling(
    server: EmbeddedServer, data_dir: Path, process: Process | None = None
) -> AsyncIterator[Compiling]:
    settings = Settings(data_dir=data_dir, fingerprint_key="secret")
    process = process or Process("compiler", settings)
    process.connection = await connect(server.url, name="compiler")
    async with (
        Replica(data_dir) as replica,
        Publisher(process.connection) as publisher,
        Pool(ForkServer(partial(warm, "cl100k_base")), 1, 60.0) as pool,
    ):
        yield Compiling(service.Compiler(process, replica, pool, publisher), pool)
    await process.connection.close()


def where(model: object, task: CompileTask) -> CompileResult:
    """In place of a compile: in which process it is done."""
    return CompileResult(b"", os.getpid(), "", b"")


def is_apart(answer: CompileResult) -> bool:
    return answer.sequence != os.getpid()


def here(view: object, task: CompileTask) -> CompileResult:
    return where(view, task)


async def test_the_budget_in_force_and_what_is_there_decide(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded(tmp_path, large_session())
    monkeypatch.setattr(service, "attempt", where)
    monkeypatch.setattr(attempts, "compile_result", here)
    short, long = Phase.CALL, Phase.ANSWER
    async with compiling(server, tmp_path) as (compiler, _):
        for request, expected in (
            (CompileRequest(short), False),
            (CompileRequest(long), True),
            (CompileRequest(long, budget=2_000), False),
            (CompileRequest(short, budget=100_000), True),
            (CompileRequest(long, policy=ContextPolicy()), False),
            (CompileRequest(long, as_of=1, budget=2_000), False),
            (CompileRequest(short, query="parcel " * 2_000), True),
        ):
            assert is_apart(await compiler._answered(*asked(request))) == expected, request


async def test_a_small_session_and_large_items_decide(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "attempt", where)
    monkeypatch.setattr(attempts, "compile_result", here)
    small = [ContextItem("i", ItemKind.USER_TURN, "Hello there")]
    large = [
        ContextItem("i", ItemKind.USER_TURN, "\n\n".join(f"Line {n}." * 20 for n in range(3_000)))
    ]
    for name, events, expected in (("small", small, False), ("large", large, True)):
        folded(tmp_path / name, list[Event](events))
        async with compiling(server, tmp_path / name) as (compiler, _):
            request = CompileRequest(Phase.CALL, budget=100_000 if name == "small" else 2_000)
            assert is_apart(await compiler._answered(*asked(request))) == expected, name


def here_and_now(data_dir: Path, task: CompileTask) -> CompileResult | None:
    with Reader(data_dir) as reader:
        model = reader.model()
        with snapshot(model.db):
            return attempt(model, task)


async def test_a_process_says_what_the_service_says(server: EmbeddedServer, tmp_path: Path) -> None:
    folded(tmp_path, large_session())
    async with compiling(server, tmp_path) as (compiler, pool):
        first = await compiler._answered(*asked(CompileRequest(Phase.CALL, "Lisbon")))
        tool = SelectableItem("send", "send", "Sends a parcel.")
        for request, item in (
            (CompileRequest(Phase.CALL, "order 7"), None),
            (CompileRequest(Phase.ANSWER, "invoice", stable_from="any"), None),
            (CompileRequest(Phase.CALL, "order 7", as_of=50), None),
            (CompileRequest(Phase.CALL, hydration=HydrationResult(tool, {}, (), 0)), None),
            (CompileRequest(Phase.CALL, "order 7"), "i7"),
        ):
            task = CompileTask("t", "s", request, b"secret", first.audit, item=item)
            ours = here_and_now(tmp_path, task)
            assert await pool.run("t", "s", pool_work(tmp_path, attempt, task)) == ours
            assert ours is not None
            kind = ExplainReply if item else ContextPack
            assert msgspec.json.decode(ours.body, type=kind).sequence == ours.sequence
        unknown = CompileTask("t", "nobody", CompileRequest(Phase.CALL), b"")
        with pytest.raises(NotFound, match="nobody"):
            await pool.run("t", "s", pool_work(tmp_path, attempt, unknown))


async def test_a_tenant_that_held_the_loop_is_worked_apart_for_a_while(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded(tmp_path, large_session())
    monkeypatch.setattr("weft.runtime.pool.HELD_SECONDS", 0.0)
    async with compiling(server, tmp_path) as (compiler, _):
        request = CompileRequest(Phase.CALL, budget=500)
        made = await compiler._answered(*asked(request))
        assert await compiler._answered(*asked(request)) == made
        monkeypatch.setattr(service, "short_attempt", where)
        assert is_apart(await compiler._answered(*asked(request)))


async def test_a_short_compile_waits_for_no_heavy_one_of_its_tenant(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor for what was estimated to be short and is not."""
    folded(tmp_path, large_session())
    short, long = CompileRequest(Phase.CALL, budget=500), CompileRequest(Phase.ANSWER)
    for name in ("TURN_SECONDS", "SHORT_SECONDS"):
        monkeypatch.setattr(f"weft.runtime.pool.{name}", PATIENCE)
    async with compiling(server, tmp_path) as (compiler, pool):
        expected = await compiler._answered(*asked(short))
        monkeypatch.setattr("weft.runtime.pool.HELD_SECONDS", 0.0)
        await compiler._answered(*asked(short))
        assert pool.is_isolated("t")
        async with pool.turn("t", "s"):
            heavy = [asyncio.create_task(compiler._answered(*asked(long))) for _ in range(4)]
            for _ in range(3):
                assert await compiler._answered(*asked(short)) == expected
            assert not any(one.done() for one in heavy)
        sequences = {one.sequence for one in await asyncio.gather(*heavy)}
        assert sequences == {expected.sequence}
        monkeypatch.setattr("weft.runtime.pool.SHORT_SECONDS", 0.0)
        assert await compiler._answered(*asked(short)) == expected


@pytest.mark.parametrize("budget", [500, 60_000])
async def test_many_compiles_at_once_are_moved_apart_only_if_they_are_short(
    budget: int, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heavy ones are apart anyway, and their tenant's short ones stay where they are quickest."""
    folded(tmp_path, large_session())
    monkeypatch.setattr("weft.runtime.pool.TURN_SECONDS", PATIENCE)
    async with compiling(server, tmp_path) as (compiler, pool):
        request = CompileRequest(Phase.CALL, budget=budget)
        rival = ReceivedRequest("rival", "s", request)
        with pytest.raises(NotFound):
            await compiler._answered(rival, request)
        await asyncio.gather(*(compiler._answered(*asked(request)) for _ in range(8)))
        assert pool.is_isolated("t") == (budget == 500)


@asynccontextmanager
async def answering(
    server: EmbeddedServer, data_dir: Path, key: str = "secret"
) -> AsyncIterator[tuple[Connection, Pool]]:
    process = Process("compiler", Settings(data_dir=data_dir, fingerprint_key=key))
    async with compiling(server, data_dir, process) as (compiler, pool):
        await provision(process.connection)
        served = RequestServer(process, "group")
        await served.answer("compile", CompileRequest, compiler.compile)
        assert await process.connection.flushed()
        yield process.connection, pool
        await served.drain()


async def reply(log: Connection, request: CompileRequest, **headers: str) -> Msg:
    body = msgspec.json.encode(request)
    return await replied(log, "weft-rpc.t.s.compile", body, PATIENCE, headers)


async def test_a_compile_whose_requester_is_gone_is_not_begun(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    folded(tmp_path, large_session())
    async with answering(server, tmp_path) as (log, pool):
        late, in_time = (CompileRequest(Phase.ANSWER, query) for query in ("late", "in time"))
        async with pool.turn("t", "s"):
            refused = await reply(log, late, **{REPLY_TIMEOUT_HEADER: "0.1"})
        assert refused.headers is not None
        assert refused.headers[ERROR_HEADER] == Unavailable.code
        assert msgspec.json.decode((await reply(log, in_time)).data, type=ContextPack).prompt
        subject = audit_subject("t", "s", "compiled")
        queries = {
            msgspec.json.decode(record.payload, type=CompileAudit).request.query
            async for record in newest_first(log, subject, stream=AUDIT_STREAM)
        }
        assert queries & {"late", "in time"} == {"in time"}


def counted(model: ReadModel, task: CompileTask) -> CompileResult | None:
    """A compile that leaves a line in the file of which the key is the name."""
    with open(task.key, "a") as file:
        file.write("compiled\n")
    return attempt(model, task)


async def test_a_heavy_compile_that_is_sent_again_is_done_once(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded(tmp_path, large_session())
    monkeypatch.setattr(service, "attempt", counted)
    monkeypatch.setattr("weft.runtime.pool.TURN_SECONDS", PATIENCE)
    lines, heavy = tmp_path / "lines", CompileRequest(Phase.ANSWER)
    async with answering(server, tmp_path, str(lines)) as (log, pool):
        async with pool.turn("t", "s"):
            first = asyncio.create_task(reply(log, heavy))
            await asyncio.sleep(0)
            again = asyncio.create_task(reply(log, heavy, **{TIME_LEFT_HEADER: "60"}))
            await asyncio.sleep(0)
            short = await reply(log, CompileRequest(Phase.CALL, budget=500))
            assert ERROR_HEADER not in (short.headers or {})  # it came after them
        assert (await first).data == (await again).data
        assert lines.read_text() == "compiled\n"
        await reply(log, heavy)
        assert lines.read_text() == "compiled\n" * 2
