"""Deleting what a tombstone names: a session's rows, or all of a tenant's."""

from __future__ import annotations

import sqlite3

from weft.readmodel.memories import forget_session
from weft.readmodel.sql import statements

_sql = statements("erasure")
_OF_TENANT = ("memories", "policies", "catalogs", "grants", "artifacts", "faults")


def erase_session(db: sqlite3.Connection, tenant: str, session: str, at: int) -> None:
    """Delete a session's rows."""
    db.execute(_sql.faults_of_session, (tenant, session))
    db.execute(_sql.policies_of_session, (tenant, session))
    for (number,) in db.execute(_sql.session, (tenant, session)).fetchall():
        forget_session(db, number, at)
        db.execute(_sql.delete_session, (number,))


def erase_tenant(db: sqlite3.Connection, tenant: str, at: int) -> None:
    """Delete everything of a tenant except tombstones and receipts."""
    for (session,) in db.execute(_sql.sessions_of_tenant, (tenant,)).fetchall():
        erase_session(db, tenant, session, at)
    for table in _OF_TENANT:
        db.execute(getattr(_sql, table), (tenant,))


def newest_tombstone(db: sqlite3.Connection) -> int:
    """Sequence of the newest tombstone, 0 without one."""
    found: int = db.execute(_sql.newest_tombstone).fetchone()[0]
    return found
