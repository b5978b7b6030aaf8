"""Why a session has no events in the log: it was erased, or trimmed, or never was."""

from __future__ import annotations

from weft.erasure.tombstones import tombstones
from weft.log.connection import Connection
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.errors import Forbidden, NotFound


async def no_events(connection: Connection, tenant: str, session: str, first: int = 1) -> NotFound:
    """The error for a session without an event from sequence `first` on."""
    since = f" from sequence {first} on" if first > 1 else ""
    none = f"session {session!r} of tenant {tenant!r} has no events{since}"
    buried = await tombstones(connection, tenant)
    at = max(buried.get(one, (0, ""))[0] for one in (session, ""))
    if at:
        return NotFound(f"{none}: it was erased by event {at}")
    before = await _trimmed_before(connection)
    if before:
        return NotFound(
            f"{none}: the log was trimmed before event {before}, and earlier events are in "
            "snapshots only, from which compiles still show them; if it is none of those, is its "
            "name spelt right?"
        )
    return NotFound(f"{none}; is it spelt right?")


async def _trimmed_before(connection: Connection) -> int:
    """0 as well without access to the snapshots."""
    try:
        return await trimmed_before(connection)
    except (Forbidden, NotFound):
        return 0
