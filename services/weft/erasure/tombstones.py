"""What was erased of a tenant."""

from __future__ import annotations

from weft.log.connection import Connection
from weft.log.reading import last_of, read_matching, read_own, subjects
from weft_schemas.errors import InvalidInput, NotFound, erased_session
from weft_schemas.events import ERASURE_RECORDS, ErasedEvent
from weft_schemas.ids import TENANT_SESSION, SessionName
from weft_schemas.subjects import STREAM, event_of, stored_filter

KNOWN_SECONDS = 1.0
"""How long a publishing client may rely on the tombstones it has read. An erasure waits longer than
that between its tombstone and its last pass, so it finds what was published meanwhile."""


FORK_OF = "fork of "
"""Begins the reason in a fork's tombstone, and its source follows."""


async def tombstones(connection: Connection, tenant: str) -> dict[str, tuple[int, str]]:
    """Session (empty for the tenant) → sequence and reason of its newest tombstone."""
    stones = read_own(connection, tenant, ErasedEvent)
    return {event.session or "": (at, event.reason) async for at, event in stones}


async def buried_forks(connection: Connection, tenant: str) -> list[tuple[SessionName, str]]:
    """Session and fork, for those that an erasure has buried together. A reason may be anybody's
    words; a fork's tombstone comes after one of its source."""
    found, buried = [], set[str]()
    async for _, event in read_own(connection, tenant, ErasedEvent):
        source = event.reason.removeprefix(FORK_OF)
        if event.session and source != event.reason and source in buried:
            found.append((SessionName(tenant, source), event.session))
        buried.add(event.session or "")
    return found


async def tombstones_after(
    connection: Connection, tenant: str, sequence: int
) -> tuple[set[str], int]:
    """The sessions (empty for the tenant) with a tombstone after `sequence`, and the sequence of
    the tenant's newest tombstone: one request if there is no new one. If the log was created
    again, the sessions of all its tombstones."""
    subject = stored_filter(tenant, TENANT_SESSION, "out", "erased")
    try:
        newest = (await last_of(connection, subject, STREAM)).sequence
    except NotFound:
        return set(), 0
    if newest == sequence:
        return set(), newest
    found = set()
    after = sequence if sequence < newest else 0
    async for record in read_matching(connection, subject, after=after, through=newest):
        try:
            event = record.event()
        except InvalidInput:
            continue
        if isinstance(event, ErasedEvent):
            found.add(event.session or "")
    return found, newest


async def left_of_erased(connection: Connection, tenant: str) -> list[str]:
    """Erased sessions that still have events in the log (empty for the tenant itself): an erasure
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
