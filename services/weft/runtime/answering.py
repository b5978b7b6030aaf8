"""Requests and replies: a service's answers over NATS, shared by all processes of its queue group.

Every request gets one reply: what the handler returns, or an `ErrorReply` under the header
`Weft-Error`. Requests of one process run at once, up to `AT_ONCE`.

They come straight from the connection: a FastStream subscriber takes .4 to .6 ms of each.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import msgspec

from weft.log.connection import Listener
from weft.log.wire import header_block, publish_command, takes_replies, text_of
from weft.runtime.logs import safe_error
from weft.runtime.process import Process
from weft_schemas.compile import ErrorReply
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Overloaded, UnknownVersion, WeftError
from weft_schemas.events import VERSION
from weft_schemas.subjects import parse_request

AT_ONCE = 1_000
"""Requests of one service in work in one process, most of them waiting for `after`; others wait."""
MOST_WAITING = 128 * 1024 * 1024
"""Bytes of all that wait; a request that would be more is refused."""
MOST_WAIT = 60.0
"""Seconds that a request may ask to be waited for."""
MOST = 2**63 - 1
"""Of any number in a request: what the read model and the log can hold."""
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


Handler = Callable[[Asked[Any]], Awaitable[msgspec.Struct]]


class Answering:
    """The request/reply side of one process."""

    def __init__(self, process: Process, group: str) -> None:
        """`group` is the queue group: each request goes to one process of it."""
        self._process = process
        self._group = group
        self._listeners: list[Listener] = []
        self._waiting = 0
        """Bytes of the requests that wait for room."""
        self._open: set[asyncio.Task[None]] = set()

    async def answer(self, service: str, kind: type[Request], handler: Handler) -> None:
        """Answer the requests of `service`, JSON of `kind`, with what `handler` returns.

        The handler raises weft's errors; any other is reported as internal and logged.
        """
        decode = msgspec.json.Decoder(kind).decode
        room = asyncio.Semaphore(AT_ONCE)

        async def work(message: _Message) -> None:
            with self._process.metrics.request(service) as answer:
                if room.locked() and self._waiting + len(message.body) > MOST_WAITING:
                    text = f"too many requests for {service} wait already; try again"
                    body, answer.code = _refusal(Overloaded.code, text, True), Overloaded.code
                else:
                    self._waiting += len(message.body)
                    async with room:
                        self._waiting -= len(message.body)
                        body, answer.code = await self._reply(message, decode, handler)
            self._send(message, body, answer.code)

        def begin(subject: bytes, reply: bytes, body: bytes, _: bytes | None) -> None:
            message = _Message(text_of(subject), text_of(reply or b""), bytes(body))
            task = asyncio.create_task(work(message))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

        subject = f"weft-rpc.*.*.{service}"
        self._listeners.append(await self._process.connection.listen(subject, begin, self._group))

    async def drain(self) -> None:
        """Take no more requests, and return when those in work are answered."""
        await asyncio.gather(*(listener.close() for listener in self._listeners))
        while self._open:
            await asyncio.wait(self._open)

    async def _reply(
        self, message: _Message, decode: Callable[[bytes], Request], handler: Handler
    ) -> tuple[bytes, str]:
        """The body and how it went: `ok`, or the error's code."""
        try:
            asked = _asked(message, decode)
            body = msgspec.json.encode(await handler(asked))
            self._check_size(body)
        except WeftError as error:
            return _refusal(error.code, str(error), error.retryable), error.code
        except Exception as error:
            _log.error("a request failed", exc_info=error)
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
    return Asked(tenant, session, request)


def _check(service: str, request: Any) -> None:
    """Rules for fields that several requests have and types cannot say."""
    version = getattr(request, "v", VERSION)
    if version > VERSION:
        raise UnknownVersion(
            f"{service} request has version {version}; this release knows up to {VERSION}: "
            "upgrade it"
        )
    for field in ("v", "after", "as_of", "budget", "reserve", "first", "last", "max_tokens"):
        value = getattr(request, field, None)
        least = 1 if field == "v" else 0
        if value is not None and not least <= value <= MOST:
            bound = f"{least} or more" if value < least else f"at most {MOST}"
            raise InvalidInput(f"{service} request: $.{field} is {value}; give {bound}")
    within = getattr(request, "request", None)
    if isinstance(within, msgspec.Struct):
        _check(service, within)
    wait = getattr(request, "timeout", 0.0)
    if not 0.0 <= wait <= MOST_WAIT:
        raise InvalidInput(f"{service} request: $.timeout is {wait}; give 0 to {MOST_WAIT:g}")


def _refusal(code: str, text: str, retryable: bool) -> bytes:
    # A message may quote what cannot be encoded, which is then the fault it tells of.
    printable = text.encode("utf-8", "replace").decode()
    return msgspec.json.encode(ErrorReply(code, printable, retryable))
