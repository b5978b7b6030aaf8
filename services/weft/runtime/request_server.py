"""A service's answers over NATS, shared by all processes of its queue group.

Every request gets one reply: what the handler returns, or an `ErrorReply` under the header
`Weft-Error`. Requests of one process run at once, up to `AT_ONCE`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any, TypeVar

import msgspec
from faststream.message import StreamMessage
from faststream.response import Response
from nats.aio.msg import Msg

from weft.log.timeouts import time_limit
from weft.runtime.fair_queueing import ConcurrencyLimits
from weft.runtime.logs import safe_error
from weft.runtime.process import Process
from weft.runtime.requests import Around, Next, ReceivedRequest, RequestSubscriber, seconds_in
from weft_schemas.compile import ErrorReply
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Overloaded, Unavailable, WeftError
from weft_schemas.subjects import REPLY_TIMEOUT_HEADER, parse_request

AT_ONCE = 1_000
"""Requests of one service that one process handles at a time, most of them waiting for `after`."""
OF_TENANT = 500
"""Most of these for one tenant. As many again may wait; further ones are refused."""
OF_SESSION = 250
MAX_WAITING = 128 * 1024 * 1024
"""Bytes of all waiting requests; a request beyond this is refused."""
_ROOM_FOR_HEADERS = 1_024


class Expired(Unavailable):
    """The requester no longer waits for the reply, so the request is not worked on any longer."""


Request = TypeVar("Request", bound=msgspec.Struct)
Handler = Callable[[ReceivedRequest[Any]], Awaitable[msgspec.Struct | msgspec.Raw]]
"""Returns the reply, or its JSON if another process encoded it."""

_log = logging.getLogger(__name__)


class RequestServer:
    """The request/reply side of one process."""

    def __init__(self, process: Process, group: str, joins: bool = True) -> None:
        """`group` is the queue group: each request goes to one of its processes. Without `joins`,
        requests go to the others until `join`."""
        process.answers = joins
        self._process = process
        self._group = group
        self._subscribers: list[RequestSubscriber] = []
        self._waiting = 0
        """Bytes of the requests that wait for room."""

    async def answer(self, service: str, kind: type[Request], handler: Handler) -> None:
        """Answer the requests of `service`, JSON of `kind`, with what `handler` returns.

        The handler is a FastStream handler, so its other arguments can be injected. It raises
        weft's errors; any other error is logged and reported as internal.
        """
        subscriber = self._process.broker.requests(
            service, kind, self._group, self._replied, self._in_turn(service)
        )
        subscriber(handler)
        self._subscribers.append(subscriber)
        if self._process.answers:
            await subscriber.start()

    async def join(self) -> None:
        """Take requests from now on."""
        if not self._process.answers:
            self._process.answers = True
            for subscriber in self._subscribers:
                await subscriber.start()

    async def leave(self) -> None:
        """Take no more requests; earlier ones are answered."""
        self._process.answers = False
        await asyncio.gather(*(subscriber.leave() for subscriber in self._subscribers))

    async def drain(self) -> None:
        """Take no more requests, and return when those in work are answered."""
        self._process.answers = False
        await asyncio.gather(*(subscriber.stop() for subscriber in self._subscribers))

    async def _replied(self, call_next: Next, message: StreamMessage[Msg]) -> Response:
        try:
            body = msgspec.json.encode(await call_next(message))
            limit = self._process.broker.max_payload - _ROOM_FOR_HEADERS
            if len(body) > limit:
                raise InvalidInput(
                    f"the reply has {len(body)} bytes, the server takes {limit}: ask for fewer "
                    "tokens, or raise its max_payload"
                )
        except Exception as error:
            reply = self._error_reply(error)
            return Response(msgspec.json.encode(reply), headers={ERROR_HEADER: reply.code})
        return Response(body)

    def _in_turn(self, service: str) -> Around:
        limits = ConcurrencyLimits(AT_ONCE, OF_TENANT, OF_SESSION, waiting=OF_TENANT)

        async def in_turn(call_next: Next, message: StreamMessage[Msg]) -> Any:
            seconds, size = seconds_in(message.raw_message, REPLY_TIMEOUT_HEADER), len(message.body)
            tenant, session, _ = parse_request(message.raw_message.subject)
            try:
                async with time_limit(seconds) as limit, AsyncExitStack() as stack:
                    with self._waits(service, limits.would_wait(tenant, session), size):
                        await stack.enter_async_context(limits.place(tenant, session))
                    return await call_next(message)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise Expired(
                    f"{service} had no reply in the {seconds:g} s that the requester waits; ask "
                    "again with a longer timeout, or start more of its processes"
                ) from None

        return in_turn

    @contextmanager
    def _waits(self, service: str, would_wait: bool, size: int) -> Iterator[None]:
        """Counts a request of so many bytes while it waits for its place. Raises `Overloaded`."""
        if would_wait and self._waiting + size > MAX_WAITING:
            raise Overloaded(f"too many requests for {service} wait already; try again")
        self._waiting += size
        try:
            yield
        finally:
            self._waiting -= size

    def _error_reply(self, error: Exception) -> ErrorReply:
        if isinstance(error, WeftError):
            # The message may quote the very text that cannot be encoded.
            printable = str(error).encode("utf-8", "replace").decode()
            return ErrorReply(error.code, printable, error.retryable)
        _log.error("a request failed", exc_info=error)
        self._process.health.failed(f"a request: {safe_error(error)}")
        text = f"the service failed on this request ({safe_error(error)}); see its log"
        return ErrorReply(WeftError.code, text, False)
