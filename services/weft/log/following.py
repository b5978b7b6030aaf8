"""Following the whole log in order from any sequence, without acks, as folds and replays do.

Every message must have the next sequence, or the stream's leader must confirm that those in between
no longer exist. Otherwise the follower discards what it has and requests it again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from typing import Any, Self

import msgspec
import nats.errors

from weft.log import identity, reading
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.identity import StreamIdentity
from weft.log.pulling import Puller, Raw
from weft.log.record import LogRecord
from weft.log.wire import delivered
from weft_schemas.errors import Corrupt, NotFound, Unavailable, WeftError
from weft_schemas.subjects import STREAM

BATCH = 1_000
"""Records handed on at once, at most."""
BUFFER_BYTES = 64 * 1024 * 1024
"""Buffered bytes above which no more is requested."""
IDLE_CHECK_SECONDS = 2.0
"""How often an idle follower checks whether the log ends in deleted messages."""
INACTIVE_SECONDS = 60
"""After which the server drops the consumer of a follower that died."""
GONE_SECONDS = 10.0
"""How long a missing stream may take to be provisioned again, counted in checks."""
LOOK_SECONDS = 0.2

_log = logging.getLogger(__name__)


class Followed(msgspec.Struct, frozen=True):
    """The log between two sequences, complete."""

    records: list[LogRecord]
    """In order; empty where everything up to `through` was deleted."""
    through: int
    """Everything up to here was delivered or no longer exists."""
    deleted: int
    """How many sequences between the last batch and `through` do not exist."""
    identity: StreamIdentity
    """To store with `through`, and to pass to the next `Follower`."""


class Follower:
    """`async with Follower(connection, after=checkpoint) as log: async for followed in log:`

    A batch is whatever has arrived without gaps; it never waits for more. `known` is the identity
    of the stream that is expected: `Corrupt` is raised if the stream is another one, at the start
    or later. While the server is away, the follower waits.

    With `subjects` it follows matching messages only; deleted messages then cannot be told from
    those that do not match, and are not counted.
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
        self.through = after
        self.identity = known
        self._connection = connection
        self._subjects = subjects
        self._batch = batch
        self._stopped = False
        self._bytes = 0
        self._consumer_sequence = 0
        self._checked = 0.0
        self._mark = b""
        self._puller = Puller(connection, self._wanted)
        self._puller.on_message = self._weigh

    @property
    def trouble(self) -> str:
        """Why nothing can come at the moment, empty while all is well."""
        return self._puller.trouble

    async def __aenter__(self) -> Self:
        await self._puller.open()
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._puller.close()
        await self._drop_consumer()

    def stop(self) -> None:
        """End the iteration after the batch in work."""
        self._stopped = True
        self._puller.wake()

    async def __aiter__(self) -> AsyncIterator[Followed]:
        while not self._stopped:
            followed = await self._next()
            if followed is not None:
                yield followed

    async def _next(self) -> Followed | None:
        await asyncio.sleep(0)
        if self._puller.trouble:
            await self._again(self._puller.trouble)
        if self._stopped:
            return None
        await self._puller.wait()
        if self._connection.is_closed:
            raise Unavailable("the connection that followed the log was closed; connect anew")
        if not self._puller.buffer:
            return await self._deleted_tail()
        records, problem = await self._take()
        followed = self._advance(records, records[-1].sequence) if records else None
        if problem:
            await self._again(problem)
        else:
            self._puller.top_up()
        return followed

    async def _take(self) -> tuple[list[LogRecord], str]:
        """The buffered records that come next, and the problem with the one after them, if any."""
        records: list[LogRecord] = []
        position = self.through
        buffer = self._puller.buffer
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
            if place.stream_sequence > position + 1 and not self._subjects:
                problem = await self._gap(position, place.stream_sequence)
                if problem:
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
        if self._subjects or now - self._checked < IDLE_CHECK_SECONDS:
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
        if self._puller.buffer:
            return None
        if exists is None:
            return self._advance([], last)
        await self._again(f"message {exists.sequence} exists and did not come")
        return None

    def _advance(self, records: list[LogRecord], through: int) -> Followed:
        assert self.identity is not None
        if records:
            self.identity = self.identity.at(records[-1])
        deleted = through - self.through - len(records)
        self.through = through
        return Followed(records, through, 0 if self._subjects else deleted, self.identity)

    async def _again(self, why: str) -> None:
        _log.info("following %s: %s; asking anew from %d", STREAM, why, self.through + 1)
        await asyncio.sleep(0.05)
        await self._begin()

    async def _begin(self) -> None:
        """Check the stream's identity and start from the next sequence; wait while the server is
        away."""
        missing = 0
        while not self._stopped and not self._connection.is_closed:
            try:
                await self._identify()
                await self._make_consumer()
                return
            except NotFound as error:
                missing += 1
                if missing * LOOK_SECONDS > GONE_SECONDS:
                    raise Corrupt(f"{error}: the log is gone; provision and rebuild") from None
            except Unavailable:
                missing = 0
            await asyncio.sleep(LOOK_SECONDS)

    async def _identify(self) -> None:
        if self.identity is None:
            self.identity = await identity.identify(self._connection)
        else:
            await identity.check(self._connection, self.identity, self.through)

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
        self._puller.buffer.clear()
        self._bytes = 0
        self._consumer_sequence = 0
        self._puller.consumer = name
        self._mark = f".{name}.".encode()
        self._puller.reset()

    async def _drop_consumer(self) -> None:
        name, self._puller.consumer = self._puller.consumer, ""
        if not name or not self._connection.is_connected:
            return
        try:
            await call(self._connection, f"CONSUMER.DELETE.{STREAM}.{name}", timeout=1.0)
        except (WeftError, nats.errors.Error):
            _log.debug("consumer %s was gone already", name)

    def _wanted(self) -> int:
        return 0 if self._stopped or self._bytes > BUFFER_BYTES else 4 * self._batch

    def _weigh(self, raw: Raw) -> None:
        self._bytes += len(raw.payload)
