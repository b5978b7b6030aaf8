"""The connection to the log: nats-py, quiet, with one clear line for whatever goes wrong.

Bulk work needs two things that nats-py has no public form of: writing many commands at once, and
taking messages in without a task and a queue per subscription. Both are here and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.aio.transport import TcpTransport

from weft.log.credentials import credentials_file, tls_context
from weft.log.patience import done_within
from weft.log.protocol import Parser
from weft.log.refusal import PlainError, RefusedError, refusal
from weft.log.replies import Replies
from weft_schemas.errors import WeftError

CONNECT_SECONDS = 3.0
SILENT_SECONDS = 20.0
"""So much longer where a server takes connections and does not speak yet: it is there, and starts,
recovers or is held up. Who was told that nobody is there would only ask again."""
RECONNECT_WAIT_SECONDS = 0.25
"""Between attempts. nats-py's 2 s would be most of the gap after a server's restart."""
PING_SECONDS = 2
"""A server that answers no ping three times is left: a frozen or cut-off one closes no socket, and
nats-py's default would notice after six minutes."""
FLUSH_SECONDS = 2
CANCEL_SECONDS = 0.2
"""For nats-py to let go of a connection that did not come about."""
PENDING_BYTES = 8 * 1024 * 1024
"""Written and not yet taken by the socket; above it a writer waits."""
_OPTIONS: dict[str, Any] = {
    "allow_reconnect": True,
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": RECONNECT_WAIT_SECONDS,
    "ping_interval": PING_SECONDS,
    "pending_size": PENDING_BYTES,
}

Handler = Callable[[bytes, bytes, bytes, bytes | None], None]
"""`(subject, reply, payload, header block)`; called in order, must not block."""

_log = logging.getLogger(__name__)
_VIOLATION = re.compile(r"permissions violation for publish to \"([^\"]+)\"", re.IGNORECASE)


class Listener:
    """A subscription whose messages go straight to a handler."""

    def __init__(self, connection: Connection, subscription: Any) -> None:
        self._connection = connection
        self._subscription = subscription

    async def close(self) -> None:
        """Unsubscribe; what the server sent before it took note still reaches the handler."""
        if self._connection.is_closed:
            return
        try:
            await self._subscription.unsubscribe()
            await self._connection.flushed()
        except (nats.errors.Error, OSError):
            pass
        finally:
            self._connection.forget(self._subscription)


