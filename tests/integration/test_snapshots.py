"""Snapshots on a real log: new replicas start from them, trimming needs one, restores forget."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.integration.indexer_process import folded, indexer, publish
from tests.integration.logged import until_finished
from tests.integration.test_erasure import files_with

from weft.copies.exporting import export
from weft.copies.forking import fork
from weft.erasure import session as session_erasure
from weft.erasure.accounts import Target
from weft.erasure.records import erase_named
from weft.erasure.session import erase, plan
from weft.erasure.tombstones import tombstones
from weft.indexer.catching_up import catch_up
from weft.indexer.rebuild import rebuild
from weft.indexer.starting import check_replaceable, reopen
from weft.indexer.writer import Writer
from weft.log.api import call
from weft.log.bodies import Bodies, Meta
from weft.log.connection import Connection
from weft.log.consuming import Consumer
from weft.log.identity import StreamIdentity
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.replicas import ReplicaState, answer
from weft.log.server import EmbeddedServer
from weft.log.topology import SNAPSHOTS_BUCKET, provision
from weft.log.wire import publish_command
from weft.readmodel.digest import content_digest
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel
from weft.readmodel.store import get_meta
from weft.snapshots import snapshot
from weft.snapshots.mark import SUBJECT, trimmed_before
from weft.snapshots.snapshot import RETAINED, Bucket, Snapshot, newest, superseded, take
from weft.snapshots.trimming import trim
from weft_schemas.errors import ConfigurationError, Conflict, Corrupt, NotFound
from weft_schemas.events import ErasedEvent, encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import STREAM, derived_subject

ENCODING = "o200k_base"


def turns(count: int, prefix: str = "i", first: int = 0) -> list[ContextItem]:
    names = range(first, first + count)
    return [ContextItem(f"{prefix}{n}", ItemKind.USER_TURN, f"turn {n}") for n in names]


async def snapshot_of(log: Connection, folder: Path):
    """A replica made without an indexer process, and its snapshot."""
    await rebuild(log, folder, ENCODING)
    return await take(log, folder)


def files_with_canary(folder: Path) -> list[str]:
    return files_with(folder, "zanzibarcanary")


def digest_in(folder: Path) -> str:
    with Reader(folder) as reader:
        return content_digest(reader.model().db)


async def test_a_new_replica_starts_from_the_snapshot_and_the_tail(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(400))
    made = await snapshot_of(log, tmp_path / "a")
    assert made.sequence == 400
    assert made.taken.startswith("20")
    assert made.digest == digest_in(tmp_path / "a")
    await publish(log, "s", turns(50, first=400))
    async with indexer(server.url, tmp_path / "b"):
        with Reader(tmp_path / "b") as reader:
            await folded(log, reader)
            model = reader.model()
            assert model.view("t", "s").item_count() == 450
            records = [record async for record in read_matching(log, ">")]
            whole = ReadModel.in_memory(records)
            assert content_digest(model.db) == content_digest(whole.db)
            whole.close()


async def test_a_rebuild_from_a_snapshot_has_the_digest_of_the_live_one(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(300))
    await snapshot_of(log, folder)
    await publish(log, "s", turns(20, first=300))
    reported: list[int] = []
    done = await rebuild(
        log, folder, ENCODING, lambda folded, last: reported.append(folded), snapshot=True
    )
    assert done.equal
    assert done.replaced
    assert min(reported) > 300


async def test_without_a_snapshot_that_fits_it_says_so(log: Connection, folder: Path) -> None:
    await publish(log, "s", turns(3))
    with pytest.raises(NotFound, match="weft snapshot"):
        await rebuild(log, folder, ENCODING, snapshot=True)
    assert not list(Generations(folder).folder.glob("*.sqlite"))


def described(sequence: int, taken: int, created: str = "log", encoding: str = "e") -> Snapshot:
    identity = StreamIdentity(created)
    name = f"{created}/{encoding}/{sequence}"
    return Snapshot(name, 1, sequence, identity, "", "1", encoding, str(taken))


def test_the_snapshot_that_was_just_taken_is_never_one_of_those_that_go() -> None:
    before = [described(40, 1), described(30, 2), described(20, 3)]
    behind = described(10, 4)
    assert superseded([*before, behind], behind, False) == [before[2]]


def test_snapshots_of_one_encoding_do_not_replace_those_of_another() -> None:
    others = [described(sequence, 0, encoding="other") for sequence in (9, 8, 7)]
    own = [described(sequence, 1) for sequence in (40, 30, 20)]
    assert superseded([*own, *others], own[0], False) == [own[2], others[2]]


def test_snapshots_of_a_log_that_was_made_anew_go_unless_this_one_is_trimmed() -> None:
    old, made = described(900, 1, "old log"), described(5, 2)
    assert superseded([old, made], made, False) == [old]
    assert superseded([old, made], made, True) == []


async def test_a_snapshot_of_a_log_that_was_made_anew_stays(log: Connection, folder: Path) -> None:
    await publish(log, "s", turns(9))
    await snapshot_of(log, folder)
    await publish(log, "s", turns(9, first=9))
    await snapshot_of(log, folder)
    await made_anew(log)
    await publish(log, "new", turns(3))
    made = await snapshot_of(log, folder)
    async with Bucket(log) as bucket:
        assert await bucket.snapshots() == [made]


async def made_anew(log: Connection) -> None:
    """The log is lost, and what is stored beside it is not."""
    await call(log, f"STREAM.DELETE.{STREAM}")
    await provision(log)


async def test_a_log_that_is_made_anew_after_trimming_is_whole(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path / "a")
    await trim(log, 9, ENCODING)
    assert await trimmed_before(log) == 9
    await made_anew(log)
    await publish(log, "new", turns(20))
    assert await trimmed_before(log) == 0
    async with indexer(server.url, tmp_path / "b"):
        with Reader(tmp_path / "b") as reader:
            await folded(log, reader)
            assert reader.model().view("t", "new").item_count() == 20
    assert (await fork(log, "t", "new", 20, "copy")).items == 20


async def test_a_trimmed_log_that_was_restored_from_a_backup_is_still_trimmed(
    log: Connection, folder: Path
) -> None:
    subject = derived_subject("t", TENANT_SESSION, "context_policy")
    await publish(log, "s", turns(10))
    async with Publisher(log) as publisher:
        await publisher.publish(subject, encode_event(ContextPolicy()))
    await publish(log, "s", turns(10, first=10))
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    await trim(log, 13, ENCODING)
    await restore(log, await backup(log))
    assert await trimmed_before(log) == 13
    assert (await export(log, "t", "s", io.BytesIO())).trimmed == 11


async def test_a_mark_of_an_earlier_release_counts_for_any_log(
    log: Connection, folder: Path
) -> None:
    entry = Meta("trimmed", SNAPSHOTS_BUCKET, "trimmed", 0, metadata={"weft.trimmed_before": "9"})
    async with Publisher(log) as publisher:
        await publisher.publish(SUBJECT, msgspec.json.encode(entry))
    assert await trimmed_before(log) == 9


async def backup(log: Connection) -> tuple[dict[str, Any], list[bytes]]:
    """The log as the server gives it to an operator's backup."""
    inbox, chunks = log.new_inbox(), list[bytes]()
    ended = asyncio.Event()

    def take_chunk(_: bytes, to: bytes, payload: bytes, headers: bytes | None) -> None:
        if payload:
            chunks.append(bytes(payload))
            log.write_soon(publish_command(to.decode(), "", b"", b""))
        else:
            ended.set()

    listener = await log.listen(inbox, take_chunk)
    answer = await call(log, f"STREAM.SNAPSHOT.{STREAM}", {"deliver_subject": inbox})
    await ended.wait()
    await listener.close()
    return {"config": answer["config"], "state": answer["state"]}, chunks


