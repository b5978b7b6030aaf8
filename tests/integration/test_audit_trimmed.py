"""After trimming: what went with the log's old end is named, and the rest still holds together."""

from pathlib import Path

import msgspec
import pytest
from tests.audited import KEY, answer, call, turn
from tests.integration.command_line import weft
from tests.integration.logged import publish, until, until_finished
from tests.integration.snapshotted import acknowledge_all, snapshot_of
from tests.integration.test_audit_backtest import compile_and_record
from tests.integration.test_worker_services import working

from weft.audit.backtest_from_log import backtest_policy
from weft.audit.checks import comparison, content_digests, differing_sessions, items_of
from weft.audit.compiles import all_compiles
from weft.audit.difference_from_log import CompileInput, compare, logged_input
from weft.audit.reproduce_from_log import reproduce_compile
from weft.audit.verify import verify
from weft.indexer.rebuild import rebuild
from weft.indexer.starting import reopen, start
from weft.log.api import call as ask_server
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.topology import LogLimits, provision
from weft.readmodel.generations import Generations
from weft.readmodel.model import ReadModel
from weft.snapshots.snapshot import take
from weft.snapshots.trimming import trim
from weft_schemas.compile import CompileRequest
from weft_schemas.errors import ConfigurationError, NotFound
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, Phase
from weft_schemas.subjects import STREAM

ENCODING = "o200k_base"


async def test_a_trimmed_log_is_named_as_the_reason_and_verifies(
    server, log: Connection, tmp_path: Path
):
    first = [turn("u1", "Which invoice is open?"), call("c1", "u1", n=1), answer("r1", "c1", "ok")]
    async with Publisher(log) as publisher:
        body = await Bodies(log, publisher, "acme").put(b"long " * 60_000)
    document = ContextItem("d1", ItemKind.DOC_SNIPPET, body=body)
    await publish(log, "s1", [*first, document])
    async with working(server.url, "firewall", "summarizer", "memory"):
        await until(log, bool)
        await compile_and_record(log, "s1", Phase.ANSWER)
        for worker in ("firewall", "summarizer", "memory"):
            await until_finished(log, worker)
    await rebuild(log, tmp_path, ENCODING)
    await take(log, tmp_path)
    await trim(log, 5, ENCODING)
    [logged] = await all_compiles(log, "acme")
    done = await reproduce_compile(log, "acme", logged.audit.id, KEY)
    assert not done.identical
    assert "the log was trimmed and begins at 5" in done.reasons[0]
    found = await verify(log, tmp_path, ENCODING)
    assert found.faults == []
    assert found.compared == found.sequence > 5
    tested = (await backtest_policy(log, "acme", ContextPolicy(), KEY, 1)).summary()
    assert (tested["compiles"], tested["skipped"]) == (0, {"trimmed": 1})


async def trimmed_midway(log: Connection, folder: Path) -> list[str]:
    """A log whose session goes on behind the cut. Returns its compiles, from before and after."""
    await publish(log, "s1", [turn(f"u{n}", f"turn {n}") for n in range(1, 5)])
    await compile_and_record(log, "s1", Phase.ANSWER)
    await publish(log, "s1", [turn(f"u{n}", f"turn {n}") for n in range(5, 9)])
    await compile_and_record(log, "s1", Phase.ANSWER)
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    await trim(log, 4, ENCODING)
    await publish(log, "s2", [turn("v1", "first"), turn("v2", "second")])
    await compile_and_record(log, "s2", Phase.ANSWER)
    return [logged.audit.id for logged in await all_compiles(log, "acme")]


async def test_a_comparison_does_not_make_up_what_was_trimmed(log: Connection, tmp_path: Path):
    first, second, later = await trimmed_midway(log, tmp_path)
    sides = [await logged_input(log, "acme", one) for one in (first, second)]
    cut = "the log was trimmed and begins at 4"
    with pytest.raises(NotFound, match=f"{first}.*'u1' .event 1.: {cut}.*and 2 more"):
        await compare(log, "acme", *sides, KEY)
    asked = CompileInput("s1", CompileRequest(Phase.ANSWER), sequence=3)
    end = CompileInput("s1", CompileRequest(Phase.ANSWER))
    with pytest.raises(NotFound, match=f"'s1' as of 3 is not in the log: {cut}"):
        await compare(log, "acme", asked, end, KEY)
    at_cut = CompileInput("s1", CompileRequest(Phase.ANSWER), sequence=4)
    found = await compare(log, "acme", at_cut, end, KEY)
    assert [note.startswith(cut) for note in found.notes] == [True]
    kept = await logged_input(log, "acme", later)
    strict = msgspec.structs.replace(kept.request, budget=20)
    found = await compare(log, "acme", kept, msgspec.structs.replace(kept, request=strict), KEY)
    assert found.before.id == later


