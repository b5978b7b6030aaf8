"""One batch on the wire: its commands, and the server's answers while it is sent.

The reply subject of a fast batch's message is `<inbox>.<id>.<flow>.<gap>.<n>.<operation>.$FI`;
operation 0 starts, 1 appends, 3 ends without a message. The server answers with flow acks (`seq`
of the first messages are stored), an error, and a final ack (`count` of the first were taken).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from weft.log.api import error_of
from weft.log.connection import Connection
from weft.log.message import Message, Reply, command
from weft.log.publishing import CHUNK_BYTES
from weft_schemas.errors import InvalidInput, Overloaded, Unavailable, WeftError

FLOW = 500
"""Messages per answer that we ask for, at most; the server may choose fewer."""
FLOW_BYTES = 512 * 1024
"""Bytes per answer that we ask for, which must come within `SILENCE_SECONDS` on a slow network."""
SILENCE_SECONDS = 2.0
"""Without an answer for so long, a batch is given up and the rest of it is sent in another."""

COMMIT_SECONDS = 5.0
"""The same for the commit of an atomic batch, before which the server says nothing."""

_END = sys.maxsize
_ATOMIC_CHUNK = 100
_BATCHES_OFF = frozenset({10174, 10205})
"""Atomic or fast batches are disabled on the stream."""
_TOO_MANY = frozenset({10210, 10211})
"""As many batches are open on the stream as the server allows."""
_DUPLICATE = 10201


class Batch:
    """One batch of messages. Run it once; then `stored`, `error`, `off` or `duplicate` tell the
    result. If none of them is set, the result is unknown."""

    def __init__(
        self,
        connection: Connection,
        inbox: str,
        token: str,
        messages: Sequence[Message],
        window: int,
    ) -> None:
        """`window`: most messages without an answer at a time."""
        self.token = token
        self.messages = messages
        self.stored = 0
        """Of the first messages, how many are stored."""
        self.sequence = 0
        self.error: WeftError | None = None
        self.off = False
        """The stream takes no batches."""
        self.passing: WeftError | None = None
        """A temporary error from the server; the result is then unknown."""
        self.duplicate = False
        """The atomic batch holds a message that is stored already, so none of it was stored."""
        self._connection = connection
        self._inbox = inbox
        self._window = window
        size = sum(len(message.payload) for message in messages) // len(messages)
        self._flow = max(1, min(FLOW, FLOW_BYTES // max(1, size)))
        self._started = False
        self._over = False
        self._news = asyncio.Event()

    def answer(self, reply: Reply) -> None:
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
        """Stop waiting: the connection was replaced, or the server refused the subject."""
        self._over = True
        self._news.set()

    async def run(self) -> None:
        """Send by fast ingest and wait for the result. What cannot be sent ends the batch."""
        sent = size = 0
        chunk: list[bytes] = []
        invalid: InvalidInput | None = None
        while sent < len(self.messages) and not self._over:
            try:
                reply = self._reply(sent, 1 if sent else 0)
                chunk.append(command(self.messages[sent], reply, self._connection.max_payload))
            except InvalidInput as error:
                invalid = error
                break
            size += len(chunk[-1])
            sent += 1
            full = sent - self.stored >= self._window
            if size > CHUNK_BYTES or full or sent == 1:
                await self._send(chunk)
                chunk, size = [], 0
                await self._until(sent - self._window // 2 if full else 0)
        if sent and not self._over:
            end = Message(self.messages[0].subject, b"")  # stores nothing
            chunk.append(command(end, self._reply(sent, 3), 0))
            await self._send(chunk)
            await self._until(_END)
        self.error = self.error or invalid

    async def run_atomic(self) -> None:
        """Send as an atomic batch and wait for its commit: all messages are sent, or none."""
        try:
            commands = [self._atomic_command(index) for index in range(len(self.messages))]
        except InvalidInput as error:
            self.error = error
            return
        for start in range(0, len(commands), _ATOMIC_CHUNK):
            await self._send(commands[start : start + _ATOMIC_CHUNK])
        self._started = True
        await self._until(_END, COMMIT_SECONDS)
        if self.stored < len(self.messages):
            self.stored = 0

    def _reply(self, index: int, operation: int) -> str:
        return f"{self._inbox}.{self._flow}.fail.{index + 1}.{operation}.$FI"

    def _atomic_command(self, index: int) -> bytes:
        message = self.messages[index]
        last = index == len(self.messages) - 1
        batch = {"Nats-Batch-Id": self.token, "Nats-Batch-Sequence": str(index + 1)}
        headers = {**message.headers, **batch}
        if last:
            headers["Nats-Batch-Commit"] = "1"
        reply = f"{self._inbox}.0" if last or not index else ""
        staged = Message(message.subject, message.payload, message.message_id, headers)
        return command(staged, reply, self._connection.max_payload)

    async def _send(self, chunk: list[bytes]) -> None:
        await self._connection.write(b"".join(chunk))
        await asyncio.sleep(0)

    async def _until(self, stored: int, silence_seconds: float = SILENCE_SECONDS) -> None:
        """Wait until the batch has started and so many of its messages are stored, or it is over,
        or the server was silent for `silence_seconds` seconds."""
        while not self._over and not (self._started and self.stored >= stored):
            self._news.clear()
            try:
                async with asyncio.timeout(silence_seconds):
                    await self._news.wait()
            except TimeoutError:
                self._over = True

    def _failed(self, error: dict[str, Any], over: bool) -> None:
        number = error.get("err_code")
        self._over = over
        if number in _BATCHES_OFF:
            self.off = True
        elif number == _DUPLICATE:
            self.duplicate = True
        elif number in _TOO_MANY:
            self.passing = Overloaded("as many batches are open as the server allows; try later")
        else:
            failure = error_of(error, f"publish to {self.messages[0].subject}")
            # The caller retries temporary errors.
            if isinstance(failure, Unavailable):
                self.passing = failure
            else:
                self.error = failure
