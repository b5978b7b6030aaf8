"""Publishing with acknowledgements: one message, or many in a bounded window.

A message that gets no answer is sent again under the same message id until its time is up, so
nothing acknowledged is lost and nothing is stored twice. Every publish ends as exactly one of:
acknowledged (an `Ack`), refused (an error; it is not stored), unknown (`Unavailable`: it may be
stored; publishing it again under the same id settles it).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from weft.log.api import error_of, forbidden, silence
from weft.log.connection import Connection, Listener
from weft.log.stalled import stalled, stores_nothing, stream_of
from weft.log.wire import header_block, publish_command, status
from weft_schemas.errors import InvalidInput, Unavailable, WeftError

TIMEOUT_SECONDS = 15.0
"""Until a publish counts as unknown: over twice a cluster's measured failover of 4.4 to 5.9 s."""
RETRY_SECONDS = 2.0
"""Without an answer for so long, a message is sent again."""
SOON_SECONDS = 0.25
"""Where the server said that nobody takes it at the moment."""
SILENT_SECONDS = 3.0
"""Without an answer for so long, it is asked whether it stores at all."""
WINDOW = 4_096
"""Messages without an answer, as many as nats-py's `publish_async` allows."""
WINDOW_BYTES = 16 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
"""Handed to the socket at once."""
HEADER_BYTES = 64 * 1024
"""A stored message's headers are smaller: a limit of the server's that no setting moves."""


class Message(msgspec.Struct, frozen=True):
    """What to publish. Without a message id a retry can store it twice."""

    subject: str
    payload: bytes
    message_id: str = ""
    headers: dict[str, str] = {}


class Ack(msgspec.Struct, frozen=True):
    """It is stored."""

    sequence: int
    """In the stream; of a duplicate that of the first."""
    duplicate: bool = False
    """Somebody had stored this message id before, within the server's window."""


Outcome = Ack | WeftError
"""Acknowledged, else why not: `Unavailable` where that is unknown, any other where refused."""

Messages = Iterable[Message] | AsyncIterable[Message]


def event_headers(
    event_id: str, event_type: str, source: str, traceparent: str = ""
) -> dict[str, str]:
    """CloudEvents attributes in binary mode, and the trace that the event belongs to."""
    headers = {
        "ce-specversion": "1.0",
        "ce-id": event_id,
        "ce-type": event_type,
        "ce-source": source,
    }
    if traceparent:
        headers["traceparent"] = traceparent
    return headers


def command(message: Message, reply: str, limit: int) -> bytes:
    """The message as a protocol command. Raises `InvalidInput` where it is over `limit` bytes."""
    headers = message.headers
    if message.message_id:
        headers = {**headers, "Nats-Msg-Id": message.message_id}
    block = header_block(headers) if headers else b""
    if len(block) >= HEADER_BYTES:
        raise InvalidInput(
            f"message to {message.subject[:100]}: its headers have {len(block)} bytes, the server "
            f"takes {HEADER_BYTES - 1}; shorten the ids"
        )
    if len(block) + len(message.payload) > limit:
        raise InvalidInput(
            f"message {message.message_id or message.subject}: {len(message.payload)} bytes are "
            f"over the server's max_payload of {limit}; put the body into the object store"
        )
    return publish_command(message.subject, reply, block, message.payload)


async def each(messages: Messages) -> AsyncIterator[Message]:
    """Both kinds of iterables as one."""
    if isinstance(messages, AsyncIterable):
        async for message in messages:
            yield message
    else:
        for message in messages:
            yield message


