"""Overlapping pull requests on one consumer, so that there is always one that the server can
answer: a single message arrives as soon as it is stored, and a backlog without a round trip per
batch. Idle heartbeats distinguish a quiet log from a dead consumer."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Generic, NamedTuple, Self, TypeVar

import msgspec

from weft.log.connection import Connection
from weft.log.record import LogRecord
from weft.log.wire import SETTLED, Delivered, header, publish_command, status, text_of
from weft_schemas.errors import NotFound, Unavailable, WeftError
from weft_schemas.subjects import STREAM

HEARTBEAT_SECONDS = 1.0
SILENCE_SECONDS = 2.5
"""Two heartbeats missed."""
EXPIRES_SECONDS = 30.0
PULL_BYTES = 16 * 1024 * 1024
"""Of one pull request: twice the largest message, or a large one would never be delivered."""

POLL_SECONDS = 0.2

_log = logging.getLogger(__name__)
_NANO = 1_000_000_000
_PULL = {
    "expires": int(EXPIRES_SECONDS * _NANO),
    "idle_heartbeat": int(HEARTBEAT_SECONDS * _NANO),
    "max_bytes": PULL_BYTES,
}
_LOST = ("consumer deleted", "leadership change", "server shutdown", "consumer is push based")

T = TypeVar("T")


class RawMessage(NamedTuple):
    """A message as it came off the wire."""

    subject: bytes
    reply: bytes
    payload: bytes
    headers: bytes | None

    def record(self, place: Delivered) -> LogRecord:
        message = (text_of(self.subject), place.published_ns, self.payload, self.headers)
        settled = header(self.headers, SETTLED)
        return LogRecord.of(place.stream_sequence, *message, place.deliveries, settled)


class Puller(Generic[T]):
    """Iterates over the messages of one consumer, in the form that a subclass gives them. Keeps
    `_wanted()` messages requested or buffered, and starts again when no more can come."""

    GONE_SECONDS = 10.0
    """How long a missing consumer or stream may take to be provisioned again, in checks: time in
    which the machine was suspended does not count."""

    def __init__(self, connection: Connection, consumer: str = "") -> None:
        """`consumer`: its name; may change between `_reset`s."""
        self._connection = connection
        self._consumer = consumer
        self._buffer: deque[RawMessage] = deque()
        self._trouble = ""
        """Why nothing can come, until `_reset`; empty while all is well."""
        self._stopped = False
        self._requested = 0
        self._inbox = connection.new_inbox()
        self._status_subject = f"{self._inbox}.".encode()
        self._pulls = 0
        self._heard = 0.0
        self._arrived = asyncio.Event()

    def stop(self) -> None:
        """End the iteration after the batch in work."""
        self._stopped = True
        self._arrived.set()

    async def __aiter__(self) -> AsyncIterator[T]:
        while not self._stopped:
            await asyncio.sleep(0)
            if self._trouble:
                await self._again(self._trouble)
            await self._wait()
            if self._connection.is_closed:
                raise Unavailable(f"the connection of {self} was closed; connect anew")
            if (taken := await self._next()) is not None:
                yield taken

    async def _next(self) -> T | None:
        """The messages that have arrived, if any."""
        raise NotImplementedError

    async def _start(self) -> None:
        """Have the consumer ready, and `_reset`. Raises `NotFound` while it cannot be."""
        raise NotImplementedError

    def _gone(self, error: NotFound) -> WeftError:
        """The error to raise if `_start` raises `NotFound` for `GONE_SECONDS`."""
        raise NotImplementedError

    def _wanted(self) -> int:
        """How many messages are to be requested or buffered."""
        raise NotImplementedError

    def _came(self, raw: RawMessage) -> None:
        """Take note of a message that comes into the buffer."""

    async def __aenter__(self) -> Self:
        self._listener = await self._connection.listen(f"{self._inbox}.*", self._take)
        self._unwatch = self._connection.on_reconnect(lambda: self._note_trouble("reconnected"))
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop requesting; messages that were already sent are in the buffer when this returns."""
        self._unwatch()
        await self._listener.close()

    async def _begin(self) -> None:
        """`_start`: as long as the server is away, or something missing for `GONE_SECONDS`."""
        missing = 0
        while not self._stopped and not self._connection.is_closed:
            try:
                await self._start()
                return
            except NotFound as error:
                missing += 1
                if missing * POLL_SECONDS > self.GONE_SECONDS:
                    raise self._gone(error) from None
            except Unavailable:
                missing = 0
            await asyncio.sleep(POLL_SECONDS)

    async def _again(self, why: str) -> None:
        _log.info("%s: %s; asking anew", self, why)
        await asyncio.sleep(0.05)
        await self._begin()

    def _reset(self) -> None:
        """Forget earlier requests and make new ones."""
        self._requested = 0
        self._trouble = ""
        self._heard = asyncio.get_running_loop().time()
        self._top_up()

    def _top_up(self) -> None:
        """Request more once half of the requested messages have arrived."""
        wanted = self._wanted()
        missing = wanted - self._requested - len(self._buffer)
        if self._trouble or missing <= 0 or missing * 2 < wanted:
            return
        self._pulls += 1
        self._requested += missing
        body = msgspec.json.encode({"batch": missing, **_PULL})
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{self._consumer}"
        reply = f"{self._inbox}.{self._pulls}"
        self._connection.write_soon(publish_command(subject, reply, b"", body))

    async def _wait(self) -> None:
        """Until a message is there, or trouble, or `HEARTBEAT_SECONDS` have passed."""
        if self._stopped or self._buffer or self._trouble:
            return
        self._arrived.clear()
        # `wait_for` loses a cancellation that comes with the event.
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                await self._arrived.wait()
        quiet = asyncio.get_running_loop().time() - self._heard
        is_silent = self._requested and self._connection.is_connected and quiet > SILENCE_SECONDS
        if is_silent and not self._buffer:
            self._trouble = f"no heartbeat for {quiet:.1f} s"

    def _note_trouble(self, why: str) -> None:
        self._trouble = why
        self._arrived.set()

    def _take(self, subject: bytes, reply: bytes, payload: bytes, headers: bytes | None) -> None:
        self._heard = asyncio.get_running_loop().time()
        # Told apart by subject: the headers of an event may look like a status.
        if subject.startswith(self._status_subject):
            self._note(*status(headers), headers)
            return
        self._requested = max(0, self._requested - 1)
        raw = RawMessage(subject, reply, payload, headers)
        self._came(raw)
        self._buffer.append(raw)
        self._arrived.set()

    def _note(self, code: int, text: str, headers: bytes | None) -> None:
        if code == 100:
            return
        if code == 503 or code == 400 or text.lower().startswith(_LOST):
            self._note_trouble(text or "nobody answers for the consumer")
            return
        # The pull request ended (expired, or used up its bytes) with this many messages unsent.
        unsent = header(headers, b"Nats-Pending-Messages")
        if unsent.isdigit():
            self._requested = max(0, self._requested - int(unsent))
            self._top_up()
        else:
            self._note_trouble(text or f"status {code}")
