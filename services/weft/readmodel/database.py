"""Access to a SQLite file from coroutines: aiosqlite's thread runs one request after the other, so
that the event loop never waits for SQLite.

aiosqlite itself makes a hop to its thread and back for every statement, some 30 to 100 µs. What
belongs together (the rows of a batch and their checkpoint, all that one answer reads) is one hop
here. A compile's own reads are some thirteen statements of 5 µs each, between which it computes:
they stay in the loop (`weft.runtime.replica`), where they measure five times faster.
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
"""Rows that a cursor of aiosqlite fetches in a hop; nothing here iterates over one."""


class Database(aiosqlite.Connection):
    """`async with Database(connect) as db:`; `connect` is called in aiosqlite's thread. What it
    raises is raised by the `async with`."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connect, _ROWS)
        self._stopped: asyncio.Future[object] | None = None

    @classmethod
    def reading(cls, path: Path) -> Self:
        """A read model's file, read-only. Raises `Corrupt` where there is none of this schema."""
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
        """`work`, with as many statements as it has, in one hop. Raises what it raises."""
        done: T = await self._execute(work, self._conn)  # type: ignore[no-untyped-call]
        return done
