"""Deleting what a tombstone names: a session's rows, or all of a tenant's."""

from __future__ import annotations

import sqlite3

from weft.readmodel.memories import forget_session
from weft.readmodel.sql import statements, text

_sql = statements("erasure")


def erase_session(db: sqlite3.Connection, tenant: str, session: str, at: int) -> int | None:
    """Delete a session's rows. Returns its number, None if it was unknown."""
    db.execute(_sql.faults_of_session, (tenant, session))
    db.execute(_sql.policies_of_session, (tenant, session))
    row = db.execute(_sql.session, (tenant, session)).fetchone()
    if row is None:
        return None
    number: int = row[0]
    forget_session(db, number, at)
    _run(db, "erase_session", number)
    return number


def erase_tenant(db: sqlite3.Connection, tenant: str, at: int) -> list[int]:
    """Delete everything of a tenant except tombstones and receipts."""
    sessions = db.execute(_sql.sessions_of_tenant, (tenant,)).fetchall()
    for _, session in sessions:
        erase_session(db, tenant, session, at)
    _run(db, "erase_tenant", tenant)
    return [number for number, _ in sessions]


def newest_tombstone(db: sqlite3.Connection) -> int:
    """Sequence of the newest tombstone, 0 without one."""
    found: int = db.execute(_sql.newest_tombstone).fetchone()[0]
    return found


def _run(db: sqlite3.Connection, file: str, key: int | str) -> None:
    for statement in text(file).split(";\n"):
        if statement.strip():
            db.execute(statement, (key,))
