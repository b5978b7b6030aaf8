"""Exporting a session or a tenant from the log, with its large bodies."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import BinaryIO

import msgspec

from weft.copies.copy_digest import CopyDigest
from weft.copies.copying import finished
from weft.copies.export_format import (
    BodyLine,
    ChunkLine,
    EndLine,
    Line,
    StartLine,
    encoded_line,
    line_of,
)
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_matching
from weft.log.record import LogRecord
from weft.progress import OnProgress
from weft.references.bodies import body_of
from weft.snapshots.loss import accepted_loss
from weft.snapshots.trimming import trimmed_items
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import ParkedEvent, RevivedEvent
from weft_schemas.ids import SessionName
from weft_schemas.items import BodyRef
from weft_schemas.subjects import UNREADABLE, event_of, stored_filter


class SkippedEvent(msgspec.Struct, frozen=True):
    """An event that is left out, and why."""

    sequence: int
    why: str
    about: tuple[int, ...] = ()
    """Events that park or revive it. They are left out with it: in a copy they would name an event
    that is not there."""


class Exported(msgspec.Struct, frozen=True):
    tenant: str
    session: str | None
    records: int
    bodies: int
    missing: tuple[str, ...]
    """SHA-256 digests of bodies that records refer to and the object store does not hold."""
    digest: str
    trimmed: int = 0
    """Items that are only in snapshots since the log was trimmed; the export does not have them."""
    lost_before: int = 0
    """Of what was before this event nobody knows what was the session's: it is lost."""
    skipped: tuple[SkippedEvent, ...] = ()
    """Events whose subject cannot be read. The export does not have them: they belong to no
    session, and no import could store them."""


async def export(
    connection: Connection,
    tenant: str,
    session: str | None,
    file: BinaryIO,
    on_progress: OnProgress = lambda at, last: None,
) -> Exported:
    """Write a session, or all of a tenant, as it is now. Raises `NotFound` if there is nothing."""
    last = await last_sequence(connection)
    copy_digest, bodies, missing = CopyDigest(), 0, []
    seen: set[str] = set()
    skipped: dict[int, SkippedEvent] = {}
    async with Publisher(connection) as publisher:
        store = Bodies(connection, publisher, tenant)
        settled = await finished(connection)
        _write(file, StartLine(tenant, session, last, settled))
        stored = read_matching(connection, stored_filter(tenant, session), through=last)
        async for record, name in _readable(stored, skipped):
            reference = body_of(record)
            if reference is not None and reference.sha256 not in seen:
                seen.add(reference.sha256)
                if await _write_body(file, store, reference):
                    bodies += 1
                else:
                    missing.append(reference.sha256)
            _write(file, line_of(record))
            copy_digest.take(record, SessionName(tenant, name))
            on_progress(record.sequence, last)
    if not copy_digest.count:
        raise await _nothing_to_export(connection, tenant, session)
    on_progress(last, last)
    digest = copy_digest.hexdigest()
    _write(file, EndLine(copy_digest.count, bodies, digest))
    trimmed = await trimmed_items(connection, tenant, session)
    loss = await accepted_loss(connection)
    lost = loss.before if loss is not None else 0
    counts = (copy_digest.count, bodies, tuple(missing))
    return Exported(tenant, session, *counts, digest, trimmed, lost, tuple(skipped.values()))


async def _readable(
    records: AsyncIterator[LogRecord], skipped: dict[int, SkippedEvent]
) -> AsyncIterator[tuple[LogRecord, str]]:
    """The records that an import can store, with their sessions; the others come to `skipped`."""
    async for record in records:
        try:
            session = record.address().session
        except InvalidInput as error:
            skipped[record.sequence] = SkippedEvent(record.sequence, str(error))
            continue
        # Of sessions with unreadable names an import could not make one.
        if session != UNREADABLE and not _is_about(record, skipped):
            yield record, session


def _is_about(record: LogRecord, skipped: dict[int, SkippedEvent]) -> bool:
    """Whether it only parks or revives a skipped event, which then names it."""
    if not skipped or event_of(record.subject) not in ("parked", "revived"):
        return False
    try:
        event = record.event()
    except InvalidInput:
        return False
    if not isinstance(event, ParkedEvent | RevivedEvent):
        return False
    source = skipped.get(event.origin.sequence)
    if source is None:
        return False
    about = (*source.about, record.sequence)
    skipped[source.sequence] = msgspec.structs.replace(source, about=about)
    return True


async def _nothing_to_export(connection: Connection, tenant: str, session: str | None) -> NotFound:
    """Why no event was exported: all were trimmed or lost, or there never was one."""
    whose = f"session {session!r} of tenant" if session is not None else "tenant"
    if trimmed := await trimmed_items(connection, tenant, session):
        return NotFound(
            f"all {trimmed} items of {whose} {tenant!r} were trimmed from the log, and only "
            "snapshots hold them: they can be compiled, not exported"
        )
    loss = await accepted_loss(connection)
    or_lost = f", or was all of it lost? Of this log, {loss}" if loss is not None else "?"
    return NotFound(f"{whose} {tenant!r} has no events; is it spelt right{or_lost}")


async def _write_body(file: BinaryIO, store: Bodies, reference: BodyRef) -> bool:
    """Whether the object store has it."""
    if not await store.exists(reference.sha256):
        return False
    _write(file, BodyLine(reference.sha256, reference.size))
    async for piece in store.chunks(reference):
        _write(file, ChunkLine(base64.b64encode(piece).decode()))
    return True


def _write(file: BinaryIO, line: Line) -> None:
    file.write(encoded_line(line))