async def restore(log: Connection, stored: tuple[dict[str, Any], list[bytes]]) -> None:
    """Bring the log back from a backup."""
    description, chunks = stored
    await call(log, f"STREAM.DELETE.{STREAM}")
    where = (await call(log, f"STREAM.RESTORE.{STREAM}", description))["deliver_subject"]
    for chunk in (*chunks, b""):
        await log.request(where, chunk)


async def test_old_snapshots_go(log: Connection, folder: Path) -> None:
    for round in range(RETAINED + 2):
        await publish(log, "s", turns(2, first=2 * round))
        last = await snapshot_of(log, folder)
    async with Bucket(log) as bucket:
        kept = await bucket.snapshots()
    assert [one.sequence for one in kept] == [2 * (RETAINED + 2), 2 * (RETAINED + 1)]
    assert kept[0].name == last.name
    assert len(list(Generations(folder).folder.glob("*.sqlite"))) <= 2


async def test_trimming_is_refused_without_a_snapshot_that_holds_it(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(10))
    with pytest.raises(ConfigurationError, match="there is none"):
        await trim(log, 6, ENCODING)
    await snapshot_of(log, folder)
    await publish(log, "s", turns(10, first=10))
    with pytest.raises(ConfigurationError, match="ends at 10"):
        await trim(log, 15, ENCODING)
    assert len([record async for record in read_matching(log, ">")]) == 20


