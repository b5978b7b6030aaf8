"""An erasure whose record leaves the log by age: what was erased does not come back from a replica
that was down, from snapshots that are put back, nor from an export."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.integration.backups import backup, restore
from tests.integration.indexer_process import PATIENCE, indexer, publish
from tests.integration.snapshotted import ENCODING, snapshot_of, turns
from tests.integration.test_restored_log import items_of_new_replica

from weft.audit.doctor.folded import folded as folded_checks
from weft.erasure.scope import erase_scope, plan_scope
from weft.erasure.session import erase, plan
from weft.indexer.rebuild import rebuild
from weft.indexer.starting import reopen
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import last_sequence, state
from weft.log.topology import SECOND, SNAPSHOTS_STREAM
from weft.readmodel.generations import Generations
from weft.readmodel.model import ReadModel
from weft.runtime.settings import Settings
from weft.snapshots import erasure_mark
from weft.snapshots.erasure_mark import mark_erasures
from weft.snapshots.snapshot import take
from weft.supervision import own_events
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.own_events import renew
from weft_schemas.errors import ConfigurationError, Conflict
from weft_schemas.events import ErasedEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import STREAM

GONE = ContextItem("g", ItemKind.USER_TURN, "zanzibarcanary", metadata={"scope": "user:42"})


async def set_limit(log: Connection, seconds: float) -> None:
    config = (await call(log, f"STREAM.INFO.{STREAM}"))["config"]
    limits = {"max_age": int(seconds * SECOND), "duplicate_window": SECOND // 2}
    await call(log, f"STREAM.UPDATE.{STREAM}", {**config, **limits})


async def age(log: Connection) -> None:
    """Everything that is in the log leaves it by age; then come new events, which stay."""
    last = await last_sequence(log)
    await set_limit(log, 0.5)
    async with asyncio.timeout(PATIENCE):
        while (await state(log)).first <= last:
            await asyncio.sleep(0.05)
    await set_limit(log, 86_400)
    await publish(log, "new", turns(2))


async def erased_session(log: Connection) -> None:
    await erase(log, await plan(log, "t", "s"))


async def erased_scope(log: Connection) -> None:
    await erase_scope(log, await plan_scope(log, "t", "user:42"))


erased = pytest.mark.parametrize("erasure", [erased_session, erased_scope])


@erased
async def test_a_replica_that_was_down_does_not_serve_what_was_erased(
    server: EmbeddedServer, log: Connection, tmp_path: Path, erasure
) -> None:
    await publish(log, "s", [GONE, *turns(2)])
    await rebuild(log, tmp_path, ENCODING)
    file = Generations(tmp_path).current()
    assert file is not None
    await erasure(log)
    await age(log)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"may hold what was erased.*Remove"):
            await reopen(log, Generations(tmp_path), file, ENCODING)
        assert Generations(tmp_path).current() is None
    async with indexer(server.url, tmp_path) as process:
        assert await process.wait() == 2
    assert file.exists()


@erased
async def test_a_snapshot_that_is_put_back_does_not_bring_it_back(
    log: Connection, tmp_path: Path, erasure
) -> None:
    await publish(log, "s", [GONE, *turns(2)])
    await snapshot_of(log, tmp_path / "a")
    kept = await backup(log, SNAPSHOTS_STREAM)
    await erasure(log)
    await age(log)
    await restore(log, kept)
    assert await items_of_new_replica(log, tmp_path / "b") == 0


async def test_no_snapshot_is_taken_of_a_replica_that_was_down(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.snapshots.snapshot.ERASURE_SECONDS", 0.0)
    await publish(log, "s", [GONE])
    await rebuild(log, tmp_path, ENCODING)
    await erased_session(log)
    await age(log)
    with pytest.raises(Conflict, match="has not folded the erasure"):
        await take(log, tmp_path)


async def test_a_read_model_of_an_erased_tenant_puts_nothing_in_force_again(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, TENANT_SESSION, [ContextPolicy(name="of the erased tenant")])
    await rebuild(log, tmp_path, ENCODING)
    await erase(log, await plan(log, "t", None))
    await age(log)
    assert await renew(log, tmp_path) == []


async def test_a_replica_that_has_folded_the_erasure_goes_on(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", [GONE, *turns(2)])
    await erased_session(log)
    await rebuild(log, tmp_path, ENCODING)
    await age(log)
    file = Generations(tmp_path).current()
    assert file is not None
    writer = await reopen(log, Generations(tmp_path), file, ENCODING)
    await writer.close()
    model = ReadModel.open(file)
    assert model.view("t", "s").item_count() == 0
    model.close()


async def test_a_replica_that_has_folded_the_erasure_goes_on_where_its_tombstone_is_renewed(
    log: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(log, "s", [GONE, *turns(2)])
    await erased_session(log)
    await rebuild(log, tmp_path, ENCODING)
    await publish(log, "s2", turns(2))
    await set_limit(log, 86_400)
    monkeypatch.setattr(own_events, "RENEWED_SHARE", -1.0)
    [renewed] = await renew(log, tmp_path)
    assert renewed.kind == "erased"
    await call(log, f"STREAM.PURGE.{STREAM}", {"seq": await last_sequence(log) - 1})
    assert (await state(log)).first < await last_sequence(log)
    file = Generations(tmp_path).current()
    assert file is not None
    writer = await reopen(log, Generations(tmp_path), file, ENCODING)
    await writer.close()


async def test_of_two_erasures_at_once_the_later_one_is_marked(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await publish_tombstone(log, "a")
    written = erasure_mark.add_metadata

    async def other_first(log: Connection, stream: str, metadata: dict[str, str]) -> None:
        monkeypatch.setattr(erasure_mark, "add_metadata", written)
        await publish_tombstone(log, "b")
        await mark_erasures(log)
        await written(log, stream, metadata)

    monkeypatch.setattr(erasure_mark, "add_metadata", other_first)
    await mark_erasures(log)
    assert (await state(log)).metadata["weft.last_erasure"] == str(first + 1)


async def test_an_erasure_that_was_killed_before_its_mark_is_marked_where_weft_runs(
    log: Connection, tmp_path: Path
) -> None:
    tombstone = await publish_tombstone(log, "s")
    assert "weft.last_erasure" not in (await state(log)).metadata
    await renew(log, tmp_path)
    assert (await state(log)).metadata["weft.last_erasure"] == str(tombstone)


async def publish_tombstone(log: Connection, session: str) -> int:
    await publish(log, TENANT_SESSION, [ErasedEvent(session)])
    return await last_sequence(log)


async def test_a_replica_that_was_not_there_at_the_erasure_starts_on_what_is_left(
    log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", [GONE])
    await erased_session(log)
    await age(log)
    assert await items_of_new_replica(log, tmp_path / "b") == 0


async def test_a_log_from_before_erasures_is_told_which_to_make_again(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    await publish(log, "s", [GONE])
    kept = await backup(log)
    await publish(log, "s2", [GONE])
    await erased_session(log)
    await erased_scope(log)
    await rebuild(log, tmp_path, ENCODING)
    await restore(log, kept)
    again = "`weft erase --scope NAME --tenant t`, `weft erase --session s --tenant t`"
    [lacking] = await folded_checks(log, Settings(data_dir=tmp_path))
    assert again in lacking.do
    async with indexer(server.url, tmp_path), asyncio.timeout(PATIENCE):
        while Generations(tmp_path).earlier() is None:
            await asyncio.sleep(0.05)
    [earlier] = await folded_checks(log, Settings(data_dir=tmp_path))
    assert earlier.name == "earlier log"
    assert again in earlier.do
    await erased_session(log)
    [earlier] = await folded_checks(log, Settings(data_dir=tmp_path))
    assert "--session s " not in earlier.do
