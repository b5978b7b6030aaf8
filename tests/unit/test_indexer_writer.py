"""The write-ahead log stays short though somebody always reads."""

import asyncio
import random
import shutil
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from weft.indexer.writer import Writer
from weft.log.following import Followed
from weft.log.stream_identity import StreamIdentity
from weft.readmodel import store
from weft.readmodel.model import records_of
from weft.readmodel.store import open_reader, snapshot
from weft_schemas.items import ContextItem, ItemKind

LIMIT = 2 * 1024 * 1024
BATCHES = 60
IN_EACH = 20


@pytest.fixture
def reading(tmp_path: Path):
    """Two readers of the folder's file, one of which is always inside a transaction."""
    stop = threading.Event()
    begun = threading.Semaphore(0)

    def read() -> None:
        db = open_reader(tmp_path / "a.sqlite")
        while not stop.is_set():
            with snapshot(db):
                db.execute("SELECT count(*) FROM items").fetchone()
                begun.release()
                stop.wait(0.01)
        db.close()

    threads = [threading.Thread(target=read) for _ in range(2)]

    def start() -> None:
        for thread in threads:
            thread.start()
            begun.acquire()

    yield start
    stop.set()
    for thread in threads:
        thread.join()


async def test_the_log_is_written_back_though_somebody_always_reads(
    tmp_path: Path, reading, monkeypatch
):
    monkeypatch.setattr(store, "WAL_BYTES", LIMIT // 2)
    monkeypatch.setattr(store, "LONG_WAL_BYTES", LIMIT)
    writer = await Writer.open(tmp_path / "a.sqlite", "cl100k_base")
    reading()
    sizes, chance = [], random.Random(7)
    for batch in range(BATCHES):
        first = batch * IN_EACH + 1
        items = [
            ContextItem(f"i{first + n}", ItemKind.USER_TURN, chance.randbytes(1_500).hex())
            for n in range(IN_EACH)
        ]
        records = records_of(items, "acme", "s1", first)
        through = first + IN_EACH - 1
        await writer.fold(Followed(records, through, StreamIdentity("t", through)))
        sizes.append((tmp_path / "a.sqlite-wal").stat().st_size)
        await asyncio.sleep(0.005)
    await writer.close()
    assert sum(after > before for before, after in pairwise(sizes)) > BATCHES // 4
    assert max(sizes) < 3 * LIMIT


def turn(sequence: int) -> Followed:
    items = [ContextItem(f"i{sequence}", ItemKind.USER_TURN, "Where is it?")]
    records = records_of(items, "acme", "s1", sequence)
    return Followed(records, sequence, StreamIdentity("t", sequence))


async def test_the_log_is_written_back_where_nothing_is_folded(tmp_path: Path, monkeypatch):
    """What stands in the file is checked again and again, what stands beside it is not."""
    writer = await Writer.open(tmp_path / "a.sqlite", "cl100k_base")
    await writer.fold(turn(1))
    await writer.look()
    assert (tmp_path / "a.sqlite-wal").stat().st_size
    monkeypatch.setattr("weft.indexer.writer.REST_SECONDS", 0.0)
    await writer.look()
    assert not (tmp_path / "a.sqlite-wal").stat().st_size
    await writer.look()
    await writer.close()


async def test_a_writer_that_was_killed_leaves_nothing_beside_the_file_for_long(tmp_path: Path):
    writer = await Writer.open(tmp_path / "a.sqlite", "cl100k_base")
    await writer.fold(turn(1))
    killed = tmp_path / "killed"
    shutil.copytree(tmp_path, killed)
    await writer.close()
    again = await Writer.open(killed / "a.sqlite", "cl100k_base")
    assert again.checkpoint == 1
    assert not (killed / "a.sqlite-wal").stat().st_size
    await again.close()
