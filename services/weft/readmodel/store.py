"""Connections to a read model's SQLite file: one writer, any number of readers.

Only the writer writes and checkpoints: SQLite 3.40 can reset the write-ahead log wrongly when
several connections checkpoint (fixed in 3.51.3).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from weft.readmodel.sql import text
from weft.terms import analyse
from weft_schemas.errors import Corrupt
from weft_schemas.ids import digest

OPEN = (1 << 62) - 1
"""`until` of what still holds: later than any sequence."""
_MOST = 1 << 53
"""Largest whole number that every JSON reader keeps exact."""

FOLD_VERSION = 6
"""Raise when the fold would make other rows of the same log; old files then rebuild themselves."""

_SAMPLE = "The quick brown foxes jumped over 13 lazy-dogs: naïve café, user_id=42 and Über-Größe."
WAL_BYTES = 16 * 1024 * 1024
"""Size of the write-ahead log above which the writer makes a checkpoint, as far as readers
allow."""
LONG_WAL_BYTES = 64 * 1024 * 1024
"""Of the write-ahead log, above which the writer waits for readers to write it back. By itself
SQLite starts it over only at a moment without a reader, and a busy replica has none."""
WAIT_MS = 250
"""For the readers of that moment; a compile reads for some 10."""
BUSY_MS = 5_000
"""For everything else."""
_CACHE_KIB = 2_048
"""Page cache of a reader; what a compile touches fits, and a commit of the writer clears it anyway.
The writer has thirty-two times as much."""


def schema_version() -> str:
    """Changes when the tables, the fold or the analysis of text into terms do."""
    terms = sorted(analyse(_SAMPLE).items())
    return digest(FOLD_VERSION, text("schema"), repr(terms))[:16]


def open_writer(path: Path | str) -> sqlite3.Connection:
    """The one writing connection of a file, or of ':memory:'; makes the tables where absent."""
    db = _connect(path)
    for pragma in (
        "journal_mode = wal",
        # A power cut may lose the newest commits, never consistency: the log has them all.
        "synchronous = normal",
        "secure_delete = on",
        "temp_store = memory",
        f"cache_size = -{32 * _CACHE_KIB}",
        "wal_autocheckpoint = 4000",
    ):
        db.execute(f"PRAGMA {pragma}")
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        named = f"INSERT INTO meta VALUES ('schema_version', '{schema_version()}')"
        db.executescript(f"BEGIN IMMEDIATE; {text('schema')}; {named}; COMMIT")
    return db


def open_reader(path: Path | str) -> sqlite3.Connection:
    """A read-only connection. Raises `Corrupt` where there is no read model of this schema."""
    name, uri = Path(path).name, f"{Path(path).absolute().as_uri()}?mode=ro"
    with ExitStack() as unless_sound:
        try:
            db = _connect(uri)
            unless_sound.callback(db.close)
            db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            found = get_meta(db, "schema_version")
        except sqlite3.Error as error:
            raise Corrupt(f"read model {name}: {error}; rebuild it") from None
        if found != schema_version():
            raise Corrupt(f"read model {name} has another schema; rebuild it")
        unless_sound.pop_all()
    return db


def _connect(place: Path | str) -> sqlite3.Connection:
    """A path or URI, without transactions of the driver's own."""
    return sqlite3.connect(
        place, uri=True, isolation_level=None, check_same_thread=False, cached_statements=256
    )


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit all of the block, or nothing of it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Let all reads of the block see the same commit."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def get_meta(db: sqlite3.Connection, name: str) -> str | int | None:
    """A value beside the rows: `checkpoint`, `encoding`, `schema_version`, `identity`."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def set_meta(db: sqlite3.Connection, name: str, value: str | int) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def bounded(number: int) -> int:
    """A count from outside, limited to what SQLite can hold."""
    return max(0, min(number, _MOST))


def check_structure(db: sqlite3.Connection, name: str) -> None:
    """Raises `Corrupt` where SQLite finds its file damaged: what a file without checksums of its
    pages can be asked, several seconds for a gigabyte."""
    try:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        raise Corrupt(f"{name}: {found}; it is made anew")


def vacuum(db: sqlite3.Connection) -> None:
    """Leave no byte of deleted rows in the file, once its write-ahead log is written back.

    `secure_delete` zeroes freed cells, but moves between pages can leave copies behind, so the file
    is written anew.
    """
    db.execute("VACUUM")
