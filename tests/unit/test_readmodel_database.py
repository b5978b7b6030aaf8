"""SQLite over aiosqlite: what belongs together is one hop, in a thread of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from weft.readmodel.database import Database
from weft.readmodel.store import open_writer
from weft_schemas.errors import Corrupt


def writing(path: Path) -> Database:
    return Database(lambda: open_writer(path))


async def test_all_statements_of_a_piece_of_work_run_in_one_other_thread(tmp_path: Path) -> None:
    threads = []

    def work(db: sqlite3.Connection) -> int:
        threads.append(threading.current_thread())
        db.execute("CREATE TABLE numbers (n)")
        db.executemany("INSERT INTO numbers VALUES (?)", [(n,) for n in range(9)])
        return int(db.execute("SELECT sum(n) FROM numbers").fetchone()[0])

    async with writing(tmp_path / "a.sqlite") as db:
        assert await db.run(work) == 36
        [(count,)] = await db.execute_fetchall("SELECT count(*) FROM numbers")
        await db.run(lambda _: threads.append(threading.current_thread()))
    assert count == 9
    assert threads[0] is threads[1] is not threading.main_thread()
    threads[0].join(10)
    assert not threads[0].is_alive()


async def test_the_event_loop_goes_on_meanwhile(tmp_path: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def work(db: sqlite3.Connection) -> bool:
        begun.set()
        return may_end.wait(10)

    async with writing(tmp_path / "a.sqlite") as db:
        waiting = asyncio.create_task(db.run(work))
        await asyncio.to_thread(begun.wait)
        may_end.set()
        assert await waiting


async def test_what_fails_is_raised_and_the_next_work_is_done(tmp_path: Path) -> None:
    async with writing(tmp_path / "a.sqlite") as db:
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            await db.run(lambda one: one.execute("SELECT * FROM nowhere"))
        assert await db.run(lambda one: one.execute("SELECT 1").fetchone()) == (1,)


async def test_a_file_that_is_no_read_model_is_refused_and_leaves_no_thread(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"no database at all" * 100)
    before = set(threading.enumerate())
    with pytest.raises(Corrupt, match="rebuild it"):
        async with Database.reading(path):
            pass
    await _until_no_thread_but(before)


def test_a_loop_may_end_right_after_a_file_was_refused(tmp_path: Path) -> None:
    async def refused() -> None:
        with pytest.raises(sqlite3.OperationalError):
            await Database(failing).__aenter__()

    def failing() -> sqlite3.Connection:
        return sqlite3.connect(tmp_path / "no folder" / "a.sqlite")

    before = set(threading.enumerate())
    for _ in range(50):  # a thread that tells a closed loop fails, and the test with it
        asyncio.run(refused())
    asyncio.run(_until_no_thread_but(before))


async def _until_no_thread_but(known: set[threading.Thread]) -> None:
    """A thread of a test before this one may end meanwhile."""
    for _ in range(200):
        if set(threading.enumerate()) <= known:
            return
        await asyncio.sleep(0.01)
    assert set(threading.enumerate()) <= known
