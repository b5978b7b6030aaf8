"""Published messages without an answer. Each is sent again until the server answers or its time is
up, so each has exactly one outcome."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Self

import msgspec

from weft.log.api import error_of, forbidden, no_answer, why_away
from weft.log.connection import Connection
from weft.log.duplicate_check import DuplicateCheck
from weft.log.message import Ack, Message, Outcome, command, decode_reply
from weft.log.stream_health import is_missing, no_stream, stalled_error, stores_nothing, stream_of
from weft.log.timeouts import cancelled
from weft.log.wire import status
from weft_schemas.errors import InvalidInput, Unavailable, WeftError

TIMEOUT_SECONDS = 15.0
"""Until a publish counts as unknown: over twice a cluster's measured failover of 4.4 to 5.9 s."""
WINDOW = 4_096
"""Most messages without an answer; as many as nats-py's `publish_async` allows."""
RETRY_SECONDS = 2.0
"""A message without an answer is sent again after this."""
SOON_SECONDS = 0.25
"""The same after the server said that no stream takes it at the moment."""
SILENT_SECONDS = 3.0
"""Without an answer for so long, the server is asked whether it stores anything at all."""
WINDOW_BYTES = 16 * 1024 * 1024
"""Most bytes without an answer, whatever the number of messages."""

_log = logging.getLogger(__name__)

Settled = Callable[[int, Outcome], None]
"""Called once for each message, with its index and outcome; must not raise."""


