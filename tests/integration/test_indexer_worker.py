"""The indexer as a process: it folds the log, survives kills, and notices another log."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path

import pytest
from tests.integration.indexer_process import PATIENCE, folded, indexer, publish
from tests.integration.processes import started
from tests.integration.snapshotted import made_anew

from weft.erasure.session import until_scrubbed
from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft.log.replicas import replicas
from weft.log.topology import provision
from weft.log.transport import connect
from weft.readmodel.digest import content_digest
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel
from weft.readmodel.postings import SEGMENT
from weft.readmodel.store import get_meta, open_writer, set_meta
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Unavailable
from weft_schemas.events import ErasedEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind


def turns(count: int, prefix: str = "i", text: str = "turn") -> list[ContextItem]:
    return [
        ContextItem(f"{prefix}{number}", ItemKind.USER_TURN, f"{text} {number}")
        for number in range(count)
    ]


async def undisturbed_digest(connection: Connection) -> str:
    """Of a read model that folds the log in one go."""
    records = [record async for record in read_matching(connection, ">")]
    return content_digest(ReadModel.in_memory(records).db)


async def test_what_is_published_is_soon_in_the_read_model(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    async with indexer(server.url, folder):
        with Reader(folder) as reader:
            await publish(log, "s", turns(1))
            await folded(log, reader)
            await publish(log, "s", turns(2))
            await folded(log, reader)
            assert [row.id for row in reader.model().view("t", "s").recent(5)] == ["i1", "i0"]


async def test_its_metrics_say_how_far_it_is_also_where_it_has_nothing_to_do(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    async with indexer(server.url, folder):
        with Reader(folder) as reader:
            [last] = await publish(log, "s", turns(1))
            await folded(log, reader)
    places = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(folder)}
    async with started("weft.cli.main", "work", "indexer", **places) as again:
        await again.until_ready()
        async with asyncio.timeout(PATIENCE):
            while 'weft_lag_events{process="indexer"} 0.0' not in (
                told := (await again.get("/metrics"))[1]
            ):
                await asyncio.sleep(0.1)
    assert f'weft_watermark_sequence{{process="indexer"}} {last:.1f}' in told


async def test_what_the_text_index_has_unsealed_is_sealed_soon(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    async with indexer(server.url, folder):
        with Reader(folder) as reader:
            await publish(log, "s", turns(SEGMENT + 20))
            await folded(log, reader)
            async with asyncio.timeout(PATIENCE):
                while count(reader, "unsealed_documents") >= SEGMENT:
                    await asyncio.sleep(0.05)
            assert count(reader, "postings") > 0
            assert len(reader.model().view("t", "s").search(["turn"], 500)) == SEGMENT + 20


def count(reader: Reader, table: str) -> int:
    found: int = reader.model().db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return found


async def test_it_stops_cleanly_on_sigterm(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    async with indexer(server.url, folder) as process:
        with Reader(folder) as reader:
            await publish(log, "s", turns(1))
            await folded(log, reader)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


@pytest.mark.parametrize("step", ["work", "commit"])
async def test_a_crash_before_or_after_its_commit_loses_and_doubles_nothing(
    server: EmbeddedServer, log: Connection, folder: Path, step: str
) -> None:
    """At its second batch; tests/crash has it die at every step."""
    await publish(log, "s", turns(20))
    async with indexer(server.url, folder, WEFT_CRASH_AT=f"indexer.after_{step}:2") as process:
        with Reader(folder) as reader:
            # On a busy machine the first items may come in two batches, and it dies at once.
            waits = [asyncio.create_task(done) for done in (folded(log, reader), process.wait())]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        await publish(log, "s", turns(40))
        code = await asyncio.wait_for(process.wait(), PATIENCE)
        assert code == -signal.SIGKILL
    async with indexer(server.url, folder):
        with Reader(folder) as reader:
            await folded(log, reader)
            assert reader.model().view("t", "s").item_count() == 40
            assert content_digest(reader.model().db) == await undisturbed_digest(log)


async def test_kills_in_the_middle_of_a_long_fold_leave_the_same_digest(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(3_000, text="some words to fold, number"))
    for pause in (0.6, 0.8, 1.0):
        async with indexer(server.url, folder) as process:
            await asyncio.sleep(pause)
            process.kill()
            await process.wait()
    async with indexer(server.url, folder):
        with Reader(folder) as reader:
            await folded(log, reader)
            assert content_digest(reader.model().db) == await undisturbed_digest(log)


async def test_a_second_indexer_stands_by_and_takes_over(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    with Reader(folder) as reader:
        async with indexer(server.url, folder) as first, indexer(server.url, folder) as second:
            await publish(log, "s", turns(5))
            await folded(log, reader)
            first.kill()
            await first.wait()
            await publish(log, "s", turns(10))
            await folded(log, reader)
            assert second.returncode is None
            assert reader.model().view("t", "s").item_count() == 10


async def test_a_recreated_stream_is_noticed_and_the_read_model_made_anew(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    with Reader(folder) as reader:
        async with indexer(server.url, folder):
            await publish(log, "old", turns(5))
            await folded(log, reader)
        await call(log, "STREAM.DELETE.weft")
        await provision(log)
        await publish(log, "new", turns(8, prefix="n"))
        async with indexer(server.url, folder):
            await folded(log, reader)
            assert reader.model().view("t", "new").item_count() == 8
            assert reader.model().view("t", "old").item_count() == 0
            assert await kept(folder) == ("earlier-log-through-5.sqlite", 5)
            [replica] = await replicas(log, "t")
            assert replica.earlier == "earlier-log-through-5.sqlite"
            _, left = await until_scrubbed(log, "t", 0)
            assert "remove replica/earlier-log-through-5.sqlite from its data folder" in left[0]
    assert "The replica keeps earlier-log-through-5.sqlite" in Generations(folder).last_damage()


async def kept(folder: Path) -> tuple[str, int]:
    """Name and items of the earlier log's read model, once it is set aside."""
    async with asyncio.timeout(PATIENCE):
        while (path := Generations(folder).earlier()) is None:
            await asyncio.sleep(0.05)
    model = ReadModel.open(path)
    try:
        return path.name, model.view("t", "old").item_count()
    finally:
        model.close()


