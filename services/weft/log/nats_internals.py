"""The connection by nats-py's internals, all uses of which are here (docs/decisions/transport.md
says why). Two of nats-py's behaviours are also unsafe, see `Parser` and `_connect_command`."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any

import msgspec
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.aio.transport import TcpTransport
from nats.errors import ProtocolError
from nats.protocol.parser import AWAITING_CONTROL_LINE, AWAITING_MSG_PAYLOAD
from nats.protocol.parser import Parser as Base

from weft.log.connect_errors import WithoutTls
from weft.log.connection import (
    CANCEL_SECONDS,
    FLUSH_SECONDS,
    PENDING_BYTES,
    Connection,
    Handler,
    Listener,
)
from weft.log.timeouts import done_within

_log = logging.getLogger(__name__)

INTERNALS = {
    "Client": "_ps _pending _pending_data_size _flush_queue _transport _server_info _pongs "
    "_error_cb _flush_pending(force_flush) _close(status,do_cbs) _connect_command() "
    "_connect_to_server(s) _process_msg(sid,subject,reply,data,headers) _process_ping() "
    "_process_pong() _process_err(err_msg) _process_op_err(e) "
    "_process_info(info,initial_connection)",
    "Parser": "nc buf state needed header_needed msg_arg parse(data)",
    "Subscription": "_id",
    "TcpTransport": "_io_writer",
}
"""Attributes that are used here, and methods with their parameters."""


def missing_internals() -> list[str]:
    """The internals used here that nats-py lacks; empty if none is missing."""
    client = Client()
    socket = TcpTransport()  # type: ignore[no-untyped-call]
    objects = (client, Base(client), Subscription(client), socket)
    return [
        f"{owner}.{internal}"
        for (owner, internals), held in zip(INTERNALS.items(), objects, strict=True)
        for internal in internals.split()
        if not _has(held, internal)
    ]


def _has(held: object, internal: str) -> bool:
    name, bracket, parameters = internal.rstrip(")").partition("(")
    if not bracket or not hasattr(held, name):
        return hasattr(held, name)
    return ",".join(inspect.signature(getattr(held, name)).parameters) == parameters


class FastConnection(Connection):
    """`Connection` without nats-py's queues between socket and handler."""

    def __init__(self, only_tls: bool = False) -> None:
        super().__init__(only_tls)
        self._ps = Parser(self)
        self._handlers: dict[int, Handler] = {}
        self._is_taken = False
        """Whether a server ever accepted the connection."""

    @property
    def is_of_cluster(self) -> bool:
        return bool(self._server_info.get("cluster"))

    @property
    def is_met_with_silence(self) -> bool:
        return self._is_taken and isinstance(self.last_error, TimeoutError | None)

    @property
    def wants_certificate(self) -> bool:
        return bool(self._server_info.get("tls_verify"))

    async def listen(self, subject: str, handler: Handler, queue: str = "") -> Listener:
        subscription = await self.subscribe(subject, queue, cb=_ignored)
        self._handlers[subscription._id] = handler
        return Listener(self, subscription)

    async def unlisten(self, subscription: Any) -> None:
        try:
            await subscription.unsubscribe()
            await self.flushed()
        finally:
            self._handlers.pop(subscription._id, None)

    def write_soon(self, commands: bytes) -> None:
        if not self.is_up:
            return
        self._pending.append(commands)
        self._pending_data_size += len(commands)
        queue = self._flush_queue
        if queue is not None and queue.empty():
            queue.put_nowait(asyncio.get_running_loop().create_future())

    async def write(self, commands: bytes) -> None:
        self.write_soon(commands)
        if self._pending_data_size > PENDING_BYTES:
            await self._flush_pending(force_flush=True)

    async def flushed(self) -> bool:
        if not self.is_up:
            return False
        # Not nats-py's `flush`: it forgets a ping whose answer is late, and that answer then ends
        # its read loop. It also sends the ping ahead of queued commands.
        pong: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._pongs.append(pong)
        self.write_soon(b"PING\r\n")
        return await done_within(pong, FLUSH_SECONDS)

    def _drop_queued(self) -> None:
        self._pending, self._pending_data_size = [], 0

    async def _process_op_err(self, e: Exception) -> None:
        was_connected = self.is_connected
        await super()._process_op_err(e)
        if was_connected:  # at once: a request that is queued from now on is sent after a reconnect
            self._drop_queued()

    async def abandon(self) -> None:
        self._error_cb = _ignored
        await self._ended(self._close(Client.CLOSED, do_cbs=False), CANCEL_SECONDS)

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        if (handler := self._handlers.get(sid)) is not None:
            self._hand_on(handler, subject, reply, data, headers)
            return
        try:
            await super()._process_msg(sid, subject, reply, data, headers)
        except Exception as error:
            # nats-py would silently stop reading for good.
            _log.error("a message could not be taken in", exc_info=error)

    async def _connect_to_server(self, server: Any) -> None:
        if isinstance(self._transport, TcpTransport):
            # nats-py leaves the socket of a failed attempt to the garbage collector.
            self._transport.close()  # type: ignore[no-untyped-call]
        try:
            await super()._connect_to_server(server)
            self._is_taken = True
        finally:
            # Python 3.11's `wait_for` loses a cancellation that comes just as the attempt ends.
            # nats-py would then retry for ever, and the process would never exit.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError

    def _connect_command(self) -> bytes:
        # CONNECT holds the credential, and nats-py does as the server asks: a man in the middle
        # could have it sent in the clear.
        is_plain = not self._server_info.get("tls_required")
        if self._only_tls and is_plain:
            raise WithoutTls("the server asks for no TLS, and nothing is sent to it in the clear")
        # Tell asyncio's stream that it speaks TLS now, which nats-py does not: otherwise asyncio
        # warns about it when the connection ends.
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None and writer.get_extra_info("ssl_object") is not None:
            protocol = writer.transport.get_protocol()
            if hasattr(protocol, "_over_ssl"):
                protocol._over_ssl = True
        command: bytes = super()._connect_command()
        return command


