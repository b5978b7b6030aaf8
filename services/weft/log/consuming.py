"""A worker's side of a shared durable consumer: batches in, explicit acks out.

While a process lives, it extends the ack wait of its deliveries for up to `HOLD_SECONDS`. When it
ends, it gives them back; after it died, they are redelivered when the ack wait has passed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

import msgspec

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.pulling import Puller, RawMessage
from weft.log.record import LogRecord
from weft.log.timeouts import cancelled
from weft.log.wire import delivered
from weft_schemas.errors import ConfigurationError, NotFound, WeftError
from weft_schemas.subjects import STREAM

BATCH = 128
"""Most deliveries in a batch."""
HELD = 2 * BATCH
"""Deliveries held by one process: enough for the server's answers to overlap, few enough that a
crash causes little repeated work."""
HELD_BYTES = 32 * 1024 * 1024
"""Bytes of payloads held by one process, above which it requests no more."""
EXTEND_SECONDS = 3.0
"""How often the ack wait of held deliveries is extended: a third of it."""
HOLD_SECONDS = 300.0
"""After this a delivery is no longer extended and goes to another process."""
ACK = b"+ACK"


class Delivery:
    """One event to work on. Settle it with `ack` or `nak`; both are sent with the next write."""

    __slots__ = ("_consumer", "_reply", "record")

    def __init__(self, record: LogRecord, reply: bytes, consumer: Consumer | None) -> None:
        """Without a `consumer`, as under FastStream's test broker, nothing is sent."""
        self.record = record
        self._reply = reply
        self._consumer = consumer

    @property
    def data(self) -> bytes:
        return self.record.payload

    def ack(self) -> None:
        """Acknowledge: it is never delivered again."""
        self._settle(ACK)

    def nak(self, delay: float = 0.0) -> None:
        """Deliver it again, to any process, after `delay` seconds."""
        self._settle(_nak(delay))

    def _settle(self, verb: bytes) -> None:
        if self._consumer is not None:
            self._consumer.settle(self._reply, verb)


class Consumer(Puller[list[Delivery]]):
    """`async with Consumer(connection, "firewall") as consumer: async for batch in consumer:`

    A batch is whatever has arrived, from one delivery up to `batch`; it never waits for more. At
    most `held` deliveries are held or requested, by default twice `batch`. After `stop`, the
    iteration ends. If the consumer is deleted and not created again within `GONE_SECONDS`,
    `ConfigurationError` is raised.
    """

    def __init__(
        self, connection: Connection, durable: str, *, batch: int = BATCH, held: int | None = None
    ) -> None:
        super().__init__(connection, durable)
        self._batch = batch
        self._most_held = 2 * batch if held is None else held
        self._held: dict[bytes, _Hold] = {}
        self._held_bytes = 0
        self._overdue: set[bytes] = set()
        """Deliveries that were held for too long, until they are settled."""
        self._out: list[bytes] = []

    def __str__(self) -> str:
        return f"consumer {self._consumer}"

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Return deliveries that were not handed out, and send outstanding acks."""
        await cancelled(self._keeper)
        await super().__aexit__()
        for raw in self._buffer:
            self.settle(raw.reply, b"-NAK")
        self._buffer.clear()
        self._flush()
        await self._connection.flushed()

    def give_back(self, delay: Callable[[int], float]) -> None:
        """Return the deliveries that were handed out and not settled: each is delivered again after
        as many seconds as `delay` says for its number of deliveries."""
        buffered = {raw.reply for raw in self._buffer}
        for reply in self._held.keys() - buffered:
            self.settle(reply, _nak(delay(delivered(reply).deliveries)))

    async def _next(self) -> list[Delivery] | None:
        buffer = self._buffer
        raws = [buffer.popleft() for _ in range(min(self._batch, len(buffer)))]
        self._top_up()
        found = [Delivery(raw.record(delivered(raw.reply)), raw.reply, self) for raw in raws]
        return found or None

    def settle(self, reply: bytes, verb: bytes) -> None:
        """Answer a delivery; a second answer to the same one is not sent. If it was held for too
        long, only its completion is reported: others may work on it by now."""
        if (hold := self._held.pop(reply, None)) is not None:
            self._held_bytes -= hold.size
            self._send(reply, verb)
        elif reply in self._overdue:
            self._overdue.discard(reply)
            if verb == ACK:
                self._send(reply, verb)
        self._top_up()

    def _send(self, reply: bytes, verb: bytes) -> None:
        if not self._out:
            asyncio.get_running_loop().call_soon(self._flush)
        self._out.append(b"PUB %b %d\r\n%b\r\n" % (reply, len(verb), verb))

    def _flush(self) -> None:
        if self._out:
            self._connection.write_soon(b"".join(self._out))
            self._out.clear()

    def _wanted(self) -> int:
        """How many more may be requested, beside those handed out and not settled."""
        if self._stopped or self._held_bytes > HELD_BYTES:
            return 0
        in_work = len(self._held) + len(self._overdue) - len(self._buffer)
        return max(0, self._most_held - in_work)

    def _came(self, raw: RawMessage) -> None:
        now = asyncio.get_running_loop().time()
        self._held[raw.reply] = _Hold(len(raw.payload), now, now)
        self._held_bytes += len(raw.payload)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(EXTEND_SECONDS / 2)
            now = asyncio.get_running_loop().time()
            for reply, hold in tuple(self._held.items()):
                if now - hold.since > HOLD_SECONDS:
                    self._held.pop(reply)
                    self._held_bytes -= hold.size
                    self._overdue.add(reply)
                elif now - hold.said > EXTEND_SECONDS / 2:
                    hold.said = now
                    self._send(reply, b"+WPI")

    async def _start(self) -> None:
        await call(self._connection, f"CONSUMER.INFO.{STREAM}.{self._consumer}")
        self._reset()

    def _gone(self, error: NotFound) -> WeftError:
        return ConfigurationError(
            f"consumer {self._consumer} of stream {STREAM} does not exist; provision the log "
            "(weft up does), then start this worker again"
        )


def _nak(delay: float) -> bytes:
    return b'-NAK {"delay":%d}' % int(delay * 1e9) if delay else b"-NAK"


class _Hold(msgspec.Struct):
    size: int
    since: float
    said: float
