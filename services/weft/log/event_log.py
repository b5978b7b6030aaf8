"""EventLog: read access to the one totally ordered stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from weft.log import reading
from weft.log.connection import Connection
from weft.log.record import LogRecord


class EventLog:
    """The log behind a connection. To follow it live, use `following.Follower`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read(self, sequence: int) -> LogRecord:
        """One event. Raises `NotFound` if there is none (any more)."""
        return await reading.read(self._connection, sequence)

    def session(
        self, tenant: str, session: str, *, after: int = 0
    ) -> AsyncGenerator[LogRecord, None]:
        """A session's events in order, those after a sequence."""
        return reading.read_session(self._connection, tenant, session, after=after)