class Connection(Client):
    """A nats-py client that remembers refusals, tells of reconnects, and does bulk work."""

    def __init__(self, only_tls: bool = False) -> None:
        super().__init__()
        self._ps = Parser(self)
        self._only_tls = only_tls
        self._handlers: dict[int, Handler] = {}
        self._violation_watchers: list[Callable[[str], None]] = []
        self._reconnect_watchers: list[Callable[[], None]] = []
        self._down = False
        self._is_taken = False
        """Whether a server ever took the connection, whatever it said."""
        self.replies = Replies(self)

    @property
    def is_up(self) -> bool:
        """Whether what is written now goes to a server."""
        return not self._down and self.is_connected

    @property
    def is_met_with_silence(self) -> bool:
        """Whether a server took the connection and nothing is wrong but that it does not answer."""
        return self._is_taken and isinstance(self.last_error, TimeoutError | None)

    async def listen(self, subject: str, handler: Handler, queue: str = "") -> Listener:
        """Subscribe `handler` to a subject, as one of a queue group if one is named; it outlives
        reconnects."""
        subscription = await self.subscribe(subject, queue, cb=_unused)
        self._handlers[subscription._id] = handler
        return Listener(self, subscription)

    def forget(self, subscription: Any) -> None:
        self._handlers.pop(subscription._id, None)

    def write_soon(self, commands: bytes) -> None:
        """Queue protocol commands for the next write to the socket.

        While the connection is down they are dropped: kept, they would overtake what was lost in
        the old socket. Who waits for an answer sends again when told of the reconnect.
        """
        if not self.is_up:
            return
        self._pending.append(commands)
        self._pending_data_size += len(commands)
        queue = self._flush_queue
        if queue is not None and queue.empty():
            queue.put_nowait(asyncio.get_running_loop().create_future())

    def write_now(self, commands: bytes) -> None:
        """The same for what somebody waits for: it goes to the socket at once, without a turn of
        the event loop for nats-py's flusher, where nothing else waits to be written."""
        transport = self._transport
        writer = transport._io_writer if isinstance(transport, TcpTransport) else None
        if writer is None or self._pending or writer.transport.get_write_buffer_size():
            self.write_soon(commands)
        elif self.is_up:
            writer.write(commands)

    async def write(self, commands: bytes) -> None:
        """Queue protocol commands, and wait while the socket is far behind."""
        self.write_soon(commands)
        if self._pending_data_size > PENDING_BYTES:
            await self._flush_pending(force_flush=True)

    async def flushed(self) -> bool:
        """Whether the server says within `FLUSH_SECONDS` that it has what was written. Who ends can
        do nothing about a server that does not."""
        if not self.is_up:
            return False
        # Not nats-py's `flush`: it forgets a ping whose answer is late, and ends its reading for
        # that answer. It also sends the ping ahead of what waits to be written.
        pong: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._pongs.append(pong)
        self.write_soon(b"PING\r\n")
        return await done_within(pong, FLUSH_SECONDS)

    async def close(self) -> None:
        """Close, whatever became of the socket. What is left to be written goes with one that takes
        no more: nats-py would fail on it, or wait for ever."""
        if not await self.flushed():
            self._pending, self._pending_data_size = [], 0
        await super().close()

    def on_violation(self, watcher: Callable[[str], None]) -> Callable[[], None]:
        """Call `watcher` with each subject, in lower case, on which the server drops what this
        client sends; returns how to stop that. The dropped message itself is never answered."""
        self._violation_watchers.append(watcher)
        return lambda: self._violation_watchers.remove(watcher)

    def on_reconnect(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each reconnect; returns how to stop that."""
        self._reconnect_watchers.append(watcher)
        return lambda: self._reconnect_watchers.remove(watcher)

    def callbacks(self) -> dict[str, Any]:
        """By which nats-py tells this client what happens to it."""
        return {
            "error_cb": self._on_error,
            "disconnected_cb": self._on_disconnect,
            "reconnected_cb": self._on_reconnect,
        }

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        handler = self._handlers.get(sid)
        try:
            if handler is None:
                await super()._process_msg(sid, subject, reply, data, headers)
            else:
                handler(subject, reply, data, headers)
        except Exception as error:
            # nats-py would stop reading for good, without a word to anybody.
            _log.error("a message could not be taken in", exc_info=error)

    async def _connect_to_server(self, server: Any) -> None:
        if isinstance(self._transport, TcpTransport):
            # nats-py leaves the socket of an attempt that came to nothing to the garbage collector.
            self._transport.close()  # type: ignore[no-untyped-call]
        try:
            await super()._connect_to_server(server)
            self._is_taken = True
        finally:
            # Python 3.11's `wait_for` loses a cancellation that comes as the attempt ends. nats-py
            # would try for ever then, and the process wait for it at its end.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError

    def _connect_command(self) -> bytes:
        # It holds the credential, and nats-py goes by what the server asks for: whoever sits in
        # between could have it sent in the clear.
        is_plain = not self._server_info.get("tls_required")
        if self._only_tls and is_plain:
            raise PlainError("the server asks for no TLS, and nothing is sent to it in the clear")
        command: bytes = super()._connect_command()
        return command

    async def _on_error(self, error: Exception) -> None:
        if self.is_connecting and "authorization" in str(error).lower():
            raise RefusedError  # out of nats-py's loop, which would try the same again for ever
        match = _VIOLATION.search(str(error))
        if match:
            # nats-py gives the server's text in lower case.
            for watcher in tuple(self._violation_watchers):
                watcher(match.group(1).lower())
        _log.info("nats: %s", str(error).removeprefix("nats: ") or type(error).__name__)

    async def _on_disconnect(self) -> None:
        self._down = True
        self._pending = []
        self._pending_data_size = 0

    async def _on_reconnect(self) -> None:
        _log.info("nats: connected again to %s", self.connected_url and self.connected_url.netloc)
        self._down = False
        for watcher in tuple(self._reconnect_watchers):
            watcher()


async def connect(
    url: str,
    *,
    name: str = "weft",
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    creds: str | None = None,
    tls_ca: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    timeout: float = CONNECT_SECONDS,
) -> Connection:
    """Connect to one or more servers (URLs separated by commas) and keep reconnecting.

    `creds` is a credentials file, the `tls_` ones are PEM files. Raises `Unavailable` where no
    server answers within `timeout` seconds (`SILENT_SECONDS` later where one is there), `Forbidden`
    where it refuses the credential and `ConfigurationError` where a file cannot be used.
    """
    logging.getLogger("asyncio").addFilter(_is_news)
    servers = [part.strip() for part in url.split(",")]
    credential = {
        "user": user,
        "password": password,
        "token": token,
        "user_credentials": credentials_file(creds) if creds else None,
        "tls": tls_context(tls_ca, tls_cert, tls_key),
    }
    given = {key: value for key, value in credential.items() if value is not None}
    connection = Connection(only_tls=_asks_for_tls(servers, given))
    options = {**_OPTIONS, "name": name, "connect_timeout": timeout, **given}
    attempt = asyncio.create_task(connection.connect(servers, **connection.callbacks(), **options))
    try:
        # nats-py retries for ever where reconnects are unlimited; the timeout ends that.
        if not await done_within(attempt, timeout) and connection.is_met_with_silence:
            await done_within(attempt, SILENT_SECONDS)
    finally:
        await _stopped(attempt)
    if attempt.cancelled() or attempt.exception() is not None:
        error = TimeoutError() if attempt.cancelled() else attempt.exception()
        raise await _failed(connection, url, error, bool(tls_cert))
    return connection


def _asks_for_tls(servers: list[str], given: dict[str, Any]) -> bool:
    # A WebSocket says itself, by its scheme, whether it is encrypted.
    if all(server.startswith(("ws://", "wss://")) for server in servers):
        return False
    return "tls" in given or any(server.startswith("tls://") for server in servers)


async def _stopped(task: asyncio.Task[None]) -> None:
    """Cancel until it has ended: over TLS nats-py waits for a close that never comes, and one
    cancellation alone may be lost on the way (Python 3.11's `wait_for`)."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_SECONDS)


async def _failed(
    connection: Connection, url: str, error: BaseException | None, has_certificate: bool
) -> WeftError:
    """Close what there is of it. A refusal is what `connect` raised, all else what nats-py keeps
    as the last error of its attempts."""
    is_refused = isinstance(error, RefusedError)
    cause = error if is_refused else connection.last_error or error
    wants_certificate = bool(connection._server_info.get("tls_verify"))
    connection._error_cb = _quiet
    closing = asyncio.create_task(connection._close(Client.CLOSED, do_cbs=False))
    await asyncio.wait([closing], timeout=CANCEL_SECONDS)
    await _stopped(closing)
    return refusal(url, cause, wants_certificate, has_certificate)


def _is_news(record: logging.LogRecord) -> bool:
    """asyncio complains of how nats-py ends every TLS connection, to whoever has no logging."""
    return "eof_received" not in str(record.msg)


async def _unused(_: Any) -> None:
    """Messages of a listener go to its handler, never here."""


async def _quiet(_: Exception) -> None:
    """Already reported by the exception that is raised."""