class Publisher:
    """`async with Publisher(connection) as publisher:`, for any number of tasks at once."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeout: float = TIMEOUT_SECONDS,
        window: int = WINDOW,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self.connection = connection
        self.timeout = timeout
        self._window = window
        self._window_bytes = window_bytes
        self._inbox = connection.new_inbox()
        self._flights: dict[int, _Flight] = {}
        self._bytes = 0
        self._last = 0
        self._room = asyncio.Event()
        self._listener: Listener | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._doubt: asyncio.Task[None] | None = None
        self._doubted = 0.0
        self._unwatch: list[Callable[[], None]] = []

    async def __aenter__(self) -> Self:
        self._listener = await self.connection.listen(f"{self._inbox}.*", self._answered)
        self._unwatch = [
            self.connection.on_reconnect(self._send_all_again),
            self.connection.on_violation(self._refuse),
        ]
        self._sweeper = asyncio.create_task(self._sweep())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for unwatch in self._unwatch:
            unwatch()
        tasks = [task for task in (self._sweeper, self._doubt) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for token in tuple(self._flights):
            self._settle(token, Unavailable("the publisher was closed before an answer came"))
        if self._listener is not None:
            await self._listener.close()

    async def publish(
        self,
        subject: str,
        payload: bytes,
        message_id: str = "",
        headers: dict[str, str] | None = None,
    ) -> Ack:
        """Publish one message and wait for its acknowledgement.

        Raises `Unavailable` where the outcome is unknown, and `Overloaded`, `Forbidden`,
        `Conflict`, `InvalidInput` or `ConfigurationError` where it was refused.
        """
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        message = Message(subject, payload, message_id, headers or {})
        await self.room()
        await self.connection.write(self._launch(message, 0, lambda _, out: _resolve(done, out)))
        outcome = await done
        if isinstance(outcome, Ack):
            return outcome
        raise outcome

    def send(self, messages: Sequence[Message], settled: Callable[[list[Outcome]], None]) -> None:
        """Publish a few and return at once; `settled` is called with every outcome, in order, when
        all are known. It keeps to no window: wait for `room` before.

        What `settled` raises goes to the event loop's exception handler: others wait for answers
        in the same task.
        """
        outcomes: list[Outcome | None] = [None] * len(messages)
        left = len(messages)

        def one(index: int, outcome: Outcome) -> None:
            nonlocal left
            outcomes[index] = outcome
            left -= 1
            if left:
                return
            try:
                settled([outcome for outcome in outcomes if outcome is not None])
            except Exception as error:
                what = {"message": f"callback of a publish failed: {settled!r}", "exception": error}
                asyncio.get_running_loop().call_exception_handler(what)

        for index, message in enumerate(messages):
            self.connection.write_soon(self._launch(message, index, one))

    async def room(self) -> None:
        """Return when the window has room for more."""
        while self._full():
            self._room.clear()
            await self._room.wait()

    async def publish_many(self, messages: Messages) -> list[Ack]:
        """Publish many and return their acks in order. Memory is bounded by the window and the
        acks. Raises the first failure, when all outcomes are known."""
        return acks_of(await self.attempt_many(messages))

    async def attempt_many(self, messages: Messages) -> list[Outcome]:
        """Publish many and return every outcome, in order of the messages."""
        outcomes: list[Outcome | None] = []
        left = _Countdown()
        chunk: list[bytes] = []
        size = 0

        def settled(index: int, outcome: Outcome) -> None:
            outcomes[index] = outcome
            left.down()

        async for message in each(messages):
            if self._full():
                await self.connection.write(b"".join(chunk))
                chunk, size = [], 0
                await self.room()
            outcomes.append(None)
            left.up()
            piece = self._launch(message, len(outcomes) - 1, settled)
            chunk.append(piece)
            size += len(piece)
            if size > CHUNK_BYTES:
                await self.connection.write(b"".join(chunk))
                chunk, size = [], 0
                await asyncio.sleep(0)
        await self.connection.write(b"".join(chunk))
        await left.zero()
        return [outcome for outcome in outcomes if outcome is not None]

    def _full(self) -> bool:
        return len(self._flights) >= self._window or self._bytes >= self._window_bytes

    def _launch(self, message: Message, index: int, settled: _Settled) -> bytes:
        self._last += 1
        token = self._last
        try:
            data = command(message, f"{self._inbox}.{token}", self.connection.max_payload)
        except InvalidInput as error:
            settled(index, error)
            return b""
        now = asyncio.get_running_loop().time()
        again = now + RETRY_SECONDS
        self._flights[token] = _Flight(message.subject, data, index, settled, now, again, now)
        self._bytes += len(data)
        return data

    def _answered(self, subject: bytes, _: bytes, payload: bytes, headers: bytes | None) -> None:
        token = int(subject[len(self._inbox) + 1 :])
        flight = self._flights.get(token)
        if flight is None:
            return
        if status(headers)[0] == 503:
            # No stream listens. With a cluster between two leaders that passes.
            flight.put_off(asyncio.get_running_loop().time())
            return
        reply = _decode(payload)
        if reply.error is None:
            self._settle(token, Ack(reply.seq, reply.duplicate and flight.attempts == 1))
            return
        error = error_of(reply.error, f"publish to {flight.subject}")
        if isinstance(error, Unavailable):
            flight.put_off(asyncio.get_running_loop().time())
        else:
            self._settle(token, error)

    def _settle(self, token: int, outcome: Outcome) -> None:
        flight = self._flights.pop(token)
        self._bytes -= len(flight.data)
        flight.settled(flight.index, outcome)
        if len(self._flights) <= self._window // 2 and self._bytes <= self._window_bytes // 2:
            self._room.set()

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SOON_SECONDS)
            now = clock()
            late = [t for t, f in self._flights.items() if now - f.first_sent > self.timeout]
            for token in late:
                self._settle(token, self._unknown(self._flights[token]))
            if self.connection.is_connected:
                self._send_again(now)
                self._doubt_silence(now)

    def _doubt_silence(self, now: float) -> None:
        """Where a message has no answer though it was sent again, find out whether that is since
        nothing is stored, and say so before its time is up."""
        if self._doubt is not None and not self._doubt.done():
            return
        silent = (f for f in self._flights.values() if f.is_silent(now) and stream_of(f.subject))
        oldest = next(silent, None)
        if oldest is not None and now - self._doubted > SILENT_SECONDS:
            self._doubted = now
            self._doubt = asyncio.create_task(self._give_up_where_stalled(oldest))

    async def _give_up_where_stalled(self, oldest: _Flight) -> None:
        """Only the oldest is sent for this: all of them would make a slow server slower."""
        clock = asyncio.get_running_loop().time
        stream = stream_of(oldest.subject)
        connection = self.connection
        if not await stores_nothing(connection, stream, lambda: connection.write_soon(oldest.data)):
            return
        for token, flight in tuple(self._flights.items()):
            if flight.is_silent(clock()) and stream_of(flight.subject) == stream:
                self._settle(token, stalled(flight.subject))

    def _unknown(self, flight: _Flight) -> WeftError:
        return silence(flight.subject, f"no acknowledgement in {self.timeout:g} s")

    def _refuse(self, subject: str) -> None:
        """The server does not say which message it dropped, only on which subject."""
        for token, flight in tuple(self._flights.items()):
            if flight.subject.lower() == subject:
                self._settle(token, forbidden(flight.subject))

    def _send_all_again(self) -> None:
        self._send_again(float("inf"))

    def _send_again(self, due: float) -> None:
        """In the order of the first sending, so that a session's events keep theirs. Each retry
        waits longer than the one before: a slow server must not get more work for being slow."""
        now = asyncio.get_running_loop().time()
        for flight in self._flights.values():
            if flight.retry_at <= due:
                flight.attempts += 1
                flight.retry_at = now + RETRY_SECONDS * flight.attempts
                self.connection.write_soon(flight.data)


def acks_of(outcomes: list[Outcome]) -> list[Ack]:
    """All acks. Raises the first failure, naming how many there are."""
    failures = [outcome for outcome in outcomes if isinstance(outcome, WeftError)]
    if failures:
        first = failures[0]
        if len(outcomes) == 1:
            raise first
        raise type(first)(f"{len(failures)} of {len(outcomes)} messages were not stored: {first}")
    return [outcome for outcome in outcomes if isinstance(outcome, Ack)]


_Settled = Callable[[int, Outcome], None]


class _Flight(msgspec.Struct):
    """A message without an answer."""

    subject: str
    data: bytes
    index: int
    settled: Any
    first_sent: float
    retry_at: float
    silent_since: float
    attempts: int = 1

    def put_off(self, now: float) -> None:
        """The server said that it cannot take it at the moment."""
        self.silent_since = now
        self.retry_at = now + SOON_SECONDS

    def is_silent(self, now: float) -> bool:
        return now - self.silent_since > SILENT_SECONDS


class _Reply(msgspec.Struct):
    seq: int = 0
    duplicate: bool = False
    error: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Reply).decode


class _Countdown:
    """Waits until as many are settled as were launched."""

    def __init__(self) -> None:
        self._count = 0
        self._zero = asyncio.Event()

    def up(self) -> None:
        self._count += 1

    def down(self) -> None:
        self._count -= 1
        if not self._count:
            self._zero.set()

    async def zero(self) -> None:
        while self._count:
            self._zero.clear()
            await self._zero.wait()


def _resolve(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)
