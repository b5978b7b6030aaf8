"""Publishing with acknowledgements: one message, or many in a bounded window.

A message without an answer is sent again under the same message id until its time is up: nothing
acknowledged is lost, and nothing is stored twice. Every publish ends as exactly one of:
acknowledged (an `Ack`), refused (an error; it is not stored), unknown (`Unavailable`: it may be
stored; publishing it again under the same id settles it).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from weft.log.in_flight import InFlight
from weft.log.message import Ack, Message, Messages, Outcome, iterate
from weft_schemas.errors import WeftError

CHUNK_BYTES = 64 * 1024
"""Handed to the socket at once."""


class Publisher(InFlight):
    """`async with Publisher(connection) as publisher:`, for any number of tasks at once."""

    async def publish(
        self,
        subject: str,
        payload: bytes,
        message_id: str = "",
        headers: dict[str, str] | None = None,
    ) -> Ack:
        """Publish one message and wait for its acknowledgement.

        Raises `Unavailable` if the outcome is unknown, and `Overloaded`, `Forbidden`,
        `Conflict`, `InvalidInput` or `ConfigurationError` if it was refused.
        """
        (ack,) = await self.publish_many([Message(subject, payload, message_id, headers or {})])
        return ack

    def send(self, messages: Sequence[Message], settled: Callable[[list[Outcome]], None]) -> None:
        """Publish a few messages and return at once; `settled` is called with every outcome, in
        order, when all are known. This does not respect the window: wait for `room` first.

        An error that `settled` raises goes to the event loop's exception handler, since other
        publishes depend on the same task.
        """
        outcomes: dict[int, Outcome] = {}

        def one(index: int, outcome: Outcome) -> None:
            outcomes[index] = outcome
            if len(outcomes) < len(messages):
                return
            try:
                settled([outcomes[at] for at in range(len(messages))])
            except Exception as error:
                what = {"message": f"callback of a publish failed: {settled!r}", "exception": error}
                asyncio.get_running_loop().call_exception_handler(what)

        for index, message in enumerate(messages):
            self.connection.write_soon(self._launch(message, index, one))

    async def publish_many(self, messages: Messages) -> list[Ack]:
        """Publish many and return their acks in order. Memory is bounded by the window and the
        acks. Raises the first failure, when all outcomes are known."""
        outcomes = await self.attempt_many(messages)
        acks = [outcome for outcome in outcomes if isinstance(outcome, Ack)]
        for first in (outcome for outcome in outcomes if isinstance(outcome, WeftError)):
            if len(outcomes) == 1:
                raise first
            lost = f"{len(outcomes) - len(acks)} of {len(outcomes)} messages"
            raise type(first)(f"{lost} are not known to be stored: {first}")
        return acks

    async def attempt_many(self, messages: Messages) -> list[Outcome]:
        """Publish many and return every outcome, in order of the messages."""
        write = self.connection.write
        outcomes: dict[int, Outcome] = {}
        count = size = 0
        all_known = asyncio.Event()
        chunk: list[bytes] = []

        def settled(index: int, outcome: Outcome) -> None:
            outcomes[index] = outcome
            if len(outcomes) == count:
                all_known.set()

        async for message in iterate(messages):
            if self._is_full():
                await write(b"".join(chunk))
                chunk, size = [], 0
                await self.room()
            count += 1
            piece = self._launch(message, count - 1, settled)
            chunk.append(piece)
            size += len(piece)
            if size > CHUNK_BYTES:
                await write(b"".join(chunk))
                chunk, size = [], 0
                await asyncio.sleep(0)
        self.connection.write_soon(b"".join(chunk))
        while len(outcomes) < count:
            all_known.clear()
            await all_known.wait()
        return [outcomes[at] for at in range(count)]