async def test_what_was_folded_of_a_log_that_is_empty_now_is_kept_while_it_was_being_built(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "old", turns(5))
    async with indexer(server.url, folder):
        with Reader(folder) as reader:
            await folded(log, reader)
    files = Generations(folder)
    files.building.set(files.current() or folder)
    files.current.clear()
    await made_anew(log)
    async with indexer(server.url, folder):
        assert await kept(folder) == ("earlier-log-through-5.sqlite", 5)


async def test_a_rebuild_of_a_recreated_log_keeps_what_was_folded_of_the_old_one(
    log: Connection, folder: Path
) -> None:
    await publish(log, "old", turns(5))
    await rebuild(log, folder, "o200k_base")
    await made_anew(log)
    await publish(log, "new", turns(3))
    await rebuild(log, folder, "o200k_base")
    assert await kept(folder) == ("earlier-log-through-5.sqlite", 5)


async def test_a_log_that_lost_its_tail_is_noticed(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    with Reader(folder) as reader:
        async with indexer(server.url, folder):
            await publish(log, "s", turns(5))
            await folded(log, reader)
        db = open_writer(Generations(folder).current() or "")
        set_meta(db, "checkpoint", 900)
        set_meta(db, "identity", str(get_meta(db, "identity")).replace(":5,", ":900,"))
        db.close()
        reader.close()
        async with indexer(server.url, folder), asyncio.timeout(PATIENCE):
            while await watermark(reader) != 5:
                await asyncio.sleep(0.05)
            assert (await kept(folder))[0] == "earlier-log-through-900.sqlite"


async def watermark(reader: Reader) -> int | None:
    """None while there is nothing to read: the old file is retired, the new one not there."""
    with contextlib.suppress(Unavailable):
        return reader.model().watermark()
    return None


async def test_an_old_schema_is_rebuilt(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(5))
    with Reader(folder) as reader:
        async with indexer(server.url, folder):
            await folded(log, reader)
        old = Generations(folder).current()
        assert old is not None
        db = open_writer(old)
        set_meta(db, "schema_version", "of an earlier release")
        db.close()
        reader.close()
        async with indexer(server.url, folder):
            await folded(log, reader)
            assert reader.model().view("t", "s").item_count() == 5
            assert Generations(folder).current() != old
    assert Generations(folder).earlier() is None


async def test_a_damaged_file_is_rebuilt(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(5))
    with Reader(folder) as reader:
        async with indexer(server.url, folder):
            await folded(log, reader)
        reader.close()
        damaged = Generations(folder).current()
        assert damaged is not None
        damaged.write_bytes(b"no database at all" * 1_000)
        async with indexer(server.url, folder):
            await folded(log, reader)
            assert reader.model().view("t", "s").item_count() == 5


async def test_a_rebuild_beside_the_live_one_is_swapped_in_with_an_equal_digest(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(700))
    with Reader(folder) as reader:
        async with indexer(server.url, folder):
            await folded(log, reader)
            before = Generations(folder).current()
            building = asyncio.create_task(rebuild(log, folder, "o200k_base"))
            await publish(log, "s", turns(900))
            rebuilt = await asyncio.wait_for(building, PATIENCE)
            assert rebuilt.equal
            assert rebuilt.replaced
            await folded(log, reader)
            assert Generations(folder).current() == rebuilt.path != before
            assert reader.model().view("t", "s").item_count() == 900
            async with asyncio.timeout(PATIENCE):
                while before is not None and before.exists():
                    await asyncio.sleep(0.05)


async def test_a_rebuild_works_without_an_indexer(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(50))
    rebuilt = await asyncio.wait_for(rebuild(log, folder, "o200k_base"), PATIENCE)
    assert rebuilt.equal
    with Reader(folder) as reader:
        assert reader.model().view("t", "s").item_count() == 50


async def test_an_erased_session_leaves_no_byte_in_the_replica(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    canary = "zanzibarcanary"
    with Reader(folder) as reader:
        async with indexer(server.url, folder):
            await publish(log, "gone", turns(300, text=canary))
            await publish(log, "kept", turns(300, prefix="k"))
            await folded(log, reader)
            tombstone = (await publish(log, TENANT_SESSION, [ErasedEvent("gone")]))[0]
            async with asyncio.timeout(PATIENCE):
                while int(get_meta(reader.model().db, "scrubbed") or 0) < tombstone:
                    await asyncio.sleep(0.05)
            assert not [path for path in files(folder) if canary.encode() in path.read_bytes()]
            assert reader.model().view("t", "kept").item_count() == 300


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_an_idle_session_is_closed_by_an_event_once(
    server: EmbeddedServer, log: Connection, folder: Path
) -> None:
    await publish(log, "s", turns(3))
    async with indexer(server.url, folder, WEFT_IDLE_CLOSE_SECONDS="0.5"):
        async with asyncio.timeout(PATIENCE):
            while not (found := [r async for r in read_matching(log, "w.*.*.t.s.session_closed")]):
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.5)
        closings = [r async for r in read_matching(log, "w.*.*.t.s.session_closed")]
    assert [record.sequence for record in closings] == [record.sequence for record in found]
    assert closings[0].event().reason == "idle"


async def test_it_recovers_when_the_server_comes_back(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path / "nats") as own:
        connection = await connect(own.url)
        await provision(connection)
        with Reader(tmp_path) as reader:
            async with indexer(own.url, tmp_path):
                await publish(connection, "s", turns(3))
                await folded(connection, reader)
                await own.kill()
                await own.restart()
                await publish(connection, "s", turns(6))
                await folded(connection, reader)
                assert reader.model().view("t", "s").item_count() == 6
        await connection.close()
