"""What of a tenant was erased."""

from __future__ import annotations

from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft_schemas.errors import Conflict, InvalidInput
from weft_schemas.events import ErasedEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import stored_filter


async def tombstones(connection: Connection, tenant: str) -> dict[str, tuple[int, str]]:
    """Session (empty for the tenant) → sequence and reason of its newest tombstone."""
    found = {}
    subjects = stored_filter(tenant, TENANT_SESSION, event="erased")
    async for record in read_matching(connection, subjects):
        try:
            event = record.event()
        except InvalidInput:
            continue  # the fold ignores it, too
        if isinstance(event, ErasedEvent):
            found[event.session or ""] = (record.sequence, event.reason)
    return found


async def check_not_erased(connection: Connection, tenant: str, session: str) -> None:
    """Raises `Conflict` where a tombstone makes the fold ignore the session."""
    stones = await tombstones(connection, tenant)
    if session in stones or "" in stones:
        raise Conflict(
            f"session {session!r} of tenant {tenant!r} was erased, and its name is not free "
            "again; give another name"
        )
