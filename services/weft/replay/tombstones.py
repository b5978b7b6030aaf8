"""What was erased of a tenant."""

from __future__ import annotations

from weft.log.connection import Connection
from weft.log.reading import read_own
from weft_schemas.errors import Conflict
from weft_schemas.events import ErasedEvent


async def tombstones(connection: Connection, tenant: str) -> dict[str, tuple[int, str]]:
    """Session (empty for the tenant) → sequence and reason of its newest tombstone."""
    stones = read_own(connection, tenant, ErasedEvent)
    return {event.session or "": (at, event.reason) async for at, event in stones}


async def check_not_erased(connection: Connection, tenant: str, session: str) -> None:
    """Raises `Conflict` if a tombstone makes the fold ignore the session."""
    stones = await tombstones(connection, tenant)
    if session in stones or "" in stones:
        raise Conflict(
            f"session {session!r} of tenant {tenant!r} was erased, and its name is not free "
            "again; give another name"
        )