async def acknowledge_all(log: Connection) -> None:
    for worker in ("firewall", "summarizer", "memory"):
        async with Consumer(log, worker) as consumer:
            acknowledging = asyncio.create_task(acknowledge(consumer))
            await until_finished(log, worker)
            consumer.stop()
            await acknowledging


async def acknowledge(consumer: Consumer) -> None:
    async for batch in consumer:
        for delivery in batch:
            delivery.ack()


async def test_after_trimming_a_replica_needs_the_snapshot_and_has_it_all(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    subject = derived_subject("t", TENANT_SESSION, "context_policy")
    await publish(log, "s", turns(100))
    await acknowledge_all(log)
    async with Publisher(log) as publisher:
        await publisher.publish(subject, encode_event(ContextPolicy(name="strict")))
    await snapshot_of(log, tmp_path / "a")
    await publish(log, "s", turns(5, first=100))
    done = await trim(log, 101, ENCODING)
    assert done.erased == 100
    assert await trimmed_before(log) == 101
    left = [record.sequence async for record in read_matching(log, ">")]
    assert left == [101, 102, 103, 104, 105, 106]
    async with indexer(server.url, tmp_path / "b"):
        with Reader(tmp_path / "b") as reader:
            await folded(log, reader)
            assert reader.model().view("t", "s").item_count() == 105
            assert reader.model().view("t", "s").policy()[1].name == "strict"
    with pytest.raises(ConfigurationError, match="--from snapshot"):
        await rebuild(log, tmp_path / "c", ENCODING)


async def trimmed_past_a_replica(log: Connection, tmp_path: Path) -> None:
    """Replica `late` has folded the first ten turns and is down; the log is trimmed further."""
    await publish(log, "s", turns(10))
    await rebuild(log, tmp_path / "late", ENCODING)
    await publish(log, "s", turns(10, first=10))
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path / "a")
    await trim(log, 18, ENCODING)
    await publish(log, "s", turns(3, first=20))


