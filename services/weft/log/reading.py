"""Reading the log without a consumer: one message, or those of a session in order."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.record import LogRecord
from weft.log.timeouts import done_within
from weft.log.wire import publish_command, servers_header, status
from weft_schemas.errors import ConfigurationError, InvalidInput, NotFound, Unavailable
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ItemKind
from weft_schemas.subjects import STREAM, stored_filter

PAGE = 500
"""Messages per request; measured 37k messages/s at 1 KB."""
PAGE_BYTES = 16 * 1024 * 1024
LOOKED_BACK = 32
"""Records that are requested one by one, .6 ms each."""
PAGE_SECONDS = 5.0
"""If nothing more of a page comes for this long, or up to twice as long, it counts as lost."""
LOG_CREATED = "weft.log_created"
"""Name in a trimmed log's metadata: when it was created first."""

E = TypeVar("E", bound=msgspec.Struct)

_NOBODY = "status 503"
"""The server's word that no node answers."""
_EPOCH_LENGTH = len("2026-01-01T00:00:00")


class StreamState(msgspec.Struct, frozen=True):
    """What the server says of a stream now."""

    created: str
    """Time of creation, as the server writes it: the stream's identity. A trimmed log that is
    restored from a backup keeps it, in its metadata."""
    first: int
    """Sequence of the oldest message; `last + 1` if there is none."""
    last: int
    messages: int
    bytes: int
    made: str
    """When the server made the stream: it makes a new one when it restores a backup."""
    metadata: dict[str, str]


async def state(connection: Connection, stream: str = STREAM) -> StreamState:
    """Raises `NotFound` if there is no such stream, and `Unavailable`."""
    info = await call(connection, f"STREAM.INFO.{stream}")
    now, metadata = info["state"], info["config"].get("metadata") or {}
    return StreamState(
        created=metadata.get(LOG_CREATED) or info["created"],
        first=now["first_seq"],
        last=now["last_seq"],
        messages=now["messages"],
        bytes=now["bytes"],
        made=info["created"],
        metadata=metadata,
    )


async def last_sequence(connection: Connection, stream: str = STREAM) -> int:
    """Of the newest message ever stored, 0 in a new stream."""
    return (await state(connection, stream)).last


async def read(connection: Connection, sequence: int, stream: str = STREAM) -> LogRecord:
    """One message, from the stream's leader. Raises `NotFound` if there is none (any more)."""
    try:
        return await _stored(connection, stream, {"seq": sequence})
    except NotFound:
        raise NotFound(
            f"stream {stream} has no message {sequence}; it was erased, trimmed or never stored"
        ) from None


async def next_after(
    connection: Connection, sequence: int, subjects: str = ">", stream: str = STREAM
) -> LogRecord | None:
    """The first message after `sequence` whose stored subject matches, by the stream's leader."""
    try:
        return await _stored(connection, stream, {"seq": sequence + 1, "next_by_subj": subjects})
    except NotFound:
        return None


async def last_of(connection: Connection, subject: str, stream: str) -> LogRecord:
    """The newest message whose stored subject matches. Raises `NotFound`."""
    return await _stored(connection, stream, {"last_by_subj": subject})


def read_session(
    connection: Connection,
    tenant: str,
    session: str,
    *,
    after: int = 0,
    through: int | None = None,
    event: str = ">",
) -> AsyncGenerator[LogRecord, None]:
    """A session's records in order, `after < sequence <= through` (default: all there are now)."""
    subjects = stored_filter(tenant, session, event=event)
    return read_matching(connection, subjects, after=after, through=through)


