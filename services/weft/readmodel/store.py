"""A read model's SQLite file: its connections, one writer's and any number of readers', and the
statements, which are in .sql files beside the code that runs them.

Only the writer writes and checkpoints: SQLite 3.40 can reset the write-ahead log wrongly when
several connections checkpoint (fixed in 3.51.3).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from weft.terms import analyse
from weft_schemas.errors import Corrupt
from weft_schemas.ids import digest

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements(file: str) -> SimpleNamespace:
    """The statements of `<file>.sql`, one attribute for each `-- name:` line in it."""
    parts = _NAME.split(text(file))[1:]
    named = zip(parts[::2], parts[1::2], strict=True)
    return SimpleNamespace(**{name: sql.strip() for name, sql in named})


def run_each(db: sqlite3.Connection, script: str, values: tuple[object, ...] = ()) -> None:
    """Run statements, each of which ends its line with a semicolon, with the same values."""
    for statement in script.split(";\n"):
        db.execute(statement, values)


def insert(db: sqlite3.Connection, table: str, *row: object, conflict: str = "ABORT") -> int:
    """Add a row: a value for each column of the table, in the schema's order. Returns how many were
    added: 0 if the key is taken and `conflict` is IGNORE."""
    return db.execute(_insertion(table, len(row), conflict), row).rowcount


@cache
def _insertion(table: str, columns: int, conflict: str) -> str:
    return f"INSERT OR {conflict} INTO {table} VALUES ({', '.join('?' * columns)})"


def text(file: str) -> str:
    """The whole of `<file>.sql`."""
    return (_FOLDER / f"{file}.sql").read_text(encoding="utf-8")


OPEN = (1 << 62) - 1
"""`until` of rows in force: later than any sequence."""
_MOST = 1 << 53
"""Largest whole number that every JSON reader keeps exact."""

FOLD_VERSION = 29
"""Raise it if the fold makes other rows of the same log: old files are then rebuilt."""

_SAMPLE = "The quick brown foxes jumped over 13 lazy-dogs: naïve café, user_id=42 and Über-Größe."
WAL_BYTES = 16 * 1024 * 1024
"""Size of the write-ahead log above which the writer writes it back, as far as readers allow."""
LONG_WAL_BYTES = 64 * 1024 * 1024
"""Size above which the writer waits for readers. SQLite itself restarts the log only when there is
no reader, and a busy replica always has one."""
WAIT_MS = 250
"""How long it waits for them; a compile reads for some 10 ms."""
BUSY_MS = 5_000
"""How long everything else waits."""
MEMORY = ":memory:"
_CACHE_KIB = 2_048
"""Page cache of a reader: what a compile reads. The writer has thirty-two times as much."""


def schema_version() -> str:
    """Changes with the tables, the fold and the analysis of text into terms."""
    terms = sorted(analyse(_SAMPLE).items())
    return digest(FOLD_VERSION, text("schema"), repr(terms))[:16]


SQLITE_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""Errors of a damaged file: a message of SQLite's may quote bytes of it that are not text."""


def open_writer(path: Path | str) -> sqlite3.Connection:
    """The one writing connection of a file, or of `MEMORY`; creates missing tables."""
    db = _connect(path)
    for pragma in (
        "journal_mode = wal",
        # A power cut may lose the newest commits, which are folded again from the log.
        "synchronous = normal",
        "secure_delete = on",
        "temp_store = memory",
        f"cache_size = -{32 * _CACHE_KIB}",
        "wal_autocheckpoint = 4000",
    ):
        db.execute(f"PRAGMA {pragma}")
    if path == MEMORY:  # a copy takes a fifth of the time that the schema does
        _empty(schema_version()).backup(db)
    elif db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        named = f"INSERT INTO meta VALUES ('schema_version', '{schema_version()}')"
        db.executescript(f"BEGIN IMMEDIATE; {text('schema')}; {named}; COMMIT")
    return db


@cache
def _empty(version: str) -> sqlite3.Connection:
    """A nameless read model that stays empty: those in memory are made as its copies."""
    return open_writer("")


def open_reader(path: Path | str) -> sqlite3.Connection:
    """A read-only connection. Raises `Corrupt` if there is no read model of this schema."""
    name, uri = Path(path).name, f"{Path(path).absolute().as_uri()}?mode=ro"
    with ExitStack() as unless_sound:
        try:
            db = _connect(uri)
            unless_sound.callback(db.close)
            db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            found = get_meta(db, "schema_version")
        except SQLITE_FAULTS as error:
            raise Corrupt(f"read model {name}: {error}; rebuild it") from None
        if found != schema_version():
            raise Corrupt(f"read model {name} has another schema; rebuild it")
        unless_sound.pop_all()
    return db


def _connect(place: Path | str) -> sqlite3.Connection:
    """Without implicit transactions."""
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
    """A value such as `checkpoint`, `encoding`, `schema_version` or `identity`."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def set_meta(db: sqlite3.Connection, name: str, value: str | int) -> None:
    insert(db, "meta", name, value, conflict="REPLACE")


def bounded(number: int) -> int:
    """An untrusted count, limited to what SQLite can store."""
    return max(0, min(number, _MOST))


def check_structure(db: sqlite3.Connection, name: str) -> None:
    """Raises `Corrupt` if SQLite finds damage: for files without checksums, seconds a gigabyte."""
    try:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except SQLITE_FAULTS as error:
        found = str(error)
    if found != "ok":
        raise Corrupt(f"{name}: {found}; it is made anew")


def vacuum(db: sqlite3.Connection) -> None:
    """Leave no byte of deleted rows in the file, once its write-ahead log is written back:
    `secure_delete` zeroes freed cells, but cells that moved between pages can leave copies."""
    db.execute("VACUUM")
