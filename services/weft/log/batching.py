"""Publishing many at once by the server's batch protocols, several times as fast as one by one.

Fast ingest (ADR-50, nats-server 2.14, stream option `allow_batched`) stores each message as it
comes and answers every few hundred; a gap ends the batch, so order survives whatever happens.
Atomic batches (2.12, `allow_atomic`) are stored together with one sync to disk. Where neither is
to be had, messages go out pipelined. Message ids are the same in every retry and by every way, so
what was already stored is skipped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

import msgspec
import nats.nuid

from weft.log.api import call, error_of, forbidden
from weft.log.connection import Connection, Listener
from weft.log.publishing import (
    CHUNK_BYTES,
    WINDOW,
    Ack,
    Message,
    Messages,
    Publisher,
    command,
    each,
)
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.subjects import STREAM

PART_MESSAGES = 10_000
"""Held until the server has them all: what a lost connection makes us send again, at most."""
PART_BYTES = 16 * 1024 * 1024
ATOMIC_MESSAGES = 1_000
"""The server's limit of one atomic batch."""
FLOW = 500
"""Messages per answer that we ask for; the server may choose fewer."""
SILENCE_SECONDS = 2.0
"""Without a sign from the server for so long, a batch is given up and its rest sent anew."""

RETRY_SECONDS = 0.1
"""Before another batch where the last one stored nothing."""

_BATCHES_OFF = frozenset({10174, 10205})
"""Atomic or fast batches are disabled on the stream."""
_TOO_MANY = frozenset({10210, 10211})
"""As many batches are open on the stream as the server allows."""
_DUPLICATE = 10201


class Mode(StrEnum):
    """How many are published."""

    FAST = "fast"
    ATOMIC = "atomic"
    PIPELINED = "pipelined"


class BulkAck(msgspec.Struct, frozen=True):
    """All of them are stored."""

    sequence: int
    """Everything that was published, the duplicates too, is at or before this sequence."""
    count: int
    duplicates: int | None = None
    """How many were stored before; None where the server does not tell."""


async def best_mode(connection: Connection, stream: str = STREAM) -> Mode:
    """What suits the stream: atomic where every batch is synced to disk or replicated, fast ingest
    where the server may sync later. A credential that may not ask gets fast ingest, which falls
    back by itself."""
    try:
        config = (await call(connection, f"STREAM.INFO.{stream}"))["config"]
    except WeftError:
        return Mode.FAST
    synced = config.get("metadata", {}).get("weft.durability", "process") != "process"
    if synced and config.get("allow_atomic"):
        return Mode.ATOMIC
    return Mode.FAST if config.get("allow_batched") else Mode.PIPELINED


