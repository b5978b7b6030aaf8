"""Asks a real log what it no longer holds of a session."""

from __future__ import annotations

import msgspec

from weft.audit.history import tombstone_of
from weft.audit.missing_records import MissingRecords
from weft.log.connection import Connection
from weft.log.deletions import aged_before
from weft.log.reading import read_session
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.ids import TENANT_SESSION


async def missing_records(connection: Connection, tenant: str, session: str) -> MissingRecords:
    """Whether a session was erased, and where the log begins."""
    own = read_session(connection, tenant, TENANT_SESSION, event="erased")
    tombstone = tombstone_of([record async for record in own], session)
    return msgspec.structs.replace(await cut_of(connection), tombstone=tombstone)


async def cut_of(connection: Connection) -> MissingRecords:
    """Where the log begins, for all sessions."""
    return MissingRecords(
        trimmed=await trimmed_before(connection), aged=await aged_before(connection)
    )
