"""Snapshots on a real log: new replicas start from them, and old ones go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.backups import backup, restore
from tests.integration.indexer_process import folded, indexer, publish
from tests.integration.snapshotted import (
    ENCODING,
    acknowledge_all,
    made_anew,
    snapshot_of,
    turns,
)

from weft.indexer.rebuild import rebuild
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching, subjects
from weft.log.stream_identity import StreamIdentity
from weft.log.topology import SNAPSHOTS_BUCKET, SNAPSHOTS_STREAM
from weft.readmodel.digest import content_digest
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel
from weft.snapshots.snapshot import RETAINED, Bucket, Snapshot, newest, superseded, take
from weft.snapshots.trimming import trim
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import NotFound


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
    assert superseded([*before, behind], behind, 0, False) == [before[2]]


def test_snapshots_of_one_encoding_do_not_replace_those_of_another() -> None:
    others = [described(sequence, 0, encoding="other") for sequence in (9, 8, 7)]
    own = [described(sequence, 1) for sequence in (40, 30, 20)]
    assert superseded([*own, *others], own[0], 0, False) == [own[2], others[2]]


def test_snapshots_of_a_log_that_was_made_anew_go_unless_one_was_trimmed() -> None:
    old, made = described(900, 1, "old log"), described(5, 2)
    assert superseded([old, made], made, 0, False) == [old]
    assert superseded([old, made], made, 0, True) == []


def test_one_from_before_an_erasure_goes_that_was_stored_by_somebody_who_was_killed() -> None:
    late, made = described(10, 1), described(20, 2)
    assert superseded([made, late], made, 15, True) == [late]
    assert superseded([made, described(9, 0, encoding="other")], made, 15, True) == []


async def test_snapshots_of_a_trimmed_log_wait_for_its_return(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(9))
    await acknowledge_all(log)
    held = await snapshot_of(log, folder)
    await trim(log, 9, ENCODING)
    kept = await backup(log)
    await made_anew(log)
    await publish(log, "new", turns(3))
    await rebuild(log, folder, ENCODING)
    await take(log, folder)
    await restore(log, kept)
    assert await newest(log, ENCODING) == held


async def test_a_snapshot_that_was_cut_off_is_cleaned_up_by_the_next(
    log: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.log.bodies.UNFINISHED_SECONDS", 0)
    await publish(log, "s", turns(3))
    async with Publisher(log) as publisher:
        await publisher.publish(f"$O.{SNAPSHOTS_BUCKET}.C.cutoff", b"of a file")
    made = await snapshot_of(log, folder)
    left = await subjects(log, f"$O.{SNAPSHOTS_BUCKET}.C.*", SNAPSHOTS_STREAM)
    async with Bucket(log) as bucket:
        assert await bucket.snapshots() == [made]
        [entry] = await bucket.objects.entries()
    assert left == [f"$O.{SNAPSHOTS_BUCKET}.C.{entry.nuid}"]


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


async def test_old_snapshots_go(log: Connection, folder: Path) -> None:
    for round in range(RETAINED + 2):
        await publish(log, "s", turns(2, first=2 * round))
        last = await snapshot_of(log, folder)
    async with Bucket(log) as bucket:
        kept = await bucket.snapshots()
    assert [one.sequence for one in kept] == [2 * (RETAINED + 2), 2 * (RETAINED + 1)]
    assert kept[0].name == last.name
    assert len(list(Generations(folder).folder.glob("*.sqlite"))) <= 2


async def test_a_folder_without_a_replica_is_refused_and_stays_as_it_is(
    log: Connection, tmp_path: Path
) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(NotFound, match=f"{folder} has no read model"):
            await take(log, folder)
        assert os.listdir(tmp_path) == []
