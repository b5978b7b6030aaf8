"""Which items of a session were made from messages, from a service or, if none answers, from the
log."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Sequence

from weft.client.service_call import AsksService
from weft.log.connection import Connection
from weft.log.record import LogRecord
from weft_schemas.errors import Forbidden, Unavailable
from weft_schemas.items import ContextItem
from weft_schemas.status import StatusReply, StatusRequest

HISTORY_SECONDS = 2.0
"""How long a session's history may wait until the replica has folded everything; after that, it is
read from the log."""


async def message_ids(
    ask: AsksService,
    from_log: Callable[[], Awaitable[tuple[int, Sequence[str]]]],
    session: str,
) -> tuple[int, Sequence[str]]:
    """Ids of a session's items that were made from messages, and the sequence at which they were
    read. Raises `Unavailable`, and `Conflict` if the session was erased."""
    request = StatusRequest(timeout=HISTORY_SECONDS, newest=True, history=True)
    try:
        reply = await ask(session, "status", request, StatusReply)
    except Unavailable:
        try:
            return await from_log()
        except Forbidden:  # it may not read the log, so it waits for a service
            reply = await ask(session, "status", request, StatusReply, HISTORY_SECONDS)
    return reply.sequence, reply.history or ()


async def logged_message_ids(
    connection: Connection, tenant: str, session: str, records: AsyncIterable[LogRecord]
) -> tuple[int, Sequence[str]]:
    """The same from the session's records in the log: needs no service, but a credential that may
    read it."""
    from weft.erasure.tombstones import check_not_erased

    await check_not_erased(connection, tenant, session)
    found: dict[str, int] = {}
    async for record in records:
        if record.subject.startswith("w.in."):
            event = record.event()
            if isinstance(event, ContextItem):
                found.setdefault(event.id, record.sequence)
    return max(found.values(), default=0), tuple(found)
