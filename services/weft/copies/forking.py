"""Forks: the beginning of a session becomes a session of its own. What belongs to the beginning is
decided by source: events that were derived later from one of its items are copied too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from weft.copies.copying import Copier, copied_before, finished
from weft.copies.sequences import EventWithOrigin
from weft.erasure.tombstones import check_not_erased
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_session
from weft.log.record import LogRecord
from weft.references.survey import FORKED_FROM
from weft.snapshots.loss import accepted_loss
from weft.snapshots.trimming import trimmed_items
from weft_schemas.errors import Conflict, InvalidInput, NotFound
from weft_schemas.events import Event
from weft_schemas.ids import TENANT_SESSION, SessionName
from weft_schemas.items import ContextItem


class Forked(msgspec.Struct, frozen=True):
    """A fork, as it is in the log."""

    session: str
    source: str
    at: int
    """Sequence up to which it has the source's items."""
    items: int
    events: int
    """Items, and what was derived from them."""
    first: int
    last: int
    """Sequences of the copies."""
    lost_before: int = 0
    """Everything before this event is lost, so nobody knows how much of it was the source's."""


async def fork(connection: Connection, tenant: str, source: str, at: int, new: str) -> Forked:
    """Copy session `source`, as it was at a sequence, as session `new`. Every item names its origin
    in its metadata, and keeps the time at which it was first published. A second run continues an
    interrupted one. Raises `NotFound` if the source has nothing up to there, and `Conflict` if the
    new name is taken or was erased, or if the source's beginning was trimmed."""
    if new in (source, TENANT_SESSION):
        raise Conflict(f"session {new!r} cannot be a fork of {source!r}; give another name")
    last = await last_sequence(connection)
    if not 0 < at <= last:
        raise InvalidInput(f"the log ends at {last}; give a sequence of 1 to {last}, not {at}")
    await check_not_erased(connection, tenant, new)
    lost = await trimmed_items(connection, tenant, source)
    if lost:
        raise Conflict(
            f"{lost:,} items of session {source!r} were trimmed from the log, so that a fork of it "
            "would not be whole; it can still be compiled, also --as-of"
        )
    records = [one async for one in read_session(connection, tenant, source, through=last)]
    chosen = list(prefix(records, at))
    if not chosen:
        raise NotFound(f"session {source!r} of tenant {tenant!r} has no event up to {at}")
    names = SessionName(tenant, source), SessionName(tenant, new)
    done = await _copy(connection, *names, at, chosen)
    loss = await accepted_loss(connection)
    return done if loss is None else msgspec.structs.replace(done, lost_before=loss.before)


def prefix(records: Iterable[LogRecord], at: int) -> Iterator[LogRecord]:
    """Records whose root source is at or before a sequence."""
    inside: set[int] = set()
    for record in records:
        source = _source(record)
        if record.sequence <= at if source is None else source in inside:
            inside.add(record.sequence)
            yield record


def _source(record: LogRecord) -> int | None:
    """None if it is not derived, or cannot be read."""
    try:
        event = record.event()
    except InvalidInput:
        return None
    return event.origin.sequence if isinstance(event, EventWithOrigin) else None


async def _copy(
    connection: Connection, source: SessionName, new: SessionName, at: int, records: list[LogRecord]
) -> Forked:
    async with Publisher(connection) as publisher:
        copier = Copier(
            publisher,
            await finished(connection),
            same_log=True,
            source="/weft/fork",
            change=lambda event, record: _with_provenance(event, record, source.session, at),
            own_memory=True,
        )
        copier.known = await copied_before(connection, new, records[0])
        for record in records:
            await copier.copy(record, source, new)
        await copier.flush()
    places = [copier.places.get(record.sequence) or 0 for record in records]
    items = sum(record.subject.split(".")[1] == "in" for record in records)
    return Forked(new.session, source.session, at, items, len(records), min(places), max(places))


def _with_provenance(event: Event, record: LogRecord, session: str, at: int) -> Event:
    if not isinstance(event, ContextItem):
        return event
    origin = {"session": session, "sequence": record.sequence, "at": at}
    published = datetime.fromtimestamp(record.published_ns // 1_000_000_000, UTC)
    time = event.metadata.get("occurred_at") or published.isoformat().replace("+00:00", "Z")
    metadata = {**event.metadata, FORKED_FROM: origin, "occurred_at": time}
    return msgspec.structs.replace(event, metadata=metadata)
