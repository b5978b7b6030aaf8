"""The mark that a trimming leaves: which log it counts for, and what becomes of it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
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

from weft.copies.exporting import export
from weft.copies.forking import fork
from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.bodies import ObjectMeta
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import state
from weft.log.secure_delete import erase_all
from weft.log.topology import SNAPSHOTS_BUCKET, LogLimits, provision
from weft.readmodel.generations import Reader
from weft.snapshots import trimming
from weft.snapshots.snapshot import take
from weft.snapshots.trim_mark import SUBJECT, trimmed_before
from weft.snapshots.trimming import Trimmed, trim
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Conflict, Unavailable
from weft_schemas.events import encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import STREAM, derived_subject


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


async def test_a_mark_of_an_early_release_counts_for_the_log_that_was_there(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(10))
    entry = ObjectMeta(
        "trimmed", SNAPSHOTS_BUCKET, "trimmed", 0, metadata={"weft.trimmed_before": "9"}
    )
    async with Publisher(log) as publisher:
        await publisher.publish(SUBJECT, msgspec.json.encode(entry))
    assert await trimmed_before(log) == 9
    await erase_all(log, STREAM, range(1, 9))
    await restore(log, await backup(log))
    assert await trimmed_before(log) == 9
    await made_anew(log)
    assert await trimmed_before(log) == 0
    await publish(log, "new", turns(20))
    assert await trimmed_before(log) == 0
    await rebuild(log, tmp_path, ENCODING)


async def test_a_log_that_was_trimmed_to_nothing_can_be_trimmed_again(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    assert [(await trim(log, 11, ENCODING)).erased for _ in range(2)] == [10, 0]
    assert (await take(log, folder)).sequence == 10
    assert await trimmed_before(log) == 11


async def test_of_two_trimmings_at_once_the_later_beginning_counts(
    log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(40))
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    for before in range(6, 42, 3):
        trimmings = (trim(log, before, ENCODING), trim(log, before - 2, ENCODING))
        done = await asyncio.gather(*trimmings, return_exceptions=True)
        assert all(isinstance(one, Trimmed | Conflict) for one in done), done
        assert await trimmed_before(log) >= (await state(log)).first


def metadata_away(log: Connection) -> Callable[[int, int], Awaitable[None]]:
    """What a `weft provision` does to the mark that has read the log's settings before trimming
    began, and writes them after: the server cannot compare."""

    async def overwrite(*_: int) -> None:
        config = (await call(log, f"STREAM.INFO.{STREAM}"))["config"]
        await call(log, f"STREAM.UPDATE.{STREAM}", {**config, "metadata": {}})

    return overwrite


async def test_a_trimming_whose_mark_was_overwritten_is_known_though_it_is_interrupted(
    log: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(log, "s", turns(20))
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    monkeypatch.setattr(trimming, "_PAGE", 5)
    overwrite, erased = metadata_away(log), []

    async def erase(connection: Connection, stream: str, page: list[int]) -> int:
        if erased:
            raise Unavailable("interrupted")
        erased.extend(page)
        await overwrite()
        return await erase_all(connection, stream, page)

    monkeypatch.setattr(trimming, "erase_all", erase)
    with pytest.raises(Unavailable, match="interrupted"):
        await trim(log, 16, ENCODING)
    assert len(erased) == 5
    assert await trimmed_before(log) == 16


async def test_a_mark_of_another_log_does_not_count_where_the_beginning_left_by_age(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path)
    await trim(log, 9, ENCODING)
    await call(log, f"STREAM.DELETE.{STREAM}")
    await provision(log, limits=LogLimits(max_age=3600))
    await publish(log, "new", turns(20))
    await call(log, f"STREAM.PURGE.{STREAM}", {"seq": 15})
    assert await trimmed_before(log) == 0