async def _ignored(_: Any) -> None:
    """For messages of a listener, which go to its handler, and for an error that is raised."""


MAX_LINE_BYTES = 1024 * 1024
"""Longest protocol line that is accepted; the longest real one, INFO, names a cluster's servers."""


class Parser(Base):
    """Parses the server's protocol by its exact separators: single spaces, and CR LF at line ends.

    nats-py splits lines at all white space: a subject with a vertical tab or a form feed in it,
    which any agent can publish, would break the connection of every subscriber again and again.
    """

    async def parse(self, data: bytes = b"") -> None:
        """Take in bytes, and pass on each complete message and command.

        Raises `ProtocolError` for anything else; the client then reconnects.
        """
        self.buf.extend(data)
        while self.buf:
            if self.state == AWAITING_MSG_PAYLOAD:
                if len(self.buf) < self.needed + 2:
                    return
                await self._message()
                continue
            end = self.buf.find(b"\r\n")
            if end < 0:
                if len(self.buf) > MAX_LINE_BYTES:
                    raise ProtocolError("nats: a line without an end")
                return
            line = bytes(self.buf[:end])
            del self.buf[: end + 2]
            await self._line(line)

    async def _message(self) -> None:
        headers = bytes(self.buf[: self.header_needed]) or None
        payload = bytes(self.buf[self.header_needed : self.needed])
        del self.buf[: self.needed + 2]
        self.state, self.header_needed = AWAITING_CONTROL_LINE, 0
        sid, subject, reply = self.msg_arg["sid"], self.msg_arg["subject"], self.msg_arg["reply"]
        await self.nc._process_msg(sid, subject, reply, payload, headers)

    async def _line(self, line: bytes) -> None:
        verb, _, rest = line.partition(b" ")
        verb = verb.upper()
        if verb == b"MSG":
            self._announced(rest.split(b" "), 1)
        elif verb == b"HMSG":
            self._announced(rest.split(b" "), 2)
        elif verb == b"PING":
            await self.nc._process_ping()
        elif verb == b"PONG":
            await self.nc._process_pong()
        elif verb == b"-ERR":
            await self.nc._process_err(rest.decode("utf-8", "replace").lower())
        elif verb == b"INFO":
            await self.nc._process_info(msgspec.json.decode(rest))
        elif verb != b"+OK":
            raise ProtocolError("nats: unknown protocol")

    def _announced(self, words: list[bytes], sizes: int) -> None:
        """`subject sid [reply] [header size] size` of the message that follows."""
        try:
            *place, last = words
            headers = place.pop() if sizes == 2 else b"0"
            subject, sid, *reply = place
            self.header_needed, self.needed = int(headers), int(last)
            self.msg_arg = {"subject": subject, "sid": int(sid), "reply": b"".join(reply)}
        except ValueError:
            raise ProtocolError("nats: malformed MSG") from None
        self.state = AWAITING_MSG_PAYLOAD
