"""Publishing many messages by the server's batch protocols, several times faster than one by one.

Fast ingest (ADR-50, nats-server 2.14, stream option `allow_batched`) stores each message as it
comes and answers every few hundred; a gap ends the batch, so order survives whatever happens.
Atomic batches (2.12, `allow_atomic`) are stored together with one sync to disk. Without either,
messages are pipelined. Message ids are the same in every retry and in every mode, so the server
skips what it has already stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Self

import msgspec
import nats.nuid

from weft.log.api import call, forbidden
from weft.log.batch import FLOW, Batch
from weft.log.connection import Connection
from weft.log.in_flight import WINDOW, closed_meanwhile
from weft.log.message import Ack, Message, Messages, decode_reply, iterate
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.subjects import STREAM

PART_MESSAGES = 10_000
"""Held until the server has them all: at most this is sent again after a lost connection."""
PART_BYTES = 16 * 1024 * 1024
ATOMIC_MESSAGES = 1_000
"""The server's limit of one atomic batch."""
ATOMIC_BYTES = 1024 * 1024
"""The server says nothing until it has all of a batch: on a slow network, not for too long."""
OPEN_BATCHES = 4
"""Open batches of one publisher; others wait for their turn. The server queues 10,000 messages per
stream and drops any beyond that, and it gives up a batch that is silent for 10 s."""
RETRY_SECONDS = 0.1
"""Pause before the next batch if the last one stored nothing."""
_SILENT = Unavailable("the server stopped answering; publish again")


class BatchMode(StrEnum):
    """How a number of messages is published."""

    FAST = "fast"
    ATOMIC = "atomic"
    PIPELINED = "pipelined"


class BulkAck(msgspec.Struct, frozen=True):
    """All of them are stored."""

    sequence: int
    """Everything that was published, the duplicates too, is at or before this sequence."""
    count: int


async def best_mode(connection: Connection) -> BatchMode:
    """The best mode for the stream: atomic if each batch is synced to disk or replicated, else fast
    ingest, which falls back by itself if the credential may not read the stream's configuration."""
    try:
        config = (await call(connection, f"STREAM.INFO.{STREAM}"))["config"]
    except WeftError:
        return BatchMode.FAST
    synced = config.get("metadata", {}).get("weft.durability", "process") != "process"
    if synced and config.get("allow_atomic"):
        return BatchMode.ATOMIC
    return BatchMode.FAST if config.get("allow_batched") else BatchMode.PIPELINED


