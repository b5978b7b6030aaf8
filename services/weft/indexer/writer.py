"""The writing side of one generation, over aiosqlite, so that the event loop never waits for
SQLite. A batch is one hop to its thread: rows and checkpoint, in one transaction.

A file that cannot be used (another schema, other settings, damage) is `Corrupt`: everything is in
the log, so the indexer starts a new one.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from weft.indexer.thread_reader import ThreadReader
from weft.log.connection import Connection
from weft.log.following import Followed
from weft.log.stream_identity import StreamIdentity
from weft.readmodel import store
from weft.readmodel.database import Database
from weft.readmodel.digest import content_digest
from weft.readmodel.fold import Fold, Folded
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.raw_bodies import RawBodies
from weft.readmodel.status import SessionRow, quiet_sessions
from weft.readmodel.store import (
    SQLITE_FAULTS,
    check_structure,
    get_meta,
    open_writer,
    schema_version,
    set_meta,
    vacuum,
)
from weft.readmodel.tombstone_fold import newest_tombstone
from weft.runtime.logs import fields
from weft_schemas.errors import Corrupt, WeftError

_log = logging.getLogger(__name__)

T = TypeVar("T")
OnStep = Callable[[str], None]

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


LOOK_BYTES = 16 * 1024 * 1024
"""How many bytes of the file are checked at each look: 6 ms."""
REST_SECONDS = 2.0
"""After this time without a fold, the write-ahead log is written back: the file's pages are checked
repeatedly, those of the log are not."""


def _no_step(name: str) -> None:
    return None


class Writer:
    """One generation, open for writing. `await Writer.open(path, encoding)`."""

    def __init__(self, path: Path, encoding: str, connection: Connection | None) -> None:
        self.path = path
        self._encoding = encoding
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._database = Database(self._open)
        self._db: sqlite3.Connection
        """Used only in the database's thread."""
        self._fold: Fold
        self.identity: StreamIdentity | None = None
        """The log that was folded; None for an empty file."""
        self.unscrubbed = False
        """Rows were erased whose bytes may still be in the files; known across restarts."""
        self._scrubbed = 0
        self._wal = path.with_name(f"{path.name}-wal")
        self._due = store.WAL_BYTES
        """Size above which the write-ahead log is written back; higher for a while if a reader
        prevented that."""
        self._pages = PageChecksums(path)
        self._wrote = time.monotonic()
        """When something was last folded or written back."""

    @classmethod
    async def open(cls, path: Path, encoding: str, connection: Connection | None = None) -> Writer:
        """Open or create the file. The body of an item is read over `connection` if its envelope
        comes long after it, or if the body is in the object store. Raises `Corrupt` if the file
        cannot be continued."""
        writer = cls(path, encoding, connection)
        with writer._damage_as_corrupt():
            await writer._database.__aenter__()  # if it fails, its thread has ended
        return writer

    @property
    def checkpoint(self) -> int:
        """The newest folded sequence."""
        return self._fold.checkpoint

    async def fold(self, followed: Followed, step: OnStep = _no_step) -> Folded:
        """Fold the records, in one transaction."""
        identity = msgspec.json.encode(followed.identity).decode()
        folded = await self._run(lambda: self._apply(followed, identity, step))
        self.identity = followed.identity
        self.unscrubbed = self.unscrubbed or folded.erased > 0
        return folded

    async def seal(self) -> None:
        """Do the work that the last fold postponed."""
        if self._fold.is_seal_due:
            await self._run(self._fold.seal)

    async def prepare(self) -> None:
        """Do some work of the next fold ahead."""
        if self._fold.divisible():
            await self._run(self._fold.prepare)

    @property
    def scrubbed(self) -> int:
        """Erased content at or before this sequence is no longer in the files."""
        return self._scrubbed if self.unscrubbed else self.checkpoint

    async def digest(self) -> str:
        """The content digest of the read model."""
        return await self._run(lambda: content_digest(self._db))

    async def quiet(self, before_ns: int, limit: int) -> list[SessionRow]:
        """Open sessions without an item since `before_ns`."""
        return await self._run(lambda: quiet_sessions(self._db, before_ns, limit))

    async def scrub(self) -> bool:
        """Remove deleted rows from the files; False if a reader prevents that.

        Afterwards the meta row `scrubbed` says up to which sequence that is done.
        """
        through = self.checkpoint
        done = await self._run(self._scrub)
        if done:
            await self.note("scrubbed", through)
            await self._run(self._read_scrubbed)
        return done

    async def note(self, name: str, value: str | int) -> None:
        """Store a value beside the rows."""
        await self._run(lambda: set_meta(self._db, name, value))

    async def close(self) -> None:
        """Write the log back into the file and close it."""
        await self._run(self._close)
        await self._database.close()

    async def look(self) -> None:
        """Check some of the file, another part each time, and write back if nothing was folded for
        a while. Raises `Corrupt`."""
        await self._run(self._look)

    def _open(self) -> sqlite3.Connection:
        is_new = not self.path.exists()
        is_checked = self._pages.are_known()
        if is_checked:
            self._pages.recover()
            self._pages.check()
        self._db = open_writer(self.path)
        try:
            if not is_checked:
                if not is_new:
                    check_structure(self._db, self.path.name)
                self._pages.store_all()
            # The checksums of pages that are written back are stored beside the file, so it must
            # happen here and at no other time.
            self._db.execute("PRAGMA wal_autocheckpoint = 0")
            if self._wal_bytes():  # of a writer that was killed
                self._pages.write_back(self._db, 0)
        except BaseException:
            self._db.close()
            raise
        found = get_meta(self._db, "schema_version"), get_meta(self._db, "encoding")
        if found[0] != schema_version():
            self._db.close()
            raise Corrupt(f"{self.path.name} is of an earlier release: it is made anew")
        if found[1] not in (None, self._encoding):
            self._db.close()
            raise Corrupt(f"{self.path.name} counts in {found[1]}: it is made anew")
        self._fold = Fold(self._db, self._encoding, self._raw_bodies())
        self._read_scrubbed()
        identity = get_meta(self._db, "identity")
        if identity:
            self.identity = msgspec.json.decode(str(identity), type=StreamIdentity)
        return self._db

    def _raw_bodies(self) -> RawBodies:
        if self._connection is None:
            return RawBodies(lambda sequence: None)
        log = ThreadReader(self._connection, self._loop)
        return RawBodies(log.payload, log.body)

    def _apply(self, followed: Followed, identity: str, step: OnStep) -> Folded:
        folded = self._fold.apply(followed.records, followed.through, identity, step)
        self._wrote = time.monotonic()
        size = self._wal_bytes()
        if size > self._due:
            wait_ms = store.WAIT_MS if size > store.LONG_WAL_BYTES else 0
            done = self._pages.write_back(self._db, wait_ms)
            self._due = store.WAL_BYTES + (0 if done else size)
        return folded

    def _look(self) -> None:
        self._pages.check_next(LOOK_BYTES)
        if self._wal_bytes() and time.monotonic() - self._wrote > REST_SECONDS:
            self._wrote = time.monotonic()
            self._pages.write_back(self._db, 0)

    def _wal_bytes(self) -> int:
        return self._wal.stat().st_size if self._wal.exists() else 0

    def _scrub(self) -> bool:
        vacuum(self._db)
        return self._pages.write_back(self._db, store.BUSY_MS)

    def _close(self) -> None:
        try:
            self._pages.close(self._db)
        except (Corrupt, OSError) as error:
            _log.warning("the read model was left as it is", extra=fields(why=str(error)))

    def _read_scrubbed(self) -> None:
        self._scrubbed = int(get_meta(self._db, "scrubbed") or 0)
        self.unscrubbed = newest_tombstone(self._db) > self._scrubbed

    async def _run(self, work: Callable[[], T]) -> T:
        with self._damage_as_corrupt():
            try:
                return await self._database.run(lambda _: work())
            except WeftError:
                raise
            except Exception:  # a damaged row may cause any error, in a decoder or in the fold
                if self._pages.are_known():
                    await self._database.run(lambda _: self._pages.check())
                raise

    @contextmanager
    def _damage_as_corrupt(self) -> Iterator[None]:
        """Raise `Corrupt` if SQLite finds the file damaged."""
        try:
            yield
        except SQLITE_FAULTS as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if isinstance(error, UnicodeDecodeError) or code in _DAMAGED:
                raise Corrupt(f"{self.path.name}: {error}; it is made anew") from None
            raise
