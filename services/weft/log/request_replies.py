"""Requests over one connection and their replies, which go straight from the socket to the waiting
task: nats-py passes each through a queue and three tasks, a tenth of a short request's time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import nats.errors

from weft.log.trace_context import current_trace
from weft.log.wire import header, header_block, publish_command, status

if TYPE_CHECKING:
    from weft.log.connection import Connection


class Reply(NamedTuple):
    """A reply to a request."""

    payload: bytes
    headers: bytes | None
    """The raw header block."""

    def header(self, name: str) -> str:
        """One header's value, empty where it is absent."""
        return header(self.headers, name.encode())


class RequestReplies:
    """The requests of one connection that have no reply yet."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._inbox = ""
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._unsent: dict[int, bytes] = {}
        """Requests made while the connection was down."""
        self._last = 0

    async def ask(self, subject: str, payload: bytes) -> asyncio.Future[Reply]:
        """Send a request, as part of the program's current trace. The future gets the reply, or
        nats-py's `NoRespondersError`; cancel it to give up.

        Raises `InvalidInput` for a subject with white space, and what nats-py raises.
        """
        connection = self._connection
        if connection.is_closed:
            raise nats.errors.ConnectionClosedError
        if len(payload) > connection.max_payload:
            raise nats.errors.MaxPayloadError
        if not self._inbox:
            await self._open()
        self._last += 1
        token = self._last
        trace = current_trace()
        headers = header_block({"traceparent": trace}) if trace else b""
        command = publish_command(subject, f"{self._inbox}.{token}", headers, payload)
        reply = self._waiting[token] = asyncio.get_running_loop().create_future()
        reply.add_done_callback(lambda _: self._forget(token))
        if connection.is_up:
            connection.write_now(command)
        else:
            self._unsent[token] = command
        return reply

    async def _open(self) -> None:
        self._inbox = self._connection.new_inbox()
        try:
            await self._connection.listen(f"{self._inbox}.*", self._replied)
        except BaseException:
            self._inbox = ""
            raise
        self._connection.on_reconnect(self._send_unsent)

    def _replied(self, subject: bytes, _: bytes, payload: bytes, headers: bytes | None) -> None:
        reply = self._waiting.get(int(subject[len(self._inbox) + 1 :]))
        if reply is None or reply.done():
            return
        if status(headers)[0] == 503:
            reply.set_exception(nats.errors.NoRespondersError())
        else:
            reply.set_result(Reply(bytes(payload), headers))

    def _forget(self, token: int) -> None:
        self._waiting.pop(token, None)
        self._unsent.pop(token, None)

    def _send_unsent(self) -> None:
        for command in self._unsent.values():
            self._connection.write_soon(command)
        self._unsent.clear()
