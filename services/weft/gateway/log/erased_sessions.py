"""Follows in the log which sessions were erased. An erased name cannot be used again, since what is
published to it is refused; its host continues under another name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from weft.log.connection import Connection
from weft.log.following import Follower
from weft.log.record import LogRecord
from weft.log.stream_identity import identify
from weft_schemas.errors import InvalidInput
from weft_schemas.events import ErasedEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import stored_filter


class ErasedSessions:
    """The erased sessions of one tenant."""

    def __init__(self) -> None:
        self._sessions: set[str] = set()

    def session_after(self, session: str) -> str:
        """The name under which a session continues: its own, or the first numbered one that was not
        erased either."""
        name, number = session, 2
        while name in self._sessions:
            name, number = f"{session}-{number}", number + 1
        return name

    def take(self, record: LogRecord) -> None:
        """Take in a record of the log; records other than a session's tombstone are skipped."""
        try:
            event = record.event()
        except InvalidInput:
            return
        if isinstance(event, ErasedEvent) and event.session is not None:
            self._sessions.add(event.session)


@asynccontextmanager
async def following_erased_sessions(
    connection: Connection, tenant: str
) -> AsyncIterator[ErasedSessions]:
    """The erased sessions in the log so far, then each new one as it comes. Raises `Forbidden`."""
    erased = ErasedSessions()
    subjects = stored_filter(tenant, TENANT_SESSION, event="erased")
    known = await identify(connection)
    async with Follower(connection, known=known, subjects=subjects) as follower:

        async def follow() -> None:
            async for followed in follower:
                for record in followed.records:
                    erased.take(record)

        following = asyncio.create_task(follow())
        try:
            yield erased
        finally:
            follower.stop()
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
