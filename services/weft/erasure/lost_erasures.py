"""Erasures that a read model has folded and the log does not know: it was restored from a backup
that is older, and holds again what they erased."""

from __future__ import annotations

from pathlib import Path

from weft.erasure.history import Target
from weft.erasure.records import erasure_history
from weft.log.connection import Connection
from weft.readmodel.database import Database
from weft.readmodel.folded_log import as_it_is
from weft.readmodel.store import SQLITE_FAULTS

_TOMBSTONES = "SELECT tenant, session, max(version) FROM tombstones GROUP BY tenant, session"


async def lost_erasures(connection: Connection, path: Path) -> list[str]:
    """The commands that erase again what a read model's file has seen erased. The file does not
    know the names of scopes."""
    try:
        async with Database(lambda: as_it_is(path)) as db:
            folded = await db.execute_fetchall(_TOMBSTONES)
    except SQLITE_FAULTS:
        return []  # damaged, or of a release without these rows
    known = (await erasure_history(connection)).of
    scopes = {
        (target.tenant, one.sequence)
        for target, history in known.items()
        for one in history.tombstones
        if target.scope is not None
    }
    lost = []
    for tenant, session, version in folded:
        if session is None:
            target, is_known = Target(tenant, scope="NAME"), (tenant, version) in scopes
        else:
            target = Target(tenant, session or None)
            is_known = target in known or Target(tenant) in known
        if not is_known:
            lost.append(target.command)
    return sorted(lost)
