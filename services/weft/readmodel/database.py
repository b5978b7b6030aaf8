"""Access to a SQLite file from coroutines, in aiosqlite's thread: the event loop never waits for
SQLite. Statements that belong together are one switch to the thread and back. A compile's reads
stay in the loop (`runtime/replica.py`), where they are five times as fast:
docs/decisions/read-model.md."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

import aiosqlite

from weft.readmodel.store import open_reader

T = TypeVar("T")


class Database(aiosqlite.Connection):
    """`async with Database(connect) as db:`, which raises the errors of `connect` in its thread."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connect, 64)  # rows at a time of a cursor, which nothing uses
        self._stopped: asyncio.Future[object] | None = None

    @classmethod
    def reading(cls, path: Path) -> Self:
        """A read model's file, read-only. Raises `Corrupt` as `open_reader` does."""
        return cls(lambda: open_reader(path))

    async def __aenter__(self) -> Self:
        try:
            await self
        except BaseException:
            if self._stopped is not None:  # its thread reports its end to this loop
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
