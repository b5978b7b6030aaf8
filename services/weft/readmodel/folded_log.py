"""How far a read model's file has folded, and of which log. A file of any release can be asked."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from weft.log.connection import Connection
from weft.log.stream_identity import StreamIdentity, check
from weft.readmodel.database import Database
from weft.readmodel.store import SQLITE_FAULTS, get_meta
from weft_schemas.errors import Corrupt

_NO_LOG = StreamIdentity("")


class FoldedLog(msgspec.Struct, frozen=True):
    """The log that a read model's file has folded, and how far."""

    path: Path
    sequence: int
    """Of the newest folded event, 0 for none."""
    identity: StreamIdentity = _NO_LOG


async def folded_log_of(path: Path) -> FoldedLog:
    """Raises `Corrupt` if the file is damaged or may not be read."""
    try:
        async with Database(lambda: as_it_is(path)) as db:
            return await db.run(lambda read: _folded_log(path, read))
    except (msgspec.ValidationError, msgspec.DecodeError, ValueError, *SQLITE_FAULTS) as error:
        raise Corrupt(f"{path} cannot be read: {error}") from None


async def not_held(connection: Connection, folded: FoldedLog) -> str:
    """Why the log is not the one that was folded, or holds less than that; empty if it holds all.
    Raises `NotFound` if there is no log."""
    if not folded.sequence:
        return ""
    try:
        await check(connection, folded.identity, folded.sequence)
    except Corrupt as error:
        return str(error)
    return ""


def as_it_is(path: Path) -> sqlite3.Connection:
    """A file of any schema, read-only."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _folded_log(path: Path, db: sqlite3.Connection) -> FoldedLog:
    if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return FoldedLog(path, 0)  # its writer was killed before it made a table
    known = get_meta(db, "identity")
    identity = msgspec.json.decode(str(known), type=StreamIdentity) if known else _NO_LOG
    return FoldedLog(path, int(get_meta(db, "checkpoint") or 0), identity)
