"""Reads of the current generation that may be slow: status, listings, the start of a replica. They
run in aiosqlite's thread, so that the event loop does not wait for SQLite."""

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
    """For one task at a time. `doubt` checks the file for damage after a read failed
    unexpectedly."""

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
        """Close a generation that is no longer the current one, so that its file can be removed."""
        if self._database is not None and not self._reader.is_there():
            await self.leave()

    async def leave(self) -> None:
        """Close the generation."""
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
