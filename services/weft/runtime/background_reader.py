"""Reads of the current generation that need not be fast: status, listings, what starts a replica.
They wait for SQLite in aiosqlite's thread, and the event loop goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from weft.readmodel.database import Database
from weft.readmodel.generations import Reader
from weft.readmodel.model import ReadModel
from weft.readmodel.store import snapshot
from weft_schemas.errors import WeftError

T = TypeVar("T")


class BackgroundReader:
    """One task at a time uses it. `doubt` looks for damage where a read failed for no reason of its
    own."""

    def __init__(self, data_dir: Path, doubt: Callable[[Reader], None]) -> None:
        self._reader = Reader(data_dir)
        self._doubt = doubt
        self._database: Database | None = None
        self._model: ReadModel

    async def read(self, work: Callable[[ReadModel], T]) -> T:
        """`work` over one consistent state. Raises `Unavailable` where there is no read model."""
        if self._database is None or not self._reader.is_there():
            await self.leave()
            self._database = await Database(self._connect).__aenter__()
        return await self._database.run(lambda _: self._read(work))

    async def leave_if_replaced(self) -> None:
        """Leave a generation that is no longer the current one, so that its file can go."""
        if self._database is not None and not self._reader.is_there():
            await self.leave()

    async def leave(self) -> None:
        """Leave the generation."""
        database, self._database = self._database, None
        if database is not None:
            await database.close()
        self._reader.close()

    def _connect(self) -> sqlite3.Connection:
        self._model = self._reader.model()
        return self._model.db

    def _read(self, work: Callable[[ReadModel], T]) -> T:
        try:
            self._reader.look()
            with snapshot(self._model.db):
                done = work(self._model)
            self._reader.look()
            return done
        except WeftError:
            raise
        except Exception:
            self._doubt(self._reader)
            raise
