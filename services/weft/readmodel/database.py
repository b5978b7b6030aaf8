"""Access to a SQLite file from coroutines, in aiosqlite's thread: the event loop never waits for
SQLite.

aiosqlite switches to its thread and back for every statement, which takes 30 to 100 µs. Here
statements that belong together are one switch: a batch's rows and checkpoint, or all reads of one
answer. A compile's reads, some thirteen statements of 5 µs each with work in between, stay in the
loop (`weft.runtime.replica`), where they are five times as fast.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

import aiosqlite

from weft.readmodel.store import open_reader

T = TypeVar("T")

_ROWS = 64
"""Rows that a cursor of aiosqlite fetches at a time; nothing here iterates over one."""


class Database(aiosqlite.Connection):
    """`async with Database(connect) as db:`; `connect` is called in aiosqlite's thread, and the
    `async with` raises its errors."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connect, _ROWS)
        self._stopped: asyncio.Future[object] | None = None

    @classmethod
    def reading(cls, path: Path) -> Self:
        """A read model's file, read-only. Raises `Corrupt` as `open_reader` does."""
        return cls(lambda: open_reader(path))

    async def __aenter__(self) -> Self:
        try:
            await self
        except BaseException:
            if self._stopped is not None:  # its thread tells this loop that it ended
                await self._stopped
            raise
        return self

    def stop(self) -> asyncio.Future[object] | None:
        """End the thread; the future is done when it has ended."""
        self._stopped = super().stop()
        return self._stopped

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """All of `work` in the thread. Raises what it raises."""
        done: T = await self._execute(work, self._conn)  # type: ignore[no-untyped-call]
        return done
