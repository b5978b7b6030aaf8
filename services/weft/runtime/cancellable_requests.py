"""Requests in work that their requesters can cancel. A request has an id that its requester gave
it; a message with that id ends the time that a process still takes for it.

Every process of the service hears the message, since the requester does not know which has its
request. One that is lost, or comes too late, changes nothing: the request ends with its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from nats.aio.msg import Msg

from weft.log.connection import Connection
from weft.log.wire import header, text_of
from weft_schemas.subjects import CANCEL, REQUEST_ID_HEADER

_HEADER = REQUEST_ID_HEADER.encode()


class CancellableRequest:
    """One request in work."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self.is_cancelled = False

    def cancel(self) -> None:
        """End its time now, unless that has ended."""
        if not self._limit.expired():
            self.is_cancelled = True
            self._limit.reschedule(asyncio.get_running_loop().time())


class CancellableRequests:
    """The requests that one process works on."""

    def __init__(self) -> None:
        self._in_work: dict[tuple[str, ...], list[CancellableRequest]] = {}
        """By name; a request that was sent again may be here twice."""
        self._is_listening = False

    async def listen(self, connection: Connection) -> None:
        """Hear of cancellations from now on, until the connection is closed."""
        if not self._is_listening:
            self._is_listening = True
            for subject in (f"weft-rpc.*.*.{CANCEL}", f"weft-rpc.*.*.{CANCEL}.*"):
                await connection.listen(subject, self._heard)

    @contextmanager
    def within(self, limit: asyncio.Timeout, message: Msg) -> Iterator[CancellableRequest]:
        """Wraps the work on a request, whose time `limit` ends."""
        request = CancellableRequest(limit)
        name = _name(message.subject, (message.headers or {}).get(REQUEST_ID_HEADER, ""))
        same = self._in_work.setdefault(name, [])
        same.append(request)
        try:
            yield request
        finally:
            same.remove(request)
            if not same:
                del self._in_work[name]

    def _heard(self, subject: bytes, _: bytes, __: bytes, block: bytes | None) -> None:
        given = header(block, _HEADER)
        if given:
            for request in self._in_work.get(_name(text_of(subject), given), ()):
                request.cancel()


def _name(subject: str, given: str) -> tuple[str, ...]:
    """Tenant, session and principal as in the subject, and the id that was given: nobody can cancel
    what another principal asked."""
    _, tenant, session, _, *principal = subject.split(".")
    return (tenant, session, *principal, given)
