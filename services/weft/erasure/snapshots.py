"""Erasure in snapshots: they are deleted. If the log was trimmed, so that they are needed, the
newest of each kind is rewritten without the erased rows."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from weft.log.connection import Connection
from weft.log.reading import state
from weft.readmodel.database import Database
from weft.readmodel.store import (
    get_meta,
    open_writer,
    schema_version,
    statements,
    transaction,
    vacuum,
)
from weft.readmodel.tombstone_fold import erase_session, erase_tenant
from weft.references.survey import ErasureSet
from weft.snapshots.snapshot import Bucket, Snapshot, holding_trimmed
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.errors import NotFound
from weft_schemas.ids import SessionName

_sql = statements("erasure")


Forget = Callable[[sqlite3.Connection, int], None]
"""Deletes rows from a read model at a sequence."""
Forks = set[tuple[SessionName, str]]


def forgetting(erased: ErasureSet) -> Forget:
    """The erasure of sessions, or of a tenant."""

    def forget(db: sqlite3.Connection, at: int) -> None:
        for session in erased.sessions or ():
            erase_session(db, erased.tenant, session, at)
        if erased.sessions is None:
            erase_tenant(db, erased.tenant, at)

    return forget


class SnapshotErasure:
    """The erasure in snapshots. It looks more than once, since one may have been copied from a read
    model before the tombstone and stored later."""

    def __init__(self, connection: Connection, forget: Forget, tombstone: int) -> None:
        self._connection = connection
        self._forget = forget
        self._tombstone = tombstone
        self._clean: set[str] = set()
        """Names of those that were rewritten."""

    async def sweep(self) -> tuple[int, list[str]]:
        """How many snapshots were deleted or rewritten, and what could not be done."""
        try:
            created = (await state(self._connection)).created
            trimmed = await trimmed_before(self._connection)
            async with Bucket(self._connection) as bucket:
                found = [
                    one for one in await bucket.snapshots() if not self._is_clean(one, created)
                ]
                needed = _newest_of_each_kind(found, trimmed) if trimmed else []
                held = [one for one in needed if one.schema_version != schema_version()]
                for one in needed:
                    if one not in held:
                        await self._rewrite(bucket, one)
                for one in found:
                    if one not in held and one.name not in self._clean:
                        await bucket.delete(one)
                await bucket.objects.erase_unfinished()
        except NotFound:
            return 0, []
        why = "it is of another release; erase again with that one"
        return len(found) - len(held), [f"snapshot {one.name[:12]}: {why}" for one in held]

    def _is_clean(self, snapshot: Snapshot, created: str) -> bool:
        """Whether it is known to hold nothing of what is erased."""
        is_own = snapshot.identity.created == created
        return snapshot.name in self._clean or (is_own and snapshot.sequence >= self._tombstone)

    async def _rewrite(self, bucket: Bucket, snapshot: Snapshot) -> None:
        """Store it anew without what is erased."""
        with tempfile.TemporaryDirectory(prefix="weft-erase-") as folder:
            path = Path(folder) / "snapshot.sqlite"
            await bucket.fetch(snapshot, path)
            async with Database(lambda: open_writer(path)) as db:
                await db.run(lambda writing: _forget(writing, self._forget))
            self._clean.add((await bucket.put(path)).name)


def _newest_of_each_kind(found: list[Snapshot], trimmed: int) -> list[Snapshot]:
    """Those without which a replica could not start on a trimmed log any more; `found` has the
    newest first."""
    newest: dict[tuple[str, str, str], Snapshot] = {}
    for one in found:
        if one.sequence >= trimmed - 1:
            newest.setdefault(one.kind, one)
    return list(newest.values())


async def forks_in_snapshot(connection: Connection, tenant: str, trimmed: int) -> Forks:
    """Session and fork, for those whose items may be only in the newest snapshot."""
    async with Bucket(connection) as bucket:
        held = await holding_trimmed(connection, bucket, trimmed)
        if held is None:
            return set()
        with tempfile.TemporaryDirectory(prefix="weft-erase-") as folder:
            path = Path(folder) / "snapshot.sqlite"
            await bucket.fetch(held, path)
            async with Database(lambda: open_writer(path)) as db:
                forks = await db.execute_fetchall(_sql.forks, (tenant,))
            return {(SessionName(tenant, source), fork) for source, fork in forks}


def _forget(db: sqlite3.Connection, forget: Forget) -> None:
    """Deletes the rows and adds no tombstone row: that comes from its own event, with the rest of
    the log."""
    at = int(get_meta(db, "checkpoint") or 0)
    with transaction(db):
        forget(db, at)
    vacuum(db)
    db.execute("PRAGMA journal_mode = delete")