async def read_matching(
    connection: Connection,
    subjects: str,
    *,
    after: int = 0,
    through: int | None = None,
    stream: str = STREAM,
    page_bytes: int = PAGE_BYTES,
) -> AsyncGenerator[LogRecord, None]:
    """Records whose stored subject matches, in order, `after < sequence <= through`. Other traffic
    on the connection waits for at most `page_bytes` of them."""
    position = after
    limit = through if through is not None else await last_sequence(connection, stream)
    async with _Pages(connection, stream, page_bytes) as pages:
        while position < limit:
            page = await pages.get(position + 1, subjects)
            if not page:
                # Any node answers; only the leader knows whether there is more.
                missed = await next_after(connection, position, subjects, stream)
                if missed is None:
                    return
                page = [missed]
            for record in page:
                if record.sequence > limit:
                    return
                yield record
            position = page[-1].sequence


async def read_own(
    connection: Connection, tenant: str, kind: type[E]
) -> AsyncGenerator[tuple[int, E], None]:
    """Sequence and event of a tenant's own events of one type, such as catalogues, in order.
    Malformed ones are left out: the fold reports them."""
    subjects = stored_filter(tenant, TENANT_SESSION, "out", str(kind.__struct_config__.tag))
    async for record in read_matching(connection, subjects):
        try:
            event = record.event()
        except InvalidInput:
            continue
        if isinstance(event, kind):
            yield record.sequence, event


class EventLog:
    """Reads the one totally ordered stream, for code that may also read a log in memory."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read(self, sequence: int) -> LogRecord:
        """One event. Raises `NotFound` if there is none (any more)."""
        return await read(self._connection, sequence)

    def session(
        self, tenant: str, session: str, *, after: int = 0
    ) -> AsyncGenerator[LogRecord, None]:
        """A session's events in order, those after a sequence."""
        return read_session(self._connection, tenant, session, after=after)

    async def items(
        self, tenant: str, session: str, kind: ItemKind, *, after: int, through: int
    ) -> list[LogRecord]:
        """A session's items of one kind, `after < sequence <= through`, in order, whether or not
        they were published as a principal."""
        span = {"after": after, "through": through}
        found = [
            record
            for name in (kind.value, f"{kind.value}.*")
            async for record in read_session(self._connection, tenant, session, event=name, **span)
        ]
        return sorted(found, key=lambda record: record.sequence)


async def newest_first(
    connection: Connection, subject: str, *, stream: str = STREAM
) -> AsyncGenerator[LogRecord, None]:
    """The `LOOKED_BACK` newest records of one stored subject, newest first, by two requests each.

    Any node answers for the records before the newest. Those that the leader has and the node that
    answered lacks are read in order, and given in their place.
    """
    try:
        newest = await last_of(connection, subject, stream)
    except NotFound:
        return
    yield newest
    limit, left = newest.sequence - 1, LOOKED_BACK - 1
    async with _Pages(connection, stream, PAGE_BYTES) as pages:
        while left > 0:
            found = await pages.last(subject, limit) if limit > 0 else []
            position = found[0].sequence if found else 0
            missed = await next_after(connection, position, subject, stream)
            if missed is not None and missed.sequence <= limit:
                lacking: deque[LogRecord] = deque(maxlen=left)
                between = read_matching(
                    connection, subject, after=position, through=limit, stream=stream
                )
                async for record in between:
                    lacking.append(record)
                found += lacking
            if not found:
                return
            for record in found[: -left - 1 : -1]:
                yield record
            left -= len(found)
            limit = position - 1


async def subjects(connection: Connection, matching: str, stream: str = STREAM) -> list[str]:
    """Every stored subject that matches and holds a message now, sorted."""
    found: set[str] = set()
    offset = 0
    while True:
        body = {"subjects_filter": matching, "offset": offset}
        info = await call(connection, f"STREAM.INFO.{stream}", body)
        found.update(info["state"].get("subjects") or {})
        # Not by what was found: subjects that differ only in invalid UTF-8 look the same.
        offset += info.get("limit", 0)
        if not info.get("limit") or offset >= info.get("total", 0):
            return sorted(found)