class BulkPublisher:
    """`async with BulkPublisher(connection, await best_mode(connection)) as bulk:`, for any number
    of tasks at once; each call of `publish` keeps the order of its messages."""

    def __init__(
        self, connection: Connection, mode: Mode = Mode.FAST, publisher: Publisher | None = None
    ) -> None:
        self.mode = mode
        self.publisher = publisher or Publisher(connection)
        self._own = publisher is None
        self._connection = connection
        self._inbox = connection.new_inbox()
        self._ids = nats.nuid.NUID()
        self._batches: dict[str, _Batch] = {}
        self._listener: Listener | None = None

    async def __aenter__(self) -> Self:
        if self._own:
            await self.publisher.__aenter__()
        self._listener = await self._connection.listen(f"{self._inbox}.>", self._answered)
        self._unwatch = [
            self._connection.on_reconnect(self._reconnected),
            self._connection.on_violation(self._refused),
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for unwatch in self._unwatch:
            unwatch()
        if self._listener is not None:
            await self._listener.close()
        if self._own:
            await self.publisher.__aexit__(kind, error, trace)

    async def publish(self, messages: Messages) -> BulkAck:
        """Publish all, in order, holding `PART_BYTES` of them at a time.

        Raises what `Publisher.publish` raises; the message says how many of the first are stored.
        Publishing all again is safe: the same message ids are skipped.
        """
        total = BulkAck(0, 0, 0)
        async for part in _parts(messages):
            try:
                ack = await self._publish_part(part)
            except WeftError as error:
                stored = total.count + getattr(error, "stored", 0)
                raise type(error)(f"only the first {stored} were stored: {error}") from None
            total = _sum(total, ack)
        return total

    async def _publish_part(self, part: list[Message]) -> BulkAck:
        if len(part) == 1 or self.mode is Mode.PIPELINED:
            return _pipelined(await self.publisher.publish_many(part))
        if self.mode is Mode.ATOMIC:
            return await self._atomic(part)
        return await self._fast(part)

    async def _fast(self, part: list[Message]) -> BulkAck:
        """All but the last in fast batches; the last alone, since its own ack bounds them all."""
        stored = 0
        deadline = self._deadline()
        while stored < len(part) - 1:
            batch = self._open(part[stored:-1])
            try:
                await batch.run()
            finally:
                self._batches.pop(batch.token)
            if batch.stored:
                stored += batch.stored
                deadline = self._deadline()
            if batch.off:
                self.mode = Mode.PIPELINED
                return _pipelined(await self.publisher.publish_many(part))
            if batch.error is not None:
                raise _after(stored, batch.error)
            if not batch.stored:
                await asyncio.sleep(RETRY_SECONDS)
            if asyncio.get_running_loop().time() > deadline:
                raise _after(stored, Unavailable("the server stopped answering; try again"))
        try:
            (last,) = await self.publisher.publish_many(part[-1:])
        except WeftError as error:
            raise _after(stored, error) from None
        return BulkAck(await self._bound(last), len(part), None)

    async def _bound(self, last: Ack) -> int:
        """A sequence that nothing of the part is after. A new last message is after all that were
        checked before it; a duplicate is not, then the end of the log is."""
        if not last.duplicate:
            return last.sequence
        try:
            info = await call(self._connection, f"STREAM.INFO.{STREAM}")
        except WeftError:
            return last.sequence
        return max(last.sequence, int(info["state"]["last_seq"]))

    async def _atomic(self, part: list[Message]) -> BulkAck:
        total = BulkAck(0, 0, 0)
        for start in range(0, len(part), ATOMIC_MESSAGES):
            piece = part[start : start + ATOMIC_MESSAGES]
            try:
                total = _sum(total, await self._atomic_piece(piece))
            except WeftError as error:
                raise _after(total.count, error) from None
        return total

    async def _atomic_piece(self, piece: list[Message]) -> BulkAck:
        """One atomic batch, again while its outcome is unknown. Refused for a duplicate it goes by
        fast ingest, which skips what the server has."""
        deadline = self._deadline()
        while len(piece) > 1:
            batch = self._open(piece)
            try:
                await batch.run_atomic()
            finally:
                self._batches.pop(batch.token)
            if batch.stored:
                return BulkAck(batch.sequence, len(piece), 0)
            if batch.error is not None:
                raise batch.error
            if batch.off:
                self.mode = Mode.FAST
            if batch.off or batch.duplicate:
                return await self._fast(piece)
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable("the server stopped answering; try again")
            await asyncio.sleep(RETRY_SECONDS)
        return _pipelined(await self.publisher.publish_many(piece))

    def _open(self, messages: Sequence[Message]) -> _Batch:
        token = self._ids.next().decode()
        batch = _Batch(self._connection, f"{self._inbox}.{token}", token, messages)
        self._batches[token] = batch
        return batch

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.publisher.timeout

    def _answered(self, subject: bytes, _: bytes, payload: bytes, headers: bytes | None) -> None:
        token = subject[len(self._inbox) + 1 :].split(b".", 1)[0].decode()
        batch = self._batches.get(token)
        # A message without payload is the answer to the start of an atomic batch, or says 503: no
        # stream listens, which the batch's own silence tells as well.
        if batch is not None and payload:
            batch.answer(_decode(payload))

    def _reconnected(self) -> None:
        for batch in self._batches.values():
            batch.give_up()

    def _refused(self, subject: str) -> None:
        for batch in self._batches.values():
            for message in batch.messages:
                if message.subject.lower() == subject:
                    batch.error = forbidden(message.subject)
                    batch.give_up()
                    break


class _Batch:
    """One batch on the wire and what the server has said of it."""

    def __init__(
        self, connection: Connection, inbox: str, token: str, messages: Sequence[Message]
    ) -> None:
        self.token = token
        self.messages = messages
        self.stored = 0
        """Of the first messages, how many are stored."""
        self.sequence = 0
        self.error: WeftError | None = None
        self.off = False
        """The stream takes no batches."""
        self.duplicate = False
        """An atomic batch holds something that is stored already; nothing of it was stored."""
        self._connection = connection
        self._inbox = inbox
        self._started = False
        self._over = False
        self._news = asyncio.Event()

    def answer(self, reply: _Reply) -> None:
        """Take in a flow ack, a gap, an error or the final ack."""
        if self._over:
            return
        if reply.type == "ack":
            self._started = True
            self.stored = max(self.stored, reply.seq)
        elif reply.error is not None:
            self._failed(reply.error, over=reply.type == "")
        elif reply.type == "":
            # A server without fast ingest answers each message; then `batch` is empty.
            self.off = not reply.batch
            self.stored = max(self.stored, reply.count)
            self.sequence = reply.seq
            self._over = True
        self._news.set()

    def give_up(self) -> None:
        self._over = True
        self._news.set()

    async def run(self) -> None:
        """Send by fast ingest and wait for the end, whatever it is."""
        await self._send([self._fast_command(0, 0)])
        await self._until(lambda: self._started)
        sent = 1
        chunk: list[bytes] = []
        size = 0
        while sent < len(self.messages) and not self._over:
            if sent - self.stored >= WINDOW:
                await self._send(chunk)
                chunk, size, limit = [], 0, sent - WINDOW // 2
                await self._until(lambda limit=limit: self.stored >= limit)
                continue
            chunk.append(self._fast_command(sent, 1))
            size += len(chunk[-1])
            sent += 1
            if size > CHUNK_BYTES:
                await self._send(chunk)
                chunk, size = [], 0
        if not self._over:
            chunk.append(self._end_command(sent))
            await self._send(chunk)
            await self._until(lambda: False)

    async def run_atomic(self) -> None:
        """Send as an atomic batch and wait for its commit."""
        last = len(self.messages) - 1
        chunk: list[bytes] = []
        for index, message in enumerate(self.messages):
            headers = {
                **message.headers,
                "Nats-Batch-Id": self.token,
                "Nats-Batch-Sequence": str(index + 1),
            }
            if index == last:
                headers["Nats-Batch-Commit"] = "1"
            reply = f"{self._inbox}.0" if index in (0, last) else ""
            staged = Message(message.subject, message.payload, message.message_id, headers)
            chunk.append(command(staged, reply, self._connection.max_payload))
            if len(chunk) == 100 or index == last:
                await self._send(chunk)
                chunk = []
        await self._until(lambda: False)
        if self.error is None and self.stored < len(self.messages):
            self.stored = 0

    def _fast_command(self, index: int, operation: int) -> bytes:
        reply = f"{self._inbox}.{FLOW}.fail.{index + 1}.{operation}.$FI"
        return command(self.messages[index], reply, self._connection.max_payload)

    def _end_command(self, sent: int) -> bytes:
        """Ends the batch and stores nothing."""
        reply = f"{self._inbox}.{FLOW}.fail.{sent + 1}.3.$FI"
        return command(Message(self.messages[0].subject, b""), reply, 0)

    async def _send(self, chunk: list[bytes]) -> None:
        await self._connection.write(b"".join(chunk))
        await asyncio.sleep(0)

    async def _until(self, reached: Any) -> None:
        """Until `reached`, or the batch is over, or the server is silent."""
        while not self._over and not reached():
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), SILENCE_SECONDS)
            except TimeoutError:
                self._over = True

    def _failed(self, error: dict[str, Any], over: bool) -> None:
        number = error.get("err_code")
        self._over = over
        if number in _BATCHES_OFF:
            self.off = True
        elif number == _DUPLICATE:
            self.duplicate = True
        elif number not in _TOO_MANY:
            failure = error_of(error, f"publish to {self.messages[0].subject}")
            # What passes by itself is retried by whoever opened the batch.
            self.error = None if isinstance(failure, Unavailable) else failure


class _Reply(msgspec.Struct):
    type: str = ""
    """`ack`, `gap`, `err`, or empty for the final one."""
    seq: int = 0
    """Of the batch in a flow ack, of the stream in the final one."""
    batch: str = ""
    count: int = 0
    """Of the final ack: how many of the first messages were taken."""
    error: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Reply).decode


async def _parts(messages: Messages) -> AsyncIterator[list[Message]]:
    part: list[Message] = []
    size = 0
    async for message in each(messages):
        part.append(message)
        size += len(message.payload)
        if len(part) >= PART_MESSAGES or size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _pipelined(acks: list[Ack]) -> BulkAck:
    sequence = max(ack.sequence for ack in acks)
    return BulkAck(sequence, len(acks), sum(ack.duplicate for ack in acks))


def _sum(one: BulkAck, two: BulkAck) -> BulkAck:
    known = one.duplicates is not None and two.duplicates is not None
    duplicates = (one.duplicates or 0) + (two.duplicates or 0) if known else None
    return BulkAck(max(one.sequence, two.sequence), one.count + two.count, duplicates)


def _after(stored: int, error: WeftError) -> WeftError:
    error.stored = stored  # type: ignore[attr-defined]
    return error
