"""Copies events into another session or log, in order, each after the events that it refers to. A
copy's message id begins with what it is a copy of, so that an interrupted copy can be resumed, and
ends unpredictably, so that nobody can take the id before. Each copy names the workers that have
finished its original. Their derived events are copied as well, so they neither derive nor ask a
model again."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping

from weft.copies.renaming import renamed
from weft.copies.sequences import Places, highest_reference, with_new_sequences
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.message import Message, event_headers
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.record import LogRecord
from weft.log.topology import WORKERS
from weft.log.wire import SETTLED
from weft_schemas.errors import Conflict, InvalidInput, WeftError
from weft_schemas.events import Event, encode_event
from weft_schemas.ids import SessionName, digest, encode_token
from weft_schemas.subjects import STREAM, stored_filter

_BEGINNING = 32
"""Characters of a copy's message id that identify its original."""
WINDOW = 500
"""Events that are published at once."""

EventChange = Callable[[Event, LogRecord], Event]
"""Changes a record's event besides its names and sequences."""


def unchanged(event: Event, record: LogRecord) -> Event:
    return event


class Copier:
    """Copies events of a log into another log or the same, in the order of their sequences."""

    def __init__(
        self,
        publisher: Publisher,
        settled: Mapping[str, int],
        *,
        same_log: bool,
        source: str,
        change: EventChange = unchanged,
        own_memory: bool = False,
    ) -> None:
        """`settled`: worker → up to which sequence it had finished in the original log. `source` is
        the copies' `ce-source`."""
        self.places = Places()
        self.known: dict[str, int] = {}
        """`copy_id` → sequence of what an earlier attempt has copied."""
        self.count = 0
        self._ending = secrets.token_hex(8)
        self._publisher = publisher
        self._settled = settled
        self._same_log = same_log
        self._source = source
        self._change = change
        self._own_memory = own_memory
        self._waiting: list[tuple[int, Message]] = []
        self._newest = 0

    async def copy(self, record: LogRecord, old: SessionName, new: SessionName) -> None:
        """Copy one record. If it cannot be decoded, it is copied unchanged."""
        try:
            event: Event | None = record.event()
        except InvalidInput:
            event = None
        if event is not None and self._waiting and highest_reference(event) > self.places.newest:
            await self.flush()
        self.count += 1
        known = self.known.get(copy_id(new, record))
        if known is not None:
            await self.flush()
            self.places.add(record.sequence, known)
            return
        self._waiting.append((record.sequence, self._message(record, event, old, new)))
        if len(self._waiting) >= WINDOW:
            await self.flush()

    async def flush(self) -> int:
        """Publish what is queued. Returns the newest sequence so far."""
        waiting, self._waiting = self._waiting, []
        acks = await self._publisher.publish_many(message for _, message in waiting)
        for (old, _), ack in zip(waiting, acks, strict=True):
            self.places.add(old, ack.sequence)
            self._newest = max(self._newest, ack.sequence)
        return self._newest

    def _message(
        self, record: LogRecord, event: Event | None, old: SessionName, new: SessionName
    ) -> Message:
        _, direction, _, _, _, name = record.subject.split(".", 5)
        tenant, session = encode_token(new.tenant), encode_token(new.session)
        payload, kind = record.payload, "unreadable"
        if event is not None:
            made = with_new_sequences(event, self.places, same_log=self._same_log)
            made = renamed(made, old, new, own_memory=self._own_memory)
            made = self._change(made, record)
            payload = record.payload if made is event else encode_event(made)
            kind = str(type(event).__struct_config__.tag)
        id = copy_id(new, record) + self._ending
        headers = event_headers(id, f"weft.{kind}", self._source, record.traceparent)
        if workers := self._settlers(record.sequence):
            headers[SETTLED.decode()] = workers
        return Message(f"weft.{tenant}.{session}.{direction}.{name}", payload, id, headers)

    def _settlers(self, sequence: int) -> str:
        return ",".join(name for name, through in self._settled.items() if sequence <= through)


def copy_id(new: SessionName, record: LogRecord) -> str:
    """The beginning of a copy's message id: the same if the same copy is made again."""
    return digest("copy", new.tenant, new.session, record.sequence, record.payload)[:_BEGINNING]


def copied(record: LogRecord) -> str:
    """The `copy_id` of a record that is a copy."""
    return record.message_id[:_BEGINNING]


def copies_in(records: Iterable[LogRecord]) -> dict[str, int]:
    """`copy_id` → sequence of possible copies among the records of a session."""
    return {copied(one): one.sequence for one in records if one.message_id}


async def finished(connection: Connection) -> dict[str, int]:
    """Worker → up to which sequence of the log it has finished. A worker without a consumer is left
    out; it will look at the copies itself."""
    found: dict[str, int] = {}
    for worker in WORKERS:
        try:
            info = await call(connection, f"CONSUMER.INFO.{STREAM}.{worker}")
        except WeftError:
            continue
        idle = not info["num_pending"] and not info["num_ack_pending"]
        delivered = info["delivered"]["stream_seq"]
        found[worker] = delivered if idle else info["ack_floor"]["stream_seq"]
    return found


async def copied_before(
    connection: Connection, new: SessionName, first: LogRecord
) -> dict[str, int]:
    """`copy_id` → sequence of what an earlier attempt left in a session. Raises `Conflict` if the
    session holds anything but a copy that began with `first`."""
    subjects = stored_filter(new.tenant, new.session)
    found = [one async for one in read_matching(connection, subjects)]
    if found and copied(found[0]) != copy_id(new, first):
        raise Conflict(
            f"session {new.session!r} of tenant {new.tenant!r} has {len(found)} events already; "
            "give another name"
        )
    return copies_in(found)
