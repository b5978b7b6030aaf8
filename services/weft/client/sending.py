"""Sends one item or a hundred thousand: pipelined while there are few, then in the server's
batches.

The first ones are pipelined until one of them proves to be new: its sequence is a bound for all
that follow, since batches report neither sequences nor duplicates.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Self

import msgspec

from weft.log.bulk_publishing import BulkPublisher, best_mode
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher

FEW = 256
"""This many are sent pipelined: a batch costs about 20 ms, which pays from here on."""


class Acknowledged(msgspec.Struct, frozen=True):
    sequence: int
    first: int
    count: int
    duplicates: int | None
    """See `PublishAck`."""


class Sending:
    """Publishes streams of messages; any number of tasks may use it at once."""

    def __init__(self, connection: Connection, publisher: Publisher) -> None:
        self._connection = connection
        self._publisher = publisher
        self._bulk: BulkPublisher | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._bulk is not None:
            await self._bulk.__aexit__(*error)

    async def publish(self, messages: AsyncIterator[Message]) -> Acknowledged:
        """Publish all, in order. Raises the same errors as `BulkPublisher.publish`."""
        sequence = count = duplicates = 0
        while True:
            few = await _take(messages, FEW)
            acks = await self._publisher.publish_many(few)
            new = [ack.sequence for ack in acks if not ack.duplicate]
            count += len(acks)
            duplicates += len(acks) - len(new)
            sequence = max([sequence, *(ack.sequence for ack in acks)])
            if len(few) < FEW:
                return Acknowledged(sequence, min(new, default=sequence + 1), count, duplicates)
            if new:
                break
        rest = await (await self._batches()).publish(messages)
        return Acknowledged(max(sequence, rest.sequence), min(new), count + rest.count, None)

    async def _batches(self) -> BulkPublisher:
        async with self._starting:
            if self._bulk is None:
                mode = await best_mode(self._connection)
                bulk = BulkPublisher(self._publisher, mode)
                self._bulk = await bulk.__aenter__()
            return self._bulk


async def _take(messages: AsyncIterator[Message], count: int) -> list[Message]:
    taken: list[Message] = []
    async for message in messages:
        taken.append(message)
        if len(taken) == count:
            break
    return taken
