"""A trimmed log that comes back from a backup, with the snapshots that it had, others or none: what
was trimmed is found, or the refusal says what is there and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.backups import backup, restore
from tests.integration.indexer_process import folded, indexer, publish
from tests.integration.snapshotted import ENCODING, acknowledge_all, snapshot_of, turns

from weft.indexer.catching_up import catch_up
from weft.indexer.rebuild import rebuild
from weft.indexer.starting import start
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import last_of, last_sequence, state
from weft.log.secure_delete import erase_all
from weft.log.topology import SNAPSHOTS_BUCKET, SNAPSHOTS_STREAM, provision
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel
from weft.snapshots.snapshot import Bucket, take
from weft.snapshots.trim_mark import trimmed_before, write_mark
from weft.snapshots.trimming import trim
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError
from weft_schemas.subjects import STREAM


async def trimmed(log: Connection, folder: Path, before: int = 9) -> None:
    """A log of ten turns whose old end is in a snapshot of the replica on `folder` only."""
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    await trim(log, before, ENCODING)


async def items_of_new_replica(log: Connection, folder: Path) -> int:
    """How many turns a replica has that starts without a file."""
    writer = await start(log, Generations(folder), ENCODING)
    await catch_up(log, writer, await last_sequence(log))
    path = writer.path
    await writer.close()
    model = ReadModel.open(path)
    try:
        return model.view("t", "s").item_count()
    finally:
        model.close()


@pytest.mark.parametrize("before", [9, 11], ids=["in part", "to its end"])
async def test_a_new_replica_starts_from_a_snapshot_of_the_log_before_its_restoration(
    log: Connection, tmp_path: Path, before: int
) -> None:
    await trimmed(log, tmp_path / "a", before)
    await restore(log, await backup(log))
    await publish(log, "s", turns(2, first=10))
    assert await items_of_new_replica(log, tmp_path / "b") == 12
    await restore(log, await backup(log))
    assert await items_of_new_replica(log, tmp_path / "c") == 12


async def test_a_replica_goes_on_after_the_restoration_of_what_it_has_folded(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await trimmed(log, tmp_path / "a", before=11)
    file = Generations(tmp_path / "a").current()
    await restore(log, await backup(log))
    await publish(log, "s", turns(2, first=10))
    async with indexer(server.url, tmp_path / "a"):
        with Reader(tmp_path / "a") as reader:
            await folded(log, reader)
            assert reader.model().view("t", "s").item_count() == 12
    assert Generations(tmp_path / "a").current() == file
    made = await take(log, tmp_path / "a")
    assert (made.sequence, await items_of_new_replica(log, tmp_path / "b")) == (12, 12)


async def test_without_its_snapshots_a_restored_log_is_still_known_to_be_trimmed(
    log: Connection, tmp_path: Path
) -> None:
    await trimmed(log, tmp_path / "a")
    kept = await backup(log)
    await call(log, f"STREAM.DELETE.{SNAPSHOTS_STREAM}")
    await provision(log)
    await restore(log, kept)
    assert await trimmed_before(log) == 9
    with pytest.raises(ConfigurationError, match=f"there is no snapshot.*{SNAPSHOTS_STREAM}"):
        await start(log, Generations(tmp_path / "b"), ENCODING)


async def test_snapshots_older_than_the_trimming_are_named_with_where_they_end(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(5))
    await snapshot_of(log, tmp_path / "a")
    kept = await backup(log, SNAPSHOTS_STREAM)
    await trimmed(log, tmp_path / "b")
    await restore(log, kept)
    with pytest.raises(ConfigurationError, match="ends at 5 and lacks what was trimmed"):
        await start(log, Generations(tmp_path / "c"), ENCODING)


async def test_a_log_from_before_the_trimming_is_whole(log: Connection, tmp_path: Path) -> None:
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path / "a")
    kept = await backup(log)
    await publish(log, "s", turns(5, first=10))
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path / "a")
    await trim(log, 16, ENCODING)
    await restore(log, kept)
    assert await trimmed_before(log) == 0
    assert await items_of_new_replica(log, tmp_path / "b") == 10


async def test_a_log_that_ends_before_every_snapshot_leaves_the_read_model_as_it_is(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await trimmed(log, tmp_path / "a")
    kept = await backup(log)
    await publish(log, "s", turns(5, first=10))
    async with indexer(server.url, tmp_path / "a"):
        with Reader(tmp_path / "a") as reader:
            await folded(log, reader)
    file = Generations(tmp_path / "a").current()
    async with Bucket(log) as bucket:
        [old] = await bucket.snapshots()
        await take(log, tmp_path / "a")
        await bucket.delete(old)
    await restore(log, kept)
    async with indexer(server.url, tmp_path / "a") as process:
        assert await process.wait() == 2
    assert Generations(tmp_path / "a").current() == file
    with pytest.raises(ConfigurationError, match="ends at 15, and the log at 10"):
        await start(log, Generations(tmp_path / "b"), ENCODING)


async def test_what_an_interrupted_trimming_left_does_not_make_a_restored_log_whole(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(10))
    await write_mark(log, 9)
    await erase_all(log, STREAM, range(1, 5))
    await restore(log, await backup(log))
    assert await trimmed_before(log) == 9


async def test_a_log_made_anew_with_the_settings_of_a_trimmed_one_is_whole(
    log: Connection, tmp_path: Path
) -> None:
    await trimmed(log, tmp_path / "a")
    config = (await call(log, f"STREAM.INFO.{STREAM}"))["config"]
    await call(log, f"STREAM.DELETE.{STREAM}")
    await call(log, f"STREAM.CREATE.{STREAM}", config)
    assert await trimmed_before(log) == 0
    await publish(log, "new", turns(20))
    assert await trimmed_before(log) == 0


async def test_a_mark_that_an_editor_of_the_stream_dropped_is_found_and_comes_back(
    log: Connection, tmp_path: Path
) -> None:
    await trimmed(log, tmp_path / "a")
    config = (await call(log, f"STREAM.INFO.{STREAM}"))["config"]
    await call(log, f"STREAM.UPDATE.{STREAM}", {**config, "metadata": {}})
    assert await trimmed_before(log) == 9
    await take(log, tmp_path / "a")
    assert (await state(log)).metadata["weft.trimmed_before"] == "9"


async def test_a_damaged_snapshot_is_passed_over_for_the_one_before_it(
    log: Connection, tmp_path: Path
) -> None:
    await trimmed(log, tmp_path / "a")
    await publish(log, "s", turns(2, first=10))
    await rebuild(log, tmp_path / "a", ENCODING, snapshot=True)
    damaged = await take(log, tmp_path / "a")
    async with Bucket(log) as bucket:
        [nuid] = [one.nuid for one in await bucket.objects.entries() if one.name == damaged.name]
    chunk = await last_of(log, f"$O.{SNAPSHOTS_BUCKET}.C.{nuid}", SNAPSHOTS_STREAM)
    await erase_all(log, SNAPSHOTS_STREAM, [chunk.sequence])
    assert await items_of_new_replica(log, tmp_path / "b") == 12
