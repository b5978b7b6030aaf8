"""Trimming a real log: a snapshot must hold what goes, and a replica without it starts there."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from tests.integration.indexer_process import folded, indexer, publish
from tests.integration.snapshotted import (
    ENCODING,
    acknowledge_all,
    snapshot_of,
    turns,
)
from tests.retrying import patiently

from weft.copies.exporting import export
from weft.copies.forking import fork
from weft.indexer.catching_up import catch_up
from weft.indexer.rebuild import rebuild
from weft.indexer.starting import check_replaceable, reopen
from weft.indexer.writer import Writer
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.replicas import ReplicaState, answer, replicas
from weft.log.secure_delete import erase_all
from weft.log.topology import SNAPSHOTS_STREAM, provision
from weft.log.transport import connect
from weft.readmodel.generations import Generations, Reader
from weft.runtime.roll_call import call_roll
from weft.snapshots import trimming
from weft.snapshots.snapshot import Bucket, newest, take
from weft.snapshots.trim_mark import trimmed_before
from weft.snapshots.trimming import trim
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError, Conflict, Corrupt, NotFound, Unavailable
from weft_schemas.events import encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import STREAM, derived_subject

SNAPSHOTS_AWAY = f'mappings {{ "$JS.API.STREAM.MSG.GET.{SNAPSHOTS_STREAM}": "nowhere" }}'
"""Of a server's configuration: the snapshots cannot be read."""


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
    await acknowledge_all(log)
    await rebuild(log, tmp_path / "a", ENCODING, snapshot=True)
    await take(log, tmp_path / "a")
    await trim(log, 16, ENCODING)
    with pytest.raises(NotFound, match=r"all 15 items of session 's' .* were trimmed"):
        await export(log, "t", "s", io.BytesIO())
    assert (await fork(log, "t", "new", 17, "copy")).items == 2


async def test_a_worker_that_has_not_finished_holds_the_trimming_up(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(10))
    await snapshot_of(log, folder)
    with pytest.raises(Conflict, match="has finished events up to 0"):
        await trim(log, 6, ENCODING)


async def items_folded(log: Connection, folder: Path) -> int:
    """The items of the session in a read model that has folded the whole log."""
    with Reader(folder) as reader:
        await folded(log, reader)
        return reader.model().view("t", "s").item_count()


async def test_while_the_mark_of_trimming_cannot_be_read_nothing_is_folded_past_a_gap(
    tmp_path: Path,
) -> None:
    settings = tmp_path / "nats" / "further.conf"
    settings.parent.mkdir()
    settings.write_text(SNAPSHOTS_AWAY)
    async with EmbeddedServer(settings.parent, extra='include "./further.conf"') as server:
        log = await connect(server.url)
        await provision(log)
        await publish(log, "s", turns(10))
        await erase_all(log, STREAM, [5])
        writer = await Writer.open(tmp_path / "alone.sqlite", ENCODING, log)
        with pytest.raises(Unavailable, match="lacks event 5, and whether it was trimmed cannot"):
            await catch_up(log, writer, 10)
        await writer.close()
        async with indexer(server.url, tmp_path / "a") as process:
            while not await replicas(log, "t"):
                await asyncio.sleep(0.1)
            settings.write_text("")
            await server.restart()
            assert await patiently(lambda: items_folded(log, tmp_path / "a")) == 9
            assert process.returncode is None
        await log.close()


async def test_a_damaged_read_model_waits_until_it_can_be_seen_whether_the_log_was_trimmed(
    tmp_path: Path,
) -> None:
    settings = tmp_path / "nats" / "further.conf"
    settings.parent.mkdir()
    settings.write_text("")
    async with EmbeddedServer(settings.parent, extra='include "./further.conf"') as server:
        log = await connect(server.url)
        await provision(log)
        await publish(log, "s", turns(10))
        await rebuild(log, tmp_path / "a", ENCODING)
        current = Generations(tmp_path / "a").current()
        assert current is not None
        current.write_bytes(b"damaged" * 1000)
        settings.write_text(
            f'mappings {{ "$JS.API.STREAM.MSG.GET.{SNAPSHOTS_STREAM}": "nowhere" }}'
        )
        await server.restart()
        async with indexer(server.url, tmp_path / "a") as process:
            while "cannot be followed" not in str(await call_roll(log, "t")):
                assert process.returncode is None
            settings.write_text("")
            await server.restart()
            assert await patiently(lambda: items_folded(log, tmp_path / "a")) == 10
            assert process.returncode is None
        await log.close()


async def test_a_trimming_that_was_interrupted_leaves_no_body_that_nothing_refers_to(
    log: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Publisher(log) as publisher:
        bodies = Bodies(log, publisher, "t")
        gone, kept = [await bodies.put(one * 20_000) for one in (b"gone ", b"kept ")]
        for number, body in enumerate([gone, kept, kept]):
            await publish(log, "s", [ContextItem(f"b{number}", ItemKind.DOC_SNIPPET, body=body)])
        await acknowledge_all(log)
        await snapshot_of(log, folder)

        async def and_then_killed(*of: object) -> int:
            await erase_all(*of)
            raise KeyboardInterrupt

        monkeypatch.setattr(trimming, "erase_all", and_then_killed)
        with pytest.raises(KeyboardInterrupt):
            await trim(log, 3, ENCODING)
        monkeypatch.undo()
        await trim(log, 3, ENCODING)
        assert (await bodies.exists(gone.sha256), await bodies.exists(kept.sha256)) == (False, True)