class BulkPublisher:
    """`async with BulkPublisher(publisher, await best_mode(connection)) as bulk:`, for any number
    of tasks at once; each call of `publish` keeps the order of its messages."""

    def __init__(self, publisher: Publisher, mode: BatchMode = BatchMode.FAST) -> None:
        self.mode = mode
        self.publisher = publisher
        self._connection = publisher.connection
        self._inbox = self._connection.new_inbox()
        self._ids = nats.nuid.NUID()
        self._batches: dict[str, Batch] = {}
        self._turns = asyncio.Semaphore(OPEN_BATCHES)
        self._is_closed = False

    async def __aenter__(self) -> Self:
        self._listener = await self._connection.listen(f"{self._inbox}.>", self._answered)
        self._unwatch = [
            self._connection.on_reconnect(self._give_up),
            self._connection.on_violation(self._refused),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        """End batches in work, whose outcome is then unknown."""
        self._is_closed = True
        self._give_up()
        for unwatch in self._unwatch:
            unwatch()
        await self._listener.close()

    async def publish(self, messages: Messages) -> BulkAck:
        """Publish all, in order, holding `PART_BYTES` of them at a time.

        Raises what `Publisher.publish` raises; the message says how many of the first are stored.
        Publishing all again is safe: the same message ids are skipped.
        """
        sequence = count = 0
        is_atomic = self.mode is BatchMode.ATOMIC
        limits = (ATOMIC_MESSAGES, ATOMIC_BYTES) if is_atomic else (PART_MESSAGES, PART_BYTES)
        async for part in _parts(messages, *limits):
            try:
                sequence = max(sequence, await self._publish_part(part))
            except _Stopped as stop:
                stored = count + stop.stored
                raise type(stop.cause)(
                    f"only the first {stored} are known to be stored: {stop.cause}"
                ) from None
            count += len(part)
        return BulkAck(sequence, count)

    async def _publish_part(self, part: list[Message]) -> int:
        """Returns a sequence at or before which the whole part is stored, as do all below."""
        if len(part) == 1 or self.mode is BatchMode.PIPELINED:
            return await self._pipelined(part)
        async with self._turns:
            return await self._batched(part, self.mode)

    async def _pipelined(self, part: list[Message]) -> int:
        sequence = 0
        for place, outcome in enumerate(await self.publisher.attempt_many(part)):
            if isinstance(outcome, WeftError):
                raise _Stopped(place, outcome)
            sequence = max(sequence, outcome.sequence)
        return sequence

    async def _batched(self, part: list[Message], mode: BatchMode) -> int:
        """In one atomic batch; or all but the last message in fast ones and the last alone, since
        its ack gives a sequence that no other exceeds. Repeated while the outcome is unknown."""
        is_atomic = mode is BatchMode.ATOMIC
        send, sent = (Batch.run_atomic, part) if is_atomic else (Batch.run, part[:-1])
        stored, deadline = 0, self._deadline()
        while stored < len(sent):
            batch = await self._sent(sent[stored:], send)
            if batch.stored:
                stored += batch.stored
                deadline = self._deadline()
            if batch.off:
                self.mode = BatchMode.FAST if is_atomic else BatchMode.PIPELINED
            if is_atomic and (batch.off or batch.duplicate):
                return await self._batched(part, BatchMode.FAST)  # skips what the server has
            if batch.off:
                return await self._pipelined(part)
            if batch.error is not None:
                raise _Stopped(stored, batch.error)
            if self._is_closed and stored < len(sent):
                raise _Stopped(stored, closed_meanwhile())
            if asyncio.get_running_loop().time() > deadline:
                raise _Stopped(stored, batch.passing or _SILENT)
            if not batch.stored:
                await asyncio.sleep(RETRY_SECONDS)
        if is_atomic:
            return batch.sequence
        (last,) = await self.publisher.attempt_many(part[-1:])
        if isinstance(last, WeftError):
            raise _Stopped(stored, last)
        return await self._bound(last)

    async def _bound(self, last: Ack) -> int:
        """A new last message comes after all others; for a duplicate it is the end of the log."""
        with suppress(WeftError):
            if last.duplicate:
                return max(last.sequence, await last_sequence(self._connection))
        return last.sequence

    async def _sent(
        self, messages: Sequence[Message], send: Callable[[Batch], Awaitable[None]]
    ) -> Batch:
        token = self._ids.next().decode()
        window = max(2 * FLOW, WINDOW // (len(self._batches) + 1))
        batch = Batch(self._connection, f"{self._inbox}.{token}", token, messages, window)
        self._batches[token] = batch
        try:
            await send(batch)
        finally:
            self._batches.pop(token)
        return batch

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.publisher.timeout

    def _answered(self, subject: bytes, _: bytes, payload: bytes, headers: bytes | None) -> None:
        token = subject[len(self._inbox) + 1 :].split(b".", 1)[0].decode()
        batch = self._batches.get(token)
        # A message without payload is the answer to the start of an atomic batch, or says 503: no
        # stream listens, which the batch's own silence tells as well.
        if batch is not None and payload:
            batch.answer(decode_reply(payload))

    def _give_up(self) -> None:
        for batch in self._batches.values():
            batch.give_up()

    def _refused(self, subject: str) -> None:
        for batch in self._batches.values():
            for message in batch.messages:
                if message.subject.lower() == subject:
                    batch.error = forbidden(message.subject)
                    batch.give_up()
                    break


async def _parts(messages: Messages, most: int, most_bytes: int) -> AsyncIterator[list[Message]]:
    """No part but of one message is larger than that."""
    part: list[Message] = []
    size = 0
    async for message in iterate(messages):
        if part and (len(part) >= most or size + len(message.payload) > most_bytes):
            yield part
            part, size = [], 0
        part.append(message)
        size += len(message.payload)
    if part:
        yield part


class _Stopped(Exception):
    """Why a part ended early, and how many of its first messages are stored; ends in `publish`."""

    def __init__(self, stored: int, cause: WeftError) -> None:
        super().__init__(str(cause))
        self.stored = stored
        self.cause = cause
