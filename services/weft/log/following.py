"""Following the whole log in order from any sequence, without acks, as folds and replays do.

If a message does not have the next sequence, the stream's leader must confirm that those in between
no longer exist. Otherwise the follower discards its buffer and requests the messages again.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Any

import msgspec
import nats.errors

from weft.log import reading, stream_identity
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.pulling import Puller, RawMessage
from weft.log.record import LogRecord
from weft.log.stream_identity import StreamIdentity
from weft.log.wire import delivered
from weft_schemas.errors import Corrupt, NotFound, WeftError
from weft_schemas.subjects import STREAM

BATCH = 1_000
"""Records handed on at once, at most."""
BUFFER_BYTES = 64 * 1024 * 1024
"""Buffered bytes above which no more is requested."""
IDLE_CHECK_SECONDS = 2.0
"""How often an idle follower checks whether the log ends in deleted messages."""
INACTIVE_SECONDS = 60
"""After which the server drops the consumer of a follower that died."""


class Followed(msgspec.Struct, frozen=True):
    """The log between two sequences, complete."""

    records: list[LogRecord]
    """In order; empty if everything up to `through` was deleted."""
    through: int
    """Everything up to here was delivered or no longer exists."""
    identity: StreamIdentity
    """To store with `through`, and to pass to the next `Follower`."""


class Follower(Puller[Followed]):
    """`async with Follower(connection, after=checkpoint) as log: async for followed in log:`

    A batch is whatever has arrived without gaps; it never waits for more. `known` is the identity
    of the stream that is expected: `Corrupt` is raised if the stream is another one, at the start
    or later. While the server is away, the follower waits.

    With `subjects` it follows matching messages only.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        after: int = 0,
        known: StreamIdentity | None = None,
        subjects: str | None = None,
        batch: int = BATCH,
    ) -> None:
        super().__init__(connection)
        self.through = after
        self.identity = known
        self._subjects = subjects
        self._batch = batch
        self._bytes = self._consumer_sequence = 0
        self._checked = 0.0
        self._mark = b""

    def __str__(self) -> str:
        return f"follower of {STREAM} after {self.through}"

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__()
        await self._drop_consumer()

    async def _next(self) -> Followed | None:
        if not self._buffer:
            return await self._deleted_tail()
        records, problem = await self._complete()
        followed = self._advance(records, records[-1].sequence) if records else None
        if problem:
            await self._again(problem)
        else:
            self._top_up()
        return followed

    async def _complete(self) -> tuple[list[LogRecord], str]:
        """The buffered records that come next, and the problem with the one after them, if any."""
        records: list[LogRecord] = []
        position = self.through
        buffer = self._buffer
        while buffer and len(records) < self._batch:
            raw = buffer.popleft()
            self._bytes -= len(raw.payload)
            if self._mark not in raw.reply:
                continue  # of the previous consumer
            place = delivered(raw.reply)
            if place.consumer_sequence != self._consumer_sequence + 1:
                return records, f"message {place.stream_sequence} came out of turn"
            self._consumer_sequence += 1
            if place.stream_sequence <= position:
                continue
            has_gap = place.stream_sequence > position + 1 and not self._subjects
            if has_gap and (problem := await self._gap(position, place.stream_sequence)):
                return records, problem
            records.append(raw.record(place))
            position = place.stream_sequence
        return records, ""

    async def _gap(self, position: int, came: int) -> str:
        """Empty if the stream's leader confirms that nothing exists between the two."""
        try:
            exists = await reading.next_after(self._connection, position)
        except WeftError as error:
            return str(error)
        if exists is None or exists.sequence >= came:
            return ""
        return f"message {came} came, but {exists.sequence} exists"

    async def _deleted_tail(self) -> Followed | None:
        """A step over messages at the end that were deleted before they were delivered."""
        now = asyncio.get_running_loop().time()
        if self._subjects or self._stopped or now - self._checked < IDLE_CHECK_SECONDS:
            return None
        self._checked = now
        try:
            last = (await reading.state(self._connection)).last
            if last <= self.through:
                return None
            exists = await reading.next_after(self._connection, self.through)
        except WeftError as error:
            await self._again(str(error))
            return None
        if self._buffer:
            return None
        if exists is None:
            return self._advance([], last)
        await self._again(f"message {exists.sequence} exists and did not come")
        return None

    def _advance(self, records: list[LogRecord], through: int) -> Followed:
        assert self.identity is not None
        if records:
            self.identity = self.identity.at(records[-1])
        self.through = through
        return Followed(records, through, self.identity)

    async def _start(self) -> None:
        """Check the stream's identity and start from the next sequence."""
        if (known := self.identity) is None:
            self.identity = await stream_identity.identify(self._connection)
        else:
            self.identity = await stream_identity.check(self._connection, known, self.through)
        await self._make_consumer()

    def _gone(self, error: NotFound) -> WeftError:
        return Corrupt(f"{error}: the log is gone; provision and rebuild")

    async def _make_consumer(self) -> None:
        await self._drop_consumer()
        # Named in the request's subject, so that permissions can distinguish it from a worker's.
        name = f"follow-{secrets.token_hex(8)}"
        config: dict[str, Any] = {
            "name": name,
            "ack_policy": "none",
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self.through + 1,
            "replay_policy": "instant",
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": INACTIVE_SECONDS * 1_000_000_000,
        }
        if self._subjects:
            config["filter_subject"] = self._subjects
        body = {"stream_name": STREAM, "config": config}
        path = f"{name}.{self._subjects}" if self._subjects else name
        await call(self._connection, f"CONSUMER.CREATE.{STREAM}.{path}", body)
        self._buffer.clear()
        self._bytes = self._consumer_sequence = 0
        self._consumer = name
        self._mark = f".{name}.".encode()
        self._reset()

    async def _drop_consumer(self) -> None:
        name, self._consumer = self._consumer, ""
        if not name or not self._connection.is_connected:
            return
        with suppress(WeftError, nats.errors.Error):  # if it was gone already
            await call(self._connection, f"CONSUMER.DELETE.{STREAM}.{name}", timeout=1.0)

    def _wanted(self) -> int:
        return 0 if self._stopped or self._bytes > BUFFER_BYTES else 4 * self._batch

    def _came(self, raw: RawMessage) -> None:
        self._bytes += len(raw.payload)
