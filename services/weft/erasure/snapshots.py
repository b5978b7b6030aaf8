"""Erasure in snapshots: they are deleted. If the log was trimmed, so that one is needed, the newest
is rewritten without the erased rows."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from weft.log.connection import Connection
from weft.readmodel.database import Database
from weft.readmodel.sql import statements
from weft.readmodel.store import get_meta, open_writer, schema_version, transaction, vacuum
from weft.readmodel.tombstone_fold import erase_session, erase_tenant
from weft.references.survey import Victims
from weft.snapshots.snapshot import Bucket, Snapshot
from weft.snapshots.trimming import trimmed_before
from weft_schemas.errors import NotFound
from weft_schemas.ids import SessionName

_sql = statements("erasure")


Forget = Callable[[sqlite3.Connection, int], None]
"""Deletes rows from a read model at a sequence."""


def forgetting(victims: Victims) -> Forget:
    """The erasure of sessions, or of a tenant."""

    def forget(db: sqlite3.Connection, at: int) -> None:
        for session in victims.sessions or ():
            erase_session(db, victims.tenant, session, at)
        if victims.sessions is None:
            erase_tenant(db, victims.tenant, at)

    return forget


async def forget_in_snapshots(connection: Connection, forget: Forget) -> tuple[int, list[str]]:
    """How many snapshots were deleted or rewritten, and what could not be done."""
    async with Bucket(connection) as bucket:
        try:
            found = await bucket.snapshots()
            trimmed = await trimmed_before(connection)
        except NotFound:
            return 0, []
        if trimmed and found:
            if found[0].schema_version != schema_version():
                name = found[0].name[:12]
                return 0, [f"snapshot {name}: it is of another release; erase again with that one"]
            found = await _rewritten(bucket, found, forget)
        for old in found:
            await bucket.delete(old)
    return len(found), []


async def forks_in_snapshot(connection: Connection, tenant: str) -> set[tuple[SessionName, str]]:
    """Session and fork, for those whose items may be only in the newest snapshot."""
    async with Bucket(connection) as bucket:
        found = await bucket.snapshots()
        if not found or found[0].schema_version != schema_version():
            return set()
        with tempfile.TemporaryDirectory(prefix="weft-erase-") as folder:
            path = Path(folder) / "snapshot.sqlite"
            await bucket.fetch(found[0], path)
            async with Database(lambda: open_writer(path)) as db:
                forks = await db.execute_fetchall(_sql.forks, (tenant,))
            return {(SessionName(tenant, source), fork) for source, fork in forks}


async def _rewritten(bucket: Bucket, found: list[Snapshot], forget: Forget) -> list[Snapshot]:
    """Which are to be deleted now. The newest stays if it holds nothing of what is erased."""
    with tempfile.TemporaryDirectory(prefix="weft-erase-") as folder:
        path = Path(folder) / "snapshot.sqlite"
        await bucket.fetch(found[0], path)
        async with Database(lambda: open_writer(path)) as db:
            await db.run(lambda writing: _forget(writing, forget))
        made = await bucket.put(path)
    return [one for one in found if one.name != made.name]


def _forget(db: sqlite3.Connection, forget: Forget) -> None:
    """Without a tombstone row: that comes from its own event, with the rest of the log."""
    at = int(get_meta(db, "checkpoint") or 0)
    with transaction(db):
        forget(db, at)
    vacuum(db)
    db.execute("PRAGMA journal_mode = delete")
