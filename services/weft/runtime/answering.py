"""Requests and replies: a service's answers over NATS, shared by all processes of its queue group.

Every request gets one reply: what the handler returns, or an `ErrorReply` under the header
`Weft-Error`. Requests of one process run at once, up to `AT_ONCE`.

They come straight from the connection: a FastStream subscriber takes .4 to .6 ms of each.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any, Generic, TypeVar

import msgspec

from weft.log.connection import Listener
from weft.log.wire import header_block, publish_command, takes_replies, text_of
from weft.runtime.logs import safe_error
from weft.runtime.process import Process
from weft.runtime.shares import Shares
from weft_schemas.compile import ErrorReply
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Overloaded, UnknownVersion, WeftError
from weft_schemas.events import VERSION
from weft_schemas.ranges import check_ranges
from weft_schemas.subjects import parse_request, requester

AT_ONCE = 1_000
"""Requests of one service in work in one process, most of them waiting for `after`; others wait."""
OF_TENANT = 500
"""Of these, of one tenant at most; so many more of it may wait before it is refused."""
OF_SESSION = 250
MOST_WAITING = 128 * 1024 * 1024
"""Bytes of all that wait; a request that would be more is refused."""
_ROOM_FOR_HEADERS = 1_024

Request = TypeVar("Request", bound=msgspec.Struct)

_log = logging.getLogger(__name__)


class _Message(msgspec.Struct, frozen=True):
    subject: str
    reply: str
    body: bytes


class Asked(msgspec.Struct, Generic[Request], frozen=True):
    """One request and where it came from."""

    tenant: str
    session: str
    request: Request
    principal: str = ""
    """Who asks, by the subject, which permissions can pin; empty where it names nobody."""


Taker = Callable[[bytes, bytes, bytes, bytes | None], None]
Handler = Callable[[Asked[Any]], Awaitable[msgspec.Struct | msgspec.Raw]]
"""The reply, or its JSON where that was made in another process."""


class Answering:
    """The request/reply side of one process."""

    def __init__(self, process: Process, group: str, joins: bool = True) -> None:
        """`group` is the queue group: each request goes to one process of it. Where it does not
        join at once, requests go to the others until `join`."""
        process.answers = joins
        self._process = process
        self._group = group
        self._listeners: list[Listener] = []
        self._takers: dict[str, Taker] = {}
        """By subject."""
        self._waiting = 0
        """Bytes of the requests that wait for room."""
        self._open: set[asyncio.Task[None]] = set()

    async def answer(self, service: str, kind: type[Request], handler: Handler) -> None:
        """Answer the requests of `service`, JSON of `kind`, with what `handler` returns.

        The handler raises weft's errors; any other is reported as internal and logged.
        """
        decode = msgspec.json.Decoder(kind).decode
        shares = Shares(AT_ONCE, OF_TENANT, OF_SESSION, waiting=OF_TENANT)

        async def reply(message: _Message) -> msgspec.Struct | msgspec.Raw:
            tenant, session, _ = parse_request(message.subject)
            async with AsyncExitStack() as stack:
                with self._waits(service, shares.would_wait(tenant, session), len(message.body)):
                    await stack.enter_async_context(shares.place(tenant, session))
                return await handler(_asked(message, decode))

        async def work(message: _Message) -> None:
            with self._process.metrics.request(service) as answer:
                body, answer.code = await self._replied(message, reply)
            self._send(message, body, answer.code)

        def begin(subject: bytes, reply: bytes, body: bytes, _: bytes | None) -> None:
            message = _Message(text_of(subject), text_of(reply or b""), bytes(body))
            task = asyncio.create_task(work(message))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

        for subject in (f"weft-rpc.*.*.{service}", f"weft-rpc.*.*.{service}.*"):
            self._takers[subject] = begin
            if self._process.answers:
                await self._listen(subject)

    async def join(self) -> None:
        """Take requests from now on."""
        if not self._process.answers:
            self._process.answers = True
            for subject in self._takers:
                await self._listen(subject)

    async def leave(self) -> None:
        """Take no more requests; what came is answered."""
        self._process.answers = False
        listeners, self._listeners = self._listeners, []
        await asyncio.gather(*(listener.close() for listener in listeners))

    async def _listen(self, subject: str) -> None:
        taker = self._takers[subject]
        self._listeners.append(await self._process.connection.listen(subject, taker, self._group))

    async def drain(self) -> None:
        """Take no more requests, and return when those in work are answered."""
        await self.leave()
        while self._open:
            await asyncio.wait(self._open)

    @contextmanager
    def _waits(self, service: str, would_wait: bool, size: int) -> Iterator[None]:
        """While a request of so many bytes waits for its place. Raises `Overloaded`."""
        if would_wait and self._waiting + size > MOST_WAITING:
            raise Overloaded(f"too many requests for {service} wait already; try again")
        self._waiting += size
        try:
            yield
        finally:
            self._waiting -= size

    async def _replied(
        self,
        message: _Message,
        reply: Callable[[_Message], Awaitable[msgspec.Struct | msgspec.Raw]],
    ) -> tuple[bytes, str]:
        """The body and how it went: `ok`, or the error's code."""
        try:
            body = msgspec.json.encode(await reply(message))
            self._check_size(body)
        except WeftError as error:
            return _refusal(error.code, str(error), error.retryable), error.code
        except Exception as error:
            _log.error("a request failed", exc_info=error)
            self._process.health.failed(f"a request: {safe_error(error)}")
            text = f"the service failed on this request ({safe_error(error)}); see its log"
            return _refusal(WeftError.code, text, False), WeftError.code
        return body, "ok"

    def _send(self, message: _Message, body: bytes, code: str) -> None:
        headers = b"" if code == "ok" else header_block({ERROR_HEADER: code})
        if takes_replies(message.reply):
            # Who asked sees no answer of a lost connection either way, and asks again.
            command = publish_command(message.reply, "", headers, body)
            self._process.connection.write_now(command)

    def _check_size(self, body: bytes) -> None:
        limit = self._process.connection.max_payload - _ROOM_FOR_HEADERS
        if len(body) > limit:
            raise InvalidInput(
                f"the reply has {len(body)} bytes, the server takes {limit}: ask for fewer tokens, "
                "or raise its max_payload"
            )


def _asked(message: _Message, decode: Callable[[bytes], Request]) -> Asked[Request]:
    tenant, session, service = parse_request(message.subject)
    try:
        request = decode(message.body or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{service} request: {error}; see schemas/jsonschema") from None
    _check(service, request)
    return Asked(tenant, session, request, requester(message.subject))


def _check(service: str, request: Any) -> None:
    """Rules that types cannot say."""
    version = getattr(request, "v", VERSION)
    if version > VERSION:
        raise UnknownVersion(
            f"{service} request has version {version}; this release knows up to {VERSION}: "
            "upgrade it"
        )
    within = getattr(request, "request", None)
    if isinstance(within, msgspec.Struct):
        _check(service, within)
    check_ranges(request, f"{service} request")


def _refusal(code: str, text: str, retryable: bool) -> bytes:
    # A message may quote what cannot be encoded, which is then the fault it tells of.
    printable = text.encode("utf-8", "replace").decode()
    return msgspec.json.encode(ErrorReply(code, printable, retryable))