class _Pages:
    """Direct gets of many messages at a time, over one inbox."""

    def __init__(self, connection: Connection, stream: str, page_bytes: int) -> None:
        self._connection = connection
        self._page_bytes = page_bytes
        self._subject = f"$JS.API.DIRECT.GET.{stream}"
        self._stream = stream
        self._inbox = connection.new_inbox()
        self._page: list[LogRecord] = []
        self._number = 0
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done when the page is: empty, or why it is not complete."""

    async def __aenter__(self) -> _Pages:
        self._listener = await self._connection.listen(f"{self._inbox}.*", self._take)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    async def get(self, first: int, subjects: str) -> list[LogRecord]:
        """Some messages from `first` on; none if there are no more."""
        size = {"batch": PAGE, "max_bytes": self._page_bytes}
        return await self._ask({"seq": first, "next_by_subj": subjects, **size}, f"from {first}")

    async def last(self, subject: str, through: int) -> list[LogRecord]:
        """The last message of one subject at or before a sequence; none if there is none."""
        body = {"multi_last": [subject], "up_to_seq": through, "batch": 1}
        return await self._ask(body, f"back from {through}")

    async def _ask(self, body: dict[str, Any], where: str) -> list[LogRecord]:
        self._page = []
        self._number += 1
        self._ended = asyncio.get_running_loop().create_future()
        reply = f"{self._inbox}.{self._number}"
        payload = msgspec.json.encode(body)
        await self._connection.write(publish_command(self._subject, reply, b"", payload))
        came = 0
        while not await done_within(self._ended, PAGE_SECONDS) and came < len(self._page):
            came = len(self._page)
        why = self._ended.result() if self._ended.done() else "no answer"
        if why == _NOBODY:
            await self._check_direct()
        if why:
            raise Unavailable(f"reading stream {self._stream} {where}: {why}; try again")
        return self._page

    async def _check_direct(self) -> None:
        """Raises `ConfigurationError` if no node may answer."""
        config = (await call(self._connection, f"STREAM.INFO.{self._stream}"))["config"]
        if not config.get("allow_direct"):
            raise ConfigurationError(
                f"stream {self._stream} has allow_direct off, so that it cannot be read: somebody "
                "changed it. `weft provision` sets it again"
            )

    def _take(self, subject: bytes, reply: bytes, payload: bytes, headers: bytes | None) -> None:
        if int(subject[len(self._inbox) + 1 :]) != self._number:
            return
        # A message's headers may look like a status; the server's own header tells it apart.
        if servers_header(headers, b"Nats-Sequence"):
            self._page.append(_direct(payload, headers))
        elif not self._ended.done():
            code, text = status(headers)
            self._ended.set_result("" if code in (204, 404) else text or f"status {code}")


def _direct(payload: bytes, headers: bytes | None) -> LogRecord:
    names = (b"Nats-Sequence", b"Nats-Subject", b"Nats-Time-Stamp")
    sequence, subject, time = (servers_header(headers, name) for name in names)
    return LogRecord.of(int(sequence), subject, nanoseconds(time), payload, headers)


async def _stored(connection: Connection, stream: str, wanted: dict[str, Any]) -> LogRecord:
    message = (await call(connection, f"STREAM.MSG.GET.{stream}", wanted))["message"]
    headers, payload = (base64.b64decode(message.get(name, "")) for name in ("hdrs", "data"))
    time = nanoseconds(message["time"])
    return LogRecord.of(message["seq"], message["subject"], time, payload, headers)


def nanoseconds(time: str) -> int:
    """Nanoseconds since 1970 of a server's time, `2026-01-02T03:04:05.123456789Z`: datetime alone
    keeps only microseconds, and a message's time must be the same however it was read."""
    whole = datetime.fromisoformat(time[:_EPOCH_LENGTH] + "+00:00")
    fraction = time[_EPOCH_LENGTH:].removeprefix(".").removesuffix("Z")
    return int(whole.timestamp()) * 1_000_000_000 + int(fraction.ljust(9, "0") or 0)