class InFlight:
    """The unanswered messages of one publisher, in the order in which they were first sent."""

    def __init__(
        self, connection: Connection, *, timeout: float = TIMEOUT_SECONDS, window: int = WINDOW
    ) -> None:
        self.connection = connection
        self.timeout = timeout
        self._window = window
        self._inbox = connection.new_inbox()
        self._in_flight: dict[int, _Pending] = {}
        self._bytes = 0
        self._last = 0
        self._newest_answered = 0
        """Of the tokens that were answered, the last that was sent."""
        self._answered_at = 0.0
        self._room = asyncio.Event()
        self._stall_check: asyncio.Task[None] | None = None
        self._stall_looked = 0.0
        self._duplicate_check = DuplicateCheck(connection)
        self._checks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        """Listen for answers, and start sending again what has none."""
        self._listener = await self.connection.listen(f"{self._inbox}.*", self._answered)
        self._unwatch = [
            self.connection.on_reconnect(lambda: self._send_again(inf)),
            self.connection.on_violation(self._refuse),
        ]
        self._sweeper = asyncio.create_task(self._sweep())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Settle messages without an answer as unknown, and any later ones at once."""
        self._is_closed = True
        for unwatch in self._unwatch:
            unwatch()
        await cancelled(self._sweeper, self._stall_check, *self._checks)
        for token in tuple(self._in_flight):
            self._settle(token, closed_meanwhile())
        await self._listener.close()

    def _launch(self, message: Message, index: int, settled: Settled) -> bytes:
        """The bytes to write; empty for a message that cannot be sent, which is settled at once."""
        if self._is_closed:
            settled(index, Unavailable("the publisher is closed; connect again"))
            return b""
        self._last += 1
        token = self._last
        try:
            data = command(message, f"{self._inbox}.{token}", self.connection.max_payload)
        except InvalidInput as error:
            settled(index, error)
            return b""
        now = asyncio.get_running_loop().time()
        again = now + RETRY_SECONDS
        self._in_flight[token] = _Pending(message, data, index, settled, now, again, now)
        self._bytes += len(data)
        return data

    def _is_full(self) -> bool:
        return len(self._in_flight) >= self._window or self._bytes >= WINDOW_BYTES

    async def room(self) -> None:
        """Return when the window has room for more."""
        while self._is_full():
            self._room.clear()
            await self._room.wait()

    def _answered(self, subject: bytes, _: bytes, payload: bytes, headers: bytes | None) -> None:
        token = int(subject[len(self._inbox) + 1 :])
        pending = self._in_flight.get(token)
        if pending is None:
            return
        if token >= self._newest_answered:
            self._newest_answered = token
            self._answered_at = asyncio.get_running_loop().time()
        if status(headers)[0] == 503:
            # No stream listens, as in a cluster that is electing a leader.
            pending.is_unclaimed = True
            pending.put_off(asyncio.get_running_loop().time())
            return
        pending.is_unclaimed = False
        reply = decode_reply(payload)
        if reply.error is None:
            if not reply.duplicate:
                self._settle(token, Ack(reply.seq))
            elif not pending.being_checked:
                pending.being_checked = True
                task = asyncio.create_task(self._check_duplicate(token, pending, reply.seq))
                self._checks.add(task)
                task.add_done_callback(self._checks.discard)
            return
        error = error_of(reply.error, f"publish to {pending.message.subject}")
        if isinstance(error, Unavailable):
            pending.put_off(asyncio.get_running_loop().time())
        else:
            self._settle(token, error)

    async def _check_duplicate(self, token: int, pending: _Pending, sequence: int) -> None:
        """A duplicate of the same message counts as acknowledged. Any other is published again,
        under an id that nobody else can have used."""
        try:
            is_own = await self._duplicate_check.is_own(pending.message, sequence)
        except WeftError as error:
            if error.retryable:
                pending.put_off(asyncio.get_running_loop().time())
            elif token in self._in_flight:
                self._settle(token, error)
            return
        finally:
            pending.being_checked = False
        if token not in self._in_flight:
            return
        if is_own:
            self._settle(token, Ack(sequence, pending.attempts == 1))
            return
        _log.warning(
            "message %d of the log has the id of the message for %s, but other content; the latter "
            "is published under a new id",
            sequence,
            pending.message.subject,
        )
        self._bytes -= len(pending.data)
        pending.message = msgspec.structs.replace(pending.message, message_id=secrets.token_hex(16))
        reply = f"{self._inbox}.{token}"
        pending.data = command(pending.message, reply, self.connection.max_payload)
        self._bytes += len(pending.data)
        pending.put_off(asyncio.get_running_loop().time())
        self.connection.write_soon(pending.data)

    def _settle(self, token: int, outcome: Outcome) -> None:
        pending = self._in_flight.pop(token)
        self._bytes -= len(pending.data)
        pending.settled(pending.index, outcome)
        if len(self._in_flight) <= self._window // 2 and self._bytes <= WINDOW_BYTES // 2:
            self._room.set()

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        looked = clock()
        while True:
            await asyncio.sleep(SOON_SECONDS)
            now = clock()
            held_up = now - looked - SOON_SECONDS
            # Time in which this process did not run (see `log/timeouts.py`) does not count: answers
            # may be waiting in the socket.
            for pending in self._in_flight.values() if held_up > SOON_SECONDS else ():
                pending.extend(held_up, now)
            looked = now
            late = {
                token: pending
                for token, pending in self._in_flight.items()
                if now - self._since(token, pending.first_sent) > self.timeout
            }
            await self._give_up(late)
            if self.connection.is_connected:
                self._send_again(now)
                self._look_for_stall(now)

    def _since(self, token: int, time: float) -> float:
        """From when on a message waits: on a slow network, those that were sent after the newest
        one with an answer may still be on their way."""
        return max(time, self._answered_at) if token > self._newest_answered else time

    async def _give_up(self, late: Mapping[int, _Pending]) -> None:
        """Settle messages whose time is up. Where no stream took them, the server is asked whether
        it has one: it says the same while a cluster elects a leader."""
        missing: dict[str, bool] = {}
        for token, pending in late.items():
            subject, unclaimed = pending.message.subject, pending.is_unclaimed
            stream = stream_of(subject)
            if unclaimed and stream not in missing:
                missing[stream] = await is_missing(self.connection, stream)
            if token not in self._in_flight:  # answered meanwhile
                continue
            what = "no stream takes it" if unclaimed else "no acknowledgement"
            reason = f"{what} in {self.timeout:g} s"
            if unclaimed and self.connection.is_of_cluster:
                reason += ", which most of a cluster's nodes must hold"
            if gone := why_away(self.connection):
                reason += f": {gone}"
            is_gone = unclaimed and missing[stream]
            self._settle(token, no_stream(stream) if is_gone else no_answer(subject, reason))

    def _look_for_stall(self, now: float) -> None:
        """If a message that was sent again has no answer, check whether the stream stores anything,
        to report a stall before the timeout."""
        if self._stall_check is not None and not self._stall_check.done():
            return
        silent = (
            pending
            for token, pending in self._in_flight.items()
            if self._is_silent(token, pending, now) and stream_of(pending.message.subject)
        )
        oldest = next(silent, None)
        if oldest is not None and now - self._stall_looked > SILENT_SECONDS:
            self._stall_looked = now
            self._stall_check = asyncio.create_task(self._give_up_where_stalled(oldest))

    def _is_silent(self, token: int, pending: _Pending, now: float) -> bool:
        return now - self._since(token, pending.silent_since) > SILENT_SECONDS

    async def _give_up_where_stalled(self, oldest: _Pending) -> None:
        """Only the oldest is sent for this check, since all would slow down a slow server."""
        connection, stream = self.connection, stream_of(oldest.message.subject)
        if not await stores_nothing(connection, stream, lambda: connection.write_soon(oldest.data)):
            return
        now = asyncio.get_running_loop().time()
        for token, pending in tuple(self._in_flight.items()):
            subject = pending.message.subject
            if self._is_silent(token, pending, now) and stream_of(subject) == stream:
                self._settle(token, stalled_error(subject))

    def _refuse(self, subject: str) -> None:
        """The server names only the subject of a message that it dropped."""
        for token, pending in tuple(self._in_flight.items()):
            if pending.message.subject.lower() == subject:
                self._settle(token, forbidden(pending.message.subject))

    def _send_again(self, due: float) -> None:
        """Send in the original order, so that a session's events keep theirs. Each retry waits
        longer than the last, so that a slow server does not get more work."""
        now = asyncio.get_running_loop().time()
        for token, pending in self._in_flight.items():
            retry_at = max(pending.retry_at, self._since(token, -inf) + RETRY_SECONDS)
            if retry_at <= due and not pending.being_checked:
                pending.attempts += 1
                pending.retry_at = now + RETRY_SECONDS * pending.attempts
                self.connection.write_soon(pending.data)


def closed_meanwhile() -> WeftError:
    """The error for what was published and not answered when its publisher was closed."""
    return Unavailable(
        "the publisher was closed before an answer came, so this may be stored; connect again, and "
        "publish it again: it is stored once"
    )


class _Pending(msgspec.Struct):
    """A message without an answer."""

    message: Message
    data: bytes
    index: int
    settled: Any
    first_sent: float
    retry_at: float
    silent_since: float
    attempts: int = 1
    is_unclaimed: bool = False
    """The server's last answer was that no stream takes it."""
    being_checked: bool = False
    """The server calls it a duplicate, which is being checked."""

    def put_off(self, now: float) -> None:
        """The server cannot take it at the moment."""
        self.silent_since = now
        self.retry_at = now + SOON_SECONDS

    def extend(self, held_up: float, now: float) -> None:
        self.first_sent = min(now, self.first_sent + held_up)
        self.silent_since = min(now, self.silent_since + held_up)
        self.retry_at += held_up
