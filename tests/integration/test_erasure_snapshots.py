"""Erasure in snapshots: nothing that was erased is left in one, or comes back from one."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from tests.integration.indexer_process import folded, indexer, publish
from tests.integration.snapshotted import (
    ENCODING,
    acknowledge_all,
    snapshot_of,
    turns,
)
from tests.integration.test_erasure import files_with

from weft.erasure import session as session_erasure
from weft.erasure.history import Target
from weft.erasure.records import erase_named
from weft.erasure.session import erase, plan
from weft.erasure.tombstones import tombstones
from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.topology import SNAPSHOTS_STREAM
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.store import get_meta
from weft.snapshots import snapshot
from weft.snapshots.snapshot import Bucket, take
from weft.snapshots.trimming import trim
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Conflict, NotFound
from weft_schemas.events import ErasedEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind


def files_with_canary(folder: Path) -> list[str]:
    return files_with(folder, "zanzibarcanary")


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


async def test_a_session_that_neither_log_nor_snapshot_has_is_not_erased(
    log: Connection, folder: Path
) -> None:
    """Else a misspelt name was reported as erased, and could never be used again."""
    await publish(log, "only-in-snapshot", turns(3))
    await publish(log, "s", turns(3))
    await acknowledge_all(log)
    made = await snapshot_of(log, folder)
    await trim(log, 5, ENCODING)
    assert (await plan(log, "t", "only-in-snapshot")).events == 0
    for tenant, session in (("t", "typo"), ("nobody", None)):
        with pytest.raises(NotFound, match="has no events; is it spelt right"):
            await plan(log, tenant, session)
    async with Bucket(log) as bucket:
        await bucket.delete(made)
    assert await plan(log, "t", "typo")  # who knows


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


async def test_a_log_without_a_stream_of_snapshots_can_be_erased_from(log: Connection) -> None:
    """As one that an earlier release made."""
    await publish(log, "s", turns(3))
    await call(log, f"STREAM.DELETE.{SNAPSHOTS_STREAM}")
    assert (await erase(log, await plan(log, "t", "s"))).removed["events"] == 3
