"""Facts and episodes: for each scope and name, the value with the newest source is in force.

Nothing is overwritten. A row says from when until when a value was in force. If the newest value is
withdrawn, the previous one gets a second row from then on. What a user's turn taught never replaces
what anything else did: it is in force beside that.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from weft.readmodel.store import OPEN, insert, statements

_sql = statements("memory_fold")

FACT, USER_FACT, EPISODE = "fact", "user_fact", "episode"
"""Types of rows. `user_fact` is a fact that a user's turn taught, `fact` any other one."""

Key = tuple[str, str, str, str]
"""Tenant, type, scope, and name: a fact's key or an episode's id."""


def remember(
    db: sqlite3.Connection, key: Key, source: int, version: int, values: tuple[int, int, bytes]
) -> None:
    """Put a value in force, unless one with a newer `source` is. `version` is the event's own
    sequence; `values` are the session, the tokens and the encoded fact or episode."""
    current = db.execute(_sql.in_force, (*key, OPEN)).fetchone()
    until = OPEN
    if current is not None:
        number, *newest = current
        if newest > [source, version]:
            until = version
        else:
            db.execute(_sql.end, (version, number))
    tenant, kind, *name = key
    row = (kind, tenant, *name, source, version, version, until, None, *values)
    insert(db, "memories", None, *row)


def withdraw(db: sqlite3.Connection, version: int, at: int) -> None:
    """Withdraw the values of the event `version`, from `at` on."""
    for number, *key, until in db.execute(_sql.of_version, (version,)).fetchall():
        db.execute(_sql.withdraw, (at, at, number))
        if until == OPEN:
            _elect(db, key, at)


def forget(db: sqlite3.Connection, rows: list[tuple[Any, ...]], at: int) -> None:
    """Delete the rows `(number, *key, until)`; the previous values are in force again."""
    for number, *_ in rows:
        db.execute(_sql.forget, (number,))
    for _, *key, until in rows:
        if until == OPEN:
            _elect(db, key, at)


def _elect(db: sqlite3.Connection, key: list[str], at: int) -> None:
    if best := db.execute(_sql.best_left, key).fetchone():
        db.execute(_sql.in_force_again, (at, OPEN, best[0]))
