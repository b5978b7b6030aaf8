"""A FastStream subscriber for events of the log: its batch pull subscriber, consuming by our own
bounded pulls (`log/consuming.py`; docs/decisions/faststream.md says why). A batch is whatever has
arrived, each event is acknowledged on its own; `ended` raises errors that no event caused."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from faststream.message import StreamMessage
from faststream.nats import JStream, PullSub
from faststream.nats.subscriber.usecases import BatchPullStreamSubscriber
from nats.aio.msg import Msg

from weft.log.connection import Connection
from weft.log.consuming import BATCH, Consumer, Delivery
from weft.log.record import LogRecord
from weft.log.timeouts import cancelled
from weft.log.wire import SETTLED, block_of, header
from weft.runtime.handlers import StraightToHandler
from weft_schemas.subjects import STREAM, stored_form


class EventSubscriber(StraightToHandler, BatchPullStreamSubscriber):
    """Passes batches of deliveries to its handler, one after the other, until `pause`."""

    def __init__(self, *parts: Any, durable: str, held: int) -> None:
        pulls = PullSub(batch_size=BATCH, batch=True)
        super().__init__(*parts, stream=JStream(STREAM, declare=False), pull_sub=pulls)
        self._durable = durable
        self._held = held
        self._parser = _parsed
        self._decoder = _deliveries
        self._is_paused = False
        self.before: Callable[[list[Delivery]], list[Delivery]] = list
        """Called with each batch; what it returns goes through the middlewares to the handler."""
        self.put_off: Callable[[int], float] = lambda deliveries: 0.0
        """After how many seconds an event that was begun and not finished is delivered again."""
        self._consumer: Consumer | None = None
        self._consuming: asyncio.Task[None] | None = None

    async def ended(self) -> None:
        """Return after `pause`, when the handler has finished every batch. Raises the handler's
        errors, and `ConfigurationError` and `Unavailable` as `Consumer` does."""
        assert self._consuming is not None, "start() comes before ended()"
        await self._consuming

    def pause(self) -> None:
        """Take no batch after the current one, and none at all if called before `start`."""
        self._is_paused = True
        if self._consumer is not None:
            self._consumer.stop()

    async def stop(self) -> None:
        """Return what is not finished to the server; acknowledgements are sent."""
        self.pause()
        await cancelled(self._consuming)
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.give_back(self.put_off)
            await consumer.__aexit__()
        await super().stop()

    async def _create_subscription(self) -> None:
        connection = self.connection
        assert isinstance(connection, Connection)
        consumer = Consumer(connection, self._durable, held=self._held)
        self._consumer = await consumer.__aenter__()
        if self._is_paused:
            consumer.stop()
        self._consuming = asyncio.create_task(self._consume_pull())

    async def _consume_pull(self) -> None:
        assert self._consumer is not None
        async for batch in self._consumer:
            if rest := self.before(batch):
                await self.process_message(rest)  # not `consume`, which swallows errors


async def _parsed(batch: list[Delivery] | list[Msg]) -> StreamMessage[Any]:
    return StreamMessage(batch, [one.data for one in batch])


async def _deliveries(message: StreamMessage[Any]) -> list[Delivery]:
    """Under FastStream's test broker they are nats-py's messages, which no log has stored."""
    return [one if isinstance(one, Delivery) else _unstored(one) for one in message.raw_message]


_sequences = itertools.count(1)


def _unstored(message: Msg) -> Delivery:
    place, block = (next(_sequences), stored_form(message.subject), 0), block_of(message.headers)
    record = LogRecord.of(*place, message.data, block, settled=header(block, SETTLED))
    return Delivery(record, b"", None)