async def test_a_backtest_leaves_out_what_was_trimmed(log: Connection, tmp_path: Path):
    await trimmed_midway(log, tmp_path)
    done = (await backtest_policy(log, "acme", ContextPolicy(), KEY, 1)).summary()
    assert (done["compiles"], done["skipped"], done["log_begins"]) == (1, {"trimmed": 2}, 4)
    assert done["selected_otherwise_now"] == 0


async def test_the_commands_tell_where_a_trimmed_log_begins(
    server, log: Connection, tmp_path: Path
):
    await trimmed_midway(log, tmp_path / "data")
    file = tmp_path / "small.yaml"
    file.write_text("name: small\nbudgets: {answer: 20}\n")
    cut = "the log was trimmed and begins at 4"
    common = ["--policy", str(file), "--tenant", "acme"]
    ran = await weft("backtest", *common, "--processes", "1", url=server.url)
    assert cut in ran.err
    ran = await weft("diff", "--session", "s2", "--phase", "answer", *common, url=server.url)
    assert (ran.code, cut in ran.err) == (0, True)


async def test_a_read_model_that_differs_from_a_trimmed_log_is_mended_from_a_snapshot(
    log: Connection,
):
    await publish(log, "s1", [turn("u1", "a"), turn("u2", "b")])
    records = [record async for record in read_matching(log, ">")]
    live, fresh = ReadModel.in_memory(records[1:]), ReadModel.in_memory(records)
    digests = [content_digests(model.db) for model in (live, fresh)]
    items = [items_of(differing_sessions(*digests), 2, model.db) for model in (live, fresh)]
    [fault] = comparison(*digests, *items, needs_snapshot=True)
    assert fault.mend == "weft rebuild --from snapshot --verify"
    live.close()
    fresh.close()


@pytest.fixture
async def aged(log: Connection, tmp_path: Path) -> Connection:
    """A log whose first two events have left it by age; a read model holds what they came to."""
    await ask_server(log, f"STREAM.DELETE.{STREAM}")
    await provision(log, limits=LogLimits(max_age=86_400.0))
    await publish(log, "s1", [turn("u1", "a"), call("c1", "u1", n=1), turn("u2", "b")])
    await compile_and_record(log, "s1", Phase.ANSWER)
    await rebuild(log, tmp_path, ENCODING)
    await ask_server(log, f"STREAM.PURGE.{STREAM}", {"seq": 3})
    return log


async def test_what_left_the_log_by_age_is_no_fault(aged: Connection, tmp_path: Path):
    done = await verify(aged, tmp_path, ENCODING)
    assert done.faults == []
    [note] = [one for one in done.findings if one.kind == "digest"]
    assert "events before 3 left the log by age" in note.what
    assert "weft rebuild" not in note.mend


async def test_age_is_named_as_the_reason_why_a_compile_cannot_be_made_again(aged: Connection):
    [logged] = await all_compiles(aged, "acme")
    done = await reproduce_compile(aged, "acme", logged.audit.id, KEY)
    why = "events before 3 left the log by age; look into a snapshot"
    assert f"item 'u1' (event 1): {why}" in done.reasons
    tested = (await backtest_policy(aged, "acme", ContextPolicy(), KEY, 1)).summary()
    assert (tested["compiles"], tested["skipped"]) == (0, {"aged": 1})


async def test_a_rebuild_does_not_delete_the_last_copy_of_what_left_the_log_by_age(
    aged: Connection, tmp_path: Path
):
    for snapshot in (False, True):
        with pytest.raises(ConfigurationError, match="events before 3 left the log by age"):
            await rebuild(aged, tmp_path, ENCODING, snapshot=snapshot)
    await take(aged, tmp_path)
    assert (await rebuild(aged, tmp_path, ENCODING, snapshot=True)).equal
    done = await verify(aged, tmp_path, ENCODING)
    assert (done.findings, done.compared) == ([], 3)


async def test_a_snapshot_of_a_younger_replica_replaces_no_last_copy(
    aged: Connection, tmp_path: Path
):
    """It was built when the first events had left the log, and has a higher sequence."""
    await publish(aged, "s1", [turn("u3", "c")])
    await rebuild(aged, tmp_path / "young", ENCODING)
    await take(aged, tmp_path / "young")
    with pytest.raises(ConfigurationError, match="holds 2 items of them, and a new one 0"):
        await rebuild(aged, tmp_path, ENCODING, snapshot=True)
    generations = Generations(tmp_path)
    path = generations.current()
    assert path is not None
    kept = await reopen(aged, generations, path, ENCODING)
    await kept.close()


async def test_a_replica_that_lacks_what_left_the_log_by_age_says_so(
    aged: Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    lacks = "it lacks items that others have"
    writer = await start(aged, Generations(tmp_path / "new"), ENCODING)
    await writer.close()
    assert lacks in caplog.text
    caplog.clear()
    await take(aged, tmp_path)
    writer = await start(aged, Generations(tmp_path / "newer"), ENCODING)
    await writer.close()
    assert lacks not in caplog.text
