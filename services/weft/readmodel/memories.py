"""Facts and episodes: of one scope and name the value with the newest source is in force.

Nothing is overwritten. A row says from when until when a value was in force. If the newest value is
withdrawn, the one before it gets a second row from then on.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from weft.readmodel.sql import statements
from weft.readmodel.store import OPEN

_sql = statements("memories")


class Memory(msgspec.Struct, frozen=True):
    """One value as learned."""

    type: str
    """`fact` or `episode`."""
    tenant: str
    scope: str
    name: str
    """A fact's key, an episode's id."""
    source: int
    """Log sequence that decides which is newer."""
    version: int
    """Log sequence of the event."""
    session: int
    tokens: int
    body: bytes
    """The fact or episode event's part, encoded."""


def remember(db: sqlite3.Connection, new: Memory) -> None:
    """Put a value in force, unless one with a newer source is in force."""
    key = (new.tenant, new.type, new.scope, new.name)
    current = db.execute(_sql.in_force, (*key, OPEN)).fetchone()
    until = OPEN
    if current is not None:
        number, source, version = current
        if (source, version) > (new.source, new.version):
            until = new.version
        else:
            db.execute(_sql.end, (new.version, number))
    row = (new.type, new.tenant, new.scope, new.name, new.source, new.version, new.version, until)
    db.execute(_sql.add, (*row, new.session, new.tokens, new.body))


def withdraw(db: sqlite3.Connection, version: int, at: int) -> None:
    """Withdraw from `at` on what the event `version` stated."""
    for number, *key, until in db.execute(_sql.of_version, (version,)).fetchall():
        db.execute(_sql.withdraw, (at, at, number))
        if until == OPEN:
            _elect(db, key, at)


def forget_session(db: sqlite3.Connection, session: int, at: int) -> None:
    """Delete the memories of a session; in shared scopes the values before them are in force
    again."""
    forget_rows(db, db.execute(_sql.of_session, (session,)).fetchall(), at)


def forget_rows(db: sqlite3.Connection, rows: list[tuple[Any, ...]], at: int) -> None:
    """Delete these (number, type, tenant, scope, name, until); the values before them are in force
    again."""
    for number, *_ in rows:
        db.execute(_sql.forget, (number,))
    for _, *key, until in rows:
        if until == OPEN:
            _elect(db, key, at)


def _elect(db: sqlite3.Connection, key: list[str], at: int) -> None:
    kind, tenant, scope, name = key
    best = db.execute(_sql.best_left, (tenant, kind, scope, name)).fetchone()
    if best is not None:
        db.execute(_sql.again, (at, OPEN, best[0]))