async def test_a_replica_that_was_down_while_the_log_was_trimmed_starts_from_a_snapshot(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await trimmed_past_a_replica(log, tmp_path)
    async with indexer(server.url, tmp_path / "late"):
        with Reader(tmp_path / "late") as reader:
            await folded(log, reader)
            assert reader.model().view("t", "s").item_count() == 23


async def test_a_replica_that_was_down_while_the_log_was_trimmed_is_rebuilt_without_its_indexer(
    log: Connection, tmp_path: Path
) -> None:
    await trimmed_past_a_replica(log, tmp_path)
    await rebuild(log, tmp_path / "late", ENCODING, snapshot=True)
    with Reader(tmp_path / "late") as reader:
        assert reader.model().view("t", "s").item_count() == 23


async def test_without_a_snapshot_it_refuses_and_leaves_its_file(
    log: Connection, tmp_path: Path
) -> None:
    await trimmed_past_a_replica(log, tmp_path)
    async with Bucket(log) as bucket:
        for one in await bucket.snapshots():
            await bucket.delete(one)
    generations = Generations(tmp_path / "late")
    file = generations.current()
    with pytest.raises(ConfigurationError, match="stands at 10, and the log was trimmed before 18"):
        await reopen(log, generations, file, ENCODING)
    assert generations.current() == file


async def test_a_read_model_does_not_fold_past_what_was_trimmed(
    log: Connection, tmp_path: Path
) -> None:
    await trimmed_past_a_replica(log, tmp_path)
    writer = await Writer.open(Generations(tmp_path / "late").current(), ENCODING, log)
    with pytest.raises(Corrupt, match="stands at 10, and the log begins at 18 by now"):
        await catch_up(log, writer, 23)
    assert writer.checkpoint == 10
    await writer.close()


async def test_a_running_replica_that_is_behind_holds_the_trimming_up(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    listener = await answer(log, lambda: ReplicaState("replica-b", 7, 7))
    with pytest.raises(Conflict, match="replica-b has folded events up to 7 only"):
        await trim(log, 10, ENCODING)
    assert (await trim(log, 8, ENCODING)).erased == 7
    await listener.close()


async def test_a_snapshot_from_before_the_trimming_is_no_start(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(3, "x"))
    await rebuild(log, tmp_path / "b", "cl100k_base")
    await take(log, tmp_path / "b")
    await trimmed_past_a_replica(log, tmp_path)
    assert (await newest(log, ENCODING)).sequence >= 17
    assert await newest(log, "cl100k_base") is None


async def test_another_encoding_over_a_trimmed_log_is_refused_before_anything_is_dropped(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(100))
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path / "a")
    await trim(log, 101, ENCODING)
    async with indexer(server.url, tmp_path / "b"):
        with Reader(tmp_path / "b") as reader:
            await folded(log, reader)
    before = Generations(tmp_path / "b").current()
    async with indexer(server.url, tmp_path / "b", WEFT_ENCODING="cl100k_base") as process:
        assert await asyncio.wait_for(process.wait(), 60) == 2
    assert Generations(tmp_path / "b").current() == before
    with pytest.raises(ConfigurationError, match=r"set it back to o200k_base: .* Nothing was"):
        await check_replaceable(log, before, "cl100k_base")
    async with indexer(server.url, tmp_path / "b"):
        with Reader(tmp_path / "b") as reader:
            await folded(log, reader)
            assert reader.model().view("t", "s").item_count() == 100


async def test_what_was_trimmed_is_not_left_out_in_silence_of_a_fork_or_an_export(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path / "a")
    await publish(log, "s", turns(5, first=10))
    await publish(log, "new", turns(2))
    await trim(log, 9, ENCODING)
    with pytest.raises(Conflict, match="8 items of session 's' were trimmed"):
        await fork(log, "t", "s", 15, "copy")
    exported = await export(log, "t", "s", io.BytesIO())
    assert (exported.records, exported.trimmed) == (7, 8)
    assert (await export(log, "t", None, io.BytesIO())).trimmed == 8
    assert (await export(log, "t", "new", io.BytesIO())).trimmed == 0
    assert (await fork(log, "t", "new", 17, "copy")).items == 2


async def test_a_worker_that_has_not_finished_holds_the_trimming_up(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(10))
    await snapshot_of(log, folder)
    with pytest.raises(Conflict, match="has finished events up to 0"):
        await trim(log, 6, ENCODING)


async def test_what_was_erased_after_the_snapshot_is_gone_before_it_serves(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await publish(log, "gone", [ContextItem("g", ItemKind.USER_TURN, "zanzibarcanary")])
    await publish(log, "kept", turns(3))
    await snapshot_of(log, tmp_path / "a")
    tombstone = (await publish(log, TENANT_SESSION, [ErasedEvent("gone")]))[0]
    async with indexer(server.url, tmp_path / "b"):
        with Reader(tmp_path / "b") as reader:
            await folded(log, reader)
            # The first generation that anybody can read is scrubbed already.
            assert int(get_meta(reader.model().db, "scrubbed") or 0) >= tombstone
            assert reader.model().view("t", "gone").item_count() == 0
            assert files_with_canary(tmp_path / "b") == []


async def test_an_erasure_after_trimming_writes_the_snapshot_anew_without_the_session(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    async with Publisher(log) as publisher:
        body = await Bodies(log, publisher, "t").put(b"zanzibarcanary " * 20_000)
    copy = {"forked_from": {"session": "gone"}}
    await publish(log, "gone", [ContextItem("g", ItemKind.USER_TURN, "zanzibarcanary")])
    await publish(log, "gone", [ContextItem("b", ItemKind.DOC_SNIPPET, body=body)])
    await publish(
        log, "copy", [ContextItem("g", ItemKind.USER_TURN, "zanzibarcanary", metadata=copy)]
    )
    await publish(log, "kept", turns(30))
    await acknowledge_all(log)
    old = await snapshot_of(log, tmp_path / "a")
    assert (await trim(log, 20, ENCODING)).bodies == 1
    done = await erase(log, await plan(log, "t", "gone"))
    assert done.forks == ("copy",)
    async with Bucket(log) as bucket:
        [made] = await bucket.snapshots()
    assert made.name != old.name
    assert files_with_canary(server.data_dir) == []
    async with indexer(server.url, tmp_path / "b"):
        with Reader(tmp_path / "b") as reader:
            await folded(log, reader)
            assert reader.model().view("t", "kept").item_count() == 30
            assert reader.model().view("t", "gone").item_count() == 0


async def test_an_erasure_writes_the_snapshots_of_every_encoding_anew(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "gone", turns(3, "g"))
    await publish(log, "kept", turns(9))
    await acknowledge_all(log)
    for encoding in (ENCODING, "cl100k_base"):
        await rebuild(log, tmp_path / encoding, encoding)
        await take(log, tmp_path / encoding)
    await trim(log, 12, ENCODING)
    await erase(log, await plan(log, "t", "gone"))
    async with Bucket(log) as bucket:
        left = await bucket.snapshots()
        assert sorted(one.encoding for one in left) == ["cl100k_base", ENCODING]
        for one in left:
            await bucket.fetch(one, tmp_path / one.encoding / "fetched.sqlite")
    for one in left:
        assert sessions_in(tmp_path / one.encoding / "fetched.sqlite") == ["kept"]


def sessions_in(file: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(file)) as db:
        return [name for (name,) in db.execute("SELECT session FROM sessions WHERE items > 0")]


async def test_a_snapshot_that_is_stored_while_a_session_is_erased_does_not_keep_it(
    log: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(log, "gone", turns(3, "g"))
    await publish(log, "kept", turns(3))
    await rebuild(log, folder, ENCODING)
    copy = snapshot._copy

    async def and_then_erased(current: Path, copied: Path) -> None:
        monkeypatch.setattr(snapshot, "_copy", copy)
        await copy(current, copied)
        await erase(log, await plan(log, "t", "gone"))
        await rebuild(log, folder, ENCODING)

    monkeypatch.setattr(snapshot, "_copy", and_then_erased)
    made = await take(log, folder)
    async with Bucket(log) as bucket:
        assert await bucket.snapshots() == [made]
        await bucket.fetch(made, folder / "fetched.sqlite")
    assert sessions_in(folder / "fetched.sqlite") == ["kept"]


async def test_a_replica_that_has_not_folded_an_erasure_gives_no_snapshot(
    log: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "ERASURE_SECONDS", 0)
    await publish(log, "gone", turns(3, "g"))
    await rebuild(log, folder, ENCODING)
    await publish(log, TENANT_SESSION, [ErasedEvent("gone")])
    with pytest.raises(Conflict, match="stands at 3 and has not folded the erasure at 4"):
        await take(log, folder)
    async with Bucket(log) as bucket:
        assert await bucket.snapshots() == []


async def test_an_erasure_looks_for_snapshots_again_before_its_receipt(
    log: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(log, "gone", turns(3, "g"))
    await publish(log, "kept", turns(3))
    await rebuild(log, folder, ENCODING)
    waits = session_erasure._until

    async def while_it_waits(time: float) -> None:
        async with Bucket(log) as bucket:
            await bucket.put(Generations(folder).current())
        await waits(time)

    monkeypatch.setattr(session_erasure, "_until", while_it_waits)
    done = await erase(log, await plan(log, "t", "gone"))
    assert done.removed["snapshots"] == 1
    async with Bucket(log) as bucket:
        assert await bucket.snapshots() == []


async def test_an_erasure_that_was_interrupted_is_finished_by_the_next(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    for session in ("s", "fork"):
        origin = {"forked_from": {"session": "s"}} if session == "fork" else {}
        items = [
            ContextItem(f"i{n}", ItemKind.USER_TURN, "zanzibarcanary", metadata=origin)
            for n in range(80)
        ]
        await publish(log, session, items)

    class Killed(Exception):
        pass

    def kill(what: str, done: int, total: int) -> None:
        if what == "erasing events" and done:
            raise Killed

    found = await plan(log, "t", "s")
    with pytest.raises(Killed):
        await erase(log, found, on_progress=kill)
    left = [record async for record in read_matching(log, "w.in.>")]
    assert 0 < len(left) < 160
    of_fork = [record.sequence for record in left if b"forked_from" in record.payload]
    tombstone, _ = (await tombstones(log, "t"))["s"]
    async with Publisher(log) as publisher:
        await erase_named(publisher, Target("t", "s"), tombstone, of_fork)
    again = await plan(log, "t", "s")
    assert again.forks == ("fork",)
    done = await erase(log, again)
    assert again.events < 160
    assert done.removed["events"] == 160
    assert not [record async for record in read_matching(log, "w.in.>")]
    stones = [record async for record in read_matching(log, "w.out.*.t.@tenant.erased")]
    assert len(stones) == 2


async def test_a_replica_that_was_down_serves_nothing_that_was_erased_meanwhile(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "gone", [ContextItem("g", ItemKind.USER_TURN, "zanzibarcanary")])
    await publish(log, "kept", turns(3))
    await rebuild(log, folder, ENCODING)
    done = await erase(log, await plan(log, "t", "gone"))
    assert done.removed["replicas"] == 0
    with Reader(folder) as reader:
        async with indexer(server.url, folder):
            await folded(log, reader)
            assert reader.model().view("t", "gone").item_count() == 0
            assert reader.model().view("t", "kept").item_count() == 3
            assert files_with_canary(folder) == []


async def test_a_folder_without_a_replica_is_refused_and_stays_as_it_is(
    log: Connection, tmp_path: Path
) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(NotFound, match=f"{folder} has no read model"):
            await take(log, folder)
        assert os.listdir(tmp_path) == []
