"""What weft needs of a connection to the log, by nats-py's public API alone.

`log/nats_internals.py` does the same several times faster; `log/transport.py` chooses one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from weft.log.connect_errors import CredentialRefused
from weft.log.timeouts import cancelled
from weft.log.wire import Command, block_of, commands_in

FLUSH_SECONDS = 2
CANCEL_SECONDS = 0.2
"""Time for nats-py to clean up after a failed attempt to connect."""
PENDING_BYTES = 8 * 1024 * 1024
"""Bytes that the socket has not yet taken, above which a writer waits."""
Handler = Callable[[bytes, bytes, bytes, bytes | None], None]
"""`(subject, reply, payload, header block)`; called in order, must not block."""

CLOSE_SECONDS = 5.0
"""Time for nats-py to close, whatever state the socket is in."""

_log = logging.getLogger(__name__)
_VIOLATION = re.compile(r"permissions violation for publish to \"([^\"]+)\"", re.IGNORECASE)


class Listener(NamedTuple):
    """A subscription whose messages go straight to a handler."""

    connection: Connection
    subscription: Any

    async def close(self) -> None:
        """Unsubscribe; messages that the server sent before that still reach the handler."""
        if self.connection.is_closed:
            return
        with contextlib.suppress(nats.errors.Error, OSError):
            await self.connection.unlisten(self.subscription)


class Connection(Client):
    """A nats-py client with handlers for violations and reconnects, and with bulk writes."""

    def __init__(self, only_tls: bool = False) -> None:
        super().__init__()
        self._only_tls = only_tls
        self._violation_watchers: list[Callable[[str], None]] = []
        self._reconnect_watchers: list[Callable[[], None]] = []
        self._close_watchers: list[Callable[[], None]] = []
        self._down = False
        self._commands: deque[Command] = deque()
        self._writer: asyncio.Task[None] | None = None

    @property
    def callbacks(self) -> dict[str, Any]:
        """What nats-py is to call, as options of its `connect`."""
        return {
            "error_cb": self._on_error,
            "disconnected_cb": self._on_disconnect,
            "reconnected_cb": self._on_reconnect,
        }

    @property
    def is_up(self) -> bool:
        """Whether a write now reaches a server."""
        return not self._down and self.is_connected

    @property
    def is_of_cluster(self) -> bool:
        """Whether the server is known to be a node of a cluster; nats-py does not tell."""
        return False

    @property
    def is_met_with_silence(self) -> bool:
        """Whether a server accepted the connection and does not answer; nats-py does not tell."""
        return False

    @property
    def wants_certificate(self) -> bool:
        """Whether the server requires a client certificate; nats-py does not tell."""
        return False

    async def listen(self, subject: str, handler: Handler, queue: str = "") -> Listener:
        """Subscribe `handler` to a subject, in a queue group if named; it outlives reconnects."""

        async def take(message: Msg) -> None:
            subject, reply = message.subject.encode(), message.reply.encode()
            self._hand_on(handler, subject, reply, message.data, block_of(message.headers))

        # Without a limit: pull requests bound what comes, and nats-py drops what exceeds a limit.
        subscription = await self.subscribe(
            subject, queue, cb=take, pending_msgs_limit=0, pending_bytes_limit=0
        )
        return Listener(self, subscription)

    async def unlisten(self, subscription: Any) -> None:
        """End a subscription of `listen` after its handler has got every message."""
        await subscription.drain()

    def write_soon(self, commands: bytes) -> None:
        """Queue protocol commands for the next write to the socket.

        While the connection is down they are dropped: otherwise they would overtake what was lost
        with the old socket. Callers that wait for an answer send again after the reconnect.
        """
        if not self.is_up:
            return
        self._commands.extend(commands_in(commands))
        if self._commands and (self._writer is None or self._writer.done()):
            self._writer = asyncio.create_task(self._write_all())

    async def write(self, commands: bytes) -> None:
        """Queue protocol commands, and wait while the socket is far behind."""
        self.write_soon(commands)
        if self._writer is not None:
            await asyncio.wait([self._writer])

    async def flushed(self) -> bool:
        """Whether the server confirms within `FLUSH_SECONDS` that it has everything written."""
        if not self.is_up:
            return False
        if self._writer is not None:
            await asyncio.wait([self._writer], timeout=FLUSH_SECONDS)
        try:
            await self.flush(FLUSH_SECONDS)
        except (nats.errors.Error, OSError):
            return False
        return True

    async def close(self) -> None:
        """Close, whatever state the socket is in. If it takes no more bytes, queued commands are
        dropped: nats-py would fail on them, or wait for ever."""
        for watcher in tuple(self._close_watchers):
            watcher()
        if not await self.flushed():
            self._drop_queued()
        await self._ended(super().close(), CLOSE_SECONDS)

    def _drop_queued(self) -> None:
        self._commands.clear()

    async def abandon(self) -> None:
        """Clean up after a failed attempt to connect."""
        await self._ended(super().close(), CANCEL_SECONDS)

    async def _ended(self, work: Coroutine[Any, Any, None], seconds: float) -> None:
        # In a task of its own, whose cancellation does not reach the caller: to close, nats-py
        # awaits a future that its attempt to reconnect awaits too, and that attempt's cancellation
        # cancels the future.
        closing = asyncio.create_task(work)
        await asyncio.wait([closing], timeout=seconds)
        await cancelled(closing, again=CANCEL_SECONDS)

    def on_violation(self, watcher: Callable[[str], None]) -> Callable[[], None]:
        """Call `watcher` with each subject, in lower case, that the server does not let this client
        publish to. Returns a function that removes the watcher. A message that the server drops in
        this way is never answered."""
        self._violation_watchers.append(watcher)
        return lambda: self._violation_watchers.remove(watcher)

    def on_reconnect(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each reconnect; returns how to stop that."""
        self._reconnect_watchers.append(watcher)
        return lambda: self._reconnect_watchers.remove(watcher)

    def on_close(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` when this is being closed, since nats-py then never ends the requests that
        still wait for an answer. Returns a function that removes the watcher."""
        self._close_watchers.append(watcher)
        return lambda: self._close_watchers.remove(watcher)

    def _hand_on(self, handler: Handler, *message: Any) -> None:
        try:
            handler(*message)
        except Exception as error:
            # nats-py would silently stop taking messages for good.
            _log.error("a message could not be taken in", exc_info=error)

    async def _write_all(self) -> None:
        while self._commands:
            command = self._commands.popleft()
            # What fails is as if lost with a socket: callers that wait for an answer send it again.
            with contextlib.suppress(nats.errors.Error, OSError):
                await self.publish(command.subject, command.payload, command.reply, command.headers)

    async def _on_error(self, error: Exception) -> None:
        if self.is_connecting and "authorization" in str(error).lower():
            raise CredentialRefused  # leaves nats-py's loop, which would retry for ever
        if match := _VIOLATION.search(str(error)):
            # nats-py gives the server's text in lower case.
            for watcher in tuple(self._violation_watchers):
                watcher(match.group(1).lower())
        _log.info("nats: %s", str(error).removeprefix("nats: ") or type(error).__name__)

    async def _on_disconnect(self) -> None:
        self._down = True
        self._commands.clear()

    async def _on_reconnect(self) -> None:
        _log.info("nats: connected again to %s", self.connected_url and self.connected_url.netloc)
        self._down = False
        for watcher in tuple(self._reconnect_watchers):
            watcher()
