"""A trimmed log whose snapshots and replicas are gone: an operator accepts the loss, what is left
is served again, and the log says from then on what is lost."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from tests.integration.backups import backup, restore
from tests.integration.command_line import weft
from tests.integration.indexer_process import publish
from tests.integration.snapshotted import (
    ENCODING,
    acknowledge_all,
    made_anew,
    snapshot_of,
    turns,
)

from weft.audit.doctor.examine import examine
from weft.audit.verify import verify
from weft.copies.exporting import export
from weft.copies.forking import fork
from weft.indexer.rebuild import rebuild
from weft.indexer.starting import start
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.replicas import ReplicaState, answer
from weft.readmodel import store
from weft.readmodel.generations import Generations, Reader
from weft.runtime.settings import Settings
from weft.snapshots.loss import accepted_loss
from weft.snapshots.snapshot import Bucket
from weft.snapshots.trimming import trim
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.up import EVERYTHING
from weft_schemas.errors import ConfigurationError
from weft_schemas.items import ContextItem, ItemKind

PARENTED = ContextItem("late", ItemKind.USER_TURN, "later", parent_id="i2")


async def without_snapshots(log: Connection, folder: Path) -> None:
    """Ten turns, of which the first eight were trimmed, and one that follows a trimmed one."""
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    await snapshot_of(log, folder)
    await trim(log, 9, ENCODING)
    await publish(log, "s", [PARENTED])
    async with Bucket(log) as bucket:
        for one in await bucket.snapshots():
            await bucket.delete(one)


def items(folder: Path) -> int:
    with Reader(folder) as reader:
        return int(reader.model().view("t", "s").item_count())


async def test_an_accepted_loss_is_told_and_replicas_start_again(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await without_snapshots(log, tmp_path / "gone")
    with pytest.raises(ConfigurationError, match="--accept-loss"):
        await start(log, Generations(tmp_path / "new"), ENCODING)
    done = await rebuild(log, tmp_path / "new", ENCODING, loss=True)
    assert (done.sequence, done.lost_before, items(tmp_path / "new")) == (11, 9, 3)
    writer = await start(log, Generations(tmp_path / "other"), ENCODING)
    assert writer.checkpoint == 11
    await writer.close()

    found = await verify(log, tmp_path / "new", ENCODING)
    assert found.faults == []
    [lost, orphan] = [one for one in found.findings if one.kind in ("lost", "unknown_parent")]
    assert lost.note
    assert "before event 9 is lost" in orphan.what
    settings = msgspec.structs.replace(
        Settings(), nats_url=server.url, data_dir=tmp_path / "new", encoding=ENCODING
    )
    [check] = [one for one in await examine(settings, True) if one.name == "snapshots"]
    assert check.state == "note"
    assert "before event 9 is lost; that was accepted at 20" in check.found
    assert (await export(log, "t", "s", io.BytesIO())).lost_before == 9
    assert (await fork(log, "t", "s", 11, "copy")).lost_before == 9


async def test_a_loss_goes_with_a_backup_and_not_to_a_log_that_is_made_anew(
    log: Connection, tmp_path: Path
) -> None:
    await without_snapshots(log, tmp_path / "gone")
    await rebuild(log, tmp_path / "new", ENCODING, loss=True)
    await restore(log, await backup(log))
    assert (await accepted_loss(log)).before == 9
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    await made_anew(log)
    await call(log, "STREAM.DELETE.weft")
    await call(log, "STREAM.CREATE.weft", config)
    assert await accepted_loss(log) is None


async def test_a_loss_is_not_accepted_while_something_may_hold_what_was_trimmed(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", turns(10))
    with pytest.raises(ConfigurationError, match="the log was not trimmed"):
        await rebuild(log, tmp_path / "new", ENCODING, loss=True)
    await acknowledge_all(log)
    await snapshot_of(log, tmp_path / "a")
    await trim(log, 9, ENCODING)
    with pytest.raises(ConfigurationError, match="--from snapshot"):
        await rebuild(log, tmp_path / "new", ENCODING, loss=True)
    async with Bucket(log) as bucket:
        for one in await bucket.snapshots():
            await bucket.delete(one)
    with pytest.raises(ConfigurationError, match=f"{tmp_path / 'a' / 'replica'} may hold"):
        await rebuild(log, tmp_path / "a", ENCODING, loss=True)
    generations = Generations(tmp_path / "a")
    path = generations.current()
    assert path is not None
    generations.building.set(path)  # as one whose indexer was killed before it had caught up
    generations.current.clear()
    with pytest.raises(ConfigurationError, match=f"{tmp_path / 'a' / 'replica'} may hold"):
        await rebuild(log, tmp_path / "a", ENCODING, loss=True)
    listener = await answer(log, lambda: ReplicaState("replica-b", 8, 8))
    with pytest.raises(ConfigurationError, match="replica-b may hold"):
        await rebuild(log, tmp_path / "new", ENCODING, loss=True)
    await listener.close()
    assert await accepted_loss(log) is None


@pytest.mark.parametrize("other", ["encoding", "release"])
async def test_a_loss_is_not_accepted_while_another_release_or_encoding_has_a_snapshot(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    await publish(log, "s", turns(10))
    await acknowledge_all(log)
    held = await snapshot_of(log, tmp_path / "gone")
    await trim(log, 9, ENCODING)
    encoding = "cl100k_base" if other == "encoding" else ENCODING
    if other == "release":
        monkeypatch.setattr(store, "FOLD_VERSION", store.FOLD_VERSION + 1)
    with pytest.raises(ConfigurationError, match=f"{held.name[:12]} holds what was trimmed, and"):
        await rebuild(log, tmp_path / "new", encoding, loss=True)
    assert await accepted_loss(log) is None
    async with Bucket(log) as bucket:
        await bucket.delete(held)
    assert (await rebuild(log, tmp_path / "new", encoding, loss=True)).lost_before == 9


async def test_weft_up_says_why_it_ends_and_the_command_that_it_names_helps(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await without_snapshots(log, tmp_path / "gone")
    data = ("--data", str(tmp_path / "new"))
    none = [part for name in EVERYTHING for part in (f"--{name}", "0")]
    indexer_alone = [*none[: none.index("--indexer")], *none[none.index("--indexer") + 2 :]]
    ran = await weft("up", *data, *indexer_alone, url=server.url)
    assert ran.code == 2
    assert "indexer cannot run with these settings: the log was trimmed" in ran.err
    assert "`weft rebuild --accept-loss` builds" in ran.err
    ran = await weft("rebuild", "--accept-loss", *data, url=server.url)
    assert (ran.code, items(tmp_path / "new")) == (0, 3)
    assert "LOST: what the sessions had before event 9" in ran.err
    ran = await weft("export", "-", "--session", "s", "--tenant", "t", url=server.url)
    assert "before event 9 is in no snapshot" in ran.err
