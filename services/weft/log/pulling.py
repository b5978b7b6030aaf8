"""Overlapping pull requests on one consumer, so that there is always one that the server can
answer.

A single message arrives as soon as it is stored, and a backlog arrives without a round trip per
batch. Idle heartbeats distinguish a quiet log from a dead consumer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from weft.log.connection import Connection, Listener
from weft.log.record import LogRecord
from weft.log.wire import (
    SETTLED,
    Delivered,
    header,
    message_id,
    publish_command,
    status,
    text_of,
    trace,
)
from weft_schemas.subjects import STREAM

HEARTBEAT_SECONDS = 1.0
SILENCE_SECONDS = 2.5
"""Two heartbeats missed."""
EXPIRES_SECONDS = 30.0
PULL_BYTES = 16 * 1024 * 1024
"""Of one pull request: twice the largest message, or a large one would never be delivered."""

_NANO = 1_000_000_000
_LOST = ("consumer deleted", "leadership change", "server shutdown", "consumer is push based")


class Raw(NamedTuple):
    """A message as it came off the wire."""

    subject: bytes
    reply: bytes
    payload: bytes
    headers: bytes | None

    def record(self, place: Delivered) -> LogRecord:
        headers = self.headers
        return LogRecord(
            sequence=place.stream_sequence,
            subject=text_of(self.subject),
            published_ns=place.published_ns,
            payload=self.payload,
            message_id=message_id(headers),
            traceparent=trace(headers),
            deliveries=place.deliveries,
            settled=header(headers, SETTLED),
        )


class Puller:
    """Keeps `wanted()` messages requested or buffered, and reports trouble with the consumer."""

    def __init__(self, connection: Connection, wanted: Callable[[], int]) -> None:
        self.consumer = ""
        """Name of the consumer; may change between `reset`s."""
        self.buffer: deque[Raw] = deque()
        self.trouble = ""
        """Why nothing can come, until `reset`; empty while all is well."""
        self.on_message: Callable[[Raw], None] = lambda _: None
        self._connection = connection
        self._wanted = wanted
        self._requested = 0
        self._inbox = connection.new_inbox()
        self._status_subject = f"{self._inbox}.".encode()
        self._pulls = 0
        self._heard = 0.0
        self._arrived = asyncio.Event()
        self._listener: Listener | None = None
        self._unwatch: Callable[[], None] = lambda: None

    async def open(self) -> None:
        self._listener = await self._connection.listen(f"{self._inbox}.*", self._take)
        self._unwatch = self._connection.on_reconnect(self._reconnected)

    async def close(self) -> None:
        """Stop requesting; messages that were already sent are in the buffer when this returns."""
        self._unwatch()
        if self._listener is not None:
            await self._listener.close()

    def reset(self) -> None:
        """Forget earlier requests and make new ones."""
        self._requested = 0
        self.trouble = ""
        self._heard = asyncio.get_running_loop().time()
        self.top_up()

    def top_up(self) -> None:
        """Request more once half of what is wanted has arrived."""
        wanted = self._wanted()
        missing = wanted - self._requested - len(self.buffer)
        if self.trouble or missing <= 0 or missing * 2 < wanted:
            return
        self._pulls += 1
        self._requested += missing
        body = _Pull(
            batch=missing,
            expires=int(EXPIRES_SECONDS * _NANO),
            idle_heartbeat=int(HEARTBEAT_SECONDS * _NANO),
            max_bytes=PULL_BYTES,
        )
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{self.consumer}"
        reply = f"{self._inbox}.{self._pulls}"
        self._connection.write_soon(publish_command(subject, reply, b"", _encode(body)))

    async def wait(self) -> None:
        """Until a message is there, or trouble, or `HEARTBEAT_SECONDS` have passed."""
        if self.buffer or self.trouble:
            return
        self._arrived.clear()
        # Not `wait_for`: in Python 3.11 it loses a cancellation that comes together with the event.
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                await self._arrived.wait()
        except TimeoutError:
            self._check_silence()

    def wake(self) -> None:
        self._arrived.set()

    def _check_silence(self) -> None:
        quiet = asyncio.get_running_loop().time() - self._heard
        if self._requested and self._connection.is_connected and quiet > SILENCE_SECONDS:
            self.trouble = f"no heartbeat for {quiet:.1f} s"

    def _reconnected(self) -> None:
        self.trouble = "reconnected"
        self._arrived.set()

    def _take(self, subject: bytes, reply: bytes, payload: bytes, headers: bytes | None) -> None:
        self._heard = asyncio.get_running_loop().time()
        # Told apart by subject: the headers of an event may look like a status.
        if subject.startswith(self._status_subject):
            self._note(*status(headers), headers)
            return
        self._requested = max(0, self._requested - 1)
        raw = Raw(subject, reply, payload, headers)
        self.on_message(raw)
        self.buffer.append(raw)
        self._arrived.set()

    def _note(self, code: int, text: str, headers: bytes | None) -> None:
        if code == 100:
            return
        if code == 503 or code == 400 or text.lower().startswith(_LOST):
            self.trouble = text or "nobody answers for the consumer"
            self._arrived.set()
            return
        # The pull request ended (expired, or used up its bytes) with this many messages unsent.
        unsent = header(headers, b"Nats-Pending-Messages")
        if unsent.isdigit():
            self._requested = max(0, self._requested - int(unsent))
            self.top_up()
        else:
            self.trouble = text or f"status {code}"
            self._arrived.set()


class _Pull(msgspec.Struct):
    batch: int
    expires: int
    idle_heartbeat: int
    max_bytes: int


_encode = msgspec.json.Encoder().encode
