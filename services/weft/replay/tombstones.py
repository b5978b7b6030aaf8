"""What was erased of a tenant."""

from __future__ import annotations

from weft.log.connection import Connection
from weft.log.reading import read_own, subjects
from weft_schemas.errors import erased_session
from weft_schemas.events import ERASURE_RECORDS, ErasedEvent
from weft_schemas.subjects import event_of, stored_filter


async def tombstones(connection: Connection, tenant: str) -> dict[str, tuple[int, str]]:
    """Session (empty for the tenant) → sequence and reason of its newest tombstone."""
    stones = read_own(connection, tenant, ErasedEvent)
    return {event.session or "": (at, event.reason) async for at, event in stones}


async def left_of_erased(connection: Connection, tenant: str) -> list[str]:
    """Erased sessions (empty for the tenant) of which the log holds events nevertheless: an erasure
    was interrupted, or somebody has published to them since."""
    found = []
    for session in sorted(await tombstones(connection, tenant)):
        stored = await subjects(connection, stored_filter(tenant, session or None))
        if any(event_of(one) not in ERASURE_RECORDS for one in stored):
            found.append(session)
    return found


async def check_not_erased(connection: Connection, tenant: str, session: str) -> None:
    """Raises `Conflict` if a tombstone makes the fold ignore the session."""
    stones = await tombstones(connection, tenant)
    if session in stones or "" in stones:
        raise erased_session(tenant, session)
