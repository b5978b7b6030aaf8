"""Where the log's sessions begin after trimming. The log's own metadata say so: a backup holds
them, and a log that is made anew does not have them. A mark beside the snapshots says it for
earlier releases, and for logs that they trimmed; it may be about another log than the present
one."""

from __future__ import annotations

import base64
from contextlib import suppress

import msgspec

from weft.log.bodies import ObjectMeta
from weft.log.connection import Connection
from weft.log.deletions import aged_before
from weft.log.publishing import Publisher
from weft.log.reading import (
    LOG_CREATED,
    StreamState,
    last_of,
    nanoseconds,
    next_after,
    read_matching,
    state,
)
from weft.log.topology import SNAPSHOTS_BUCKET, SNAPSHOTS_STREAM, add_metadata
from weft_schemas.errors import Conflict, Forbidden, NotFound
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import STREAM, place_of

SUBJECT = f"$O.{SNAPSHOTS_BUCKET}.M." + base64.urlsafe_b64encode(b"trimmed").decode()
_BEFORE, _AT, _IN_LOG = "weft.trimmed_before", "weft.trimmed_at", "weft.trimmed_in_log"


class Mark(msgspec.Struct, frozen=True):
    """That a log was trimmed."""

    before: int
    """Where its sessions begin."""
    created: str
    """When the log was created; empty in marks of early releases."""
    at_ns: int
    """When it was trimmed, by the server's clock."""
    is_in_log: bool
    """Read from the log's own metadata."""
    is_second: bool = False
    """The log's metadata said the same when it was written."""
    sequence: int = 0
    """Where it is beside the snapshots."""


async def trimmed_before(connection: Connection) -> int:
    """Where the sessions in the log begin, 0 for a whole log.

    A credential that may not read the mark beside the snapshots learns what the log's own says, and
    `Forbidden` is raised if there is none.
    """
    now = await state(connection)
    own = _own(now)
    before = own.before if own and await _is_of(connection, now, own) else 0
    try:
        beside = await _beside(connection)
    except Forbidden:
        if before:
            return before
        raise
    if beside is not None and beside.before > before and await _is_of(connection, now, beside):
        return beside.before
    return before


async def write_mark(connection: Connection, before: int) -> None:
    """Say that this log's sessions begin at `before`, or later if somebody has said that. The log's
    own mark comes last, with the server's time: nothing is trimmed until it is there. Raises
    `Conflict` if somebody else says it at the same time."""
    created = (await state(connection)).created
    beside = await _beside(connection)
    if beside is not None and beside.created == created:
        before = max(before, beside.before)
    said = {_BEFORE: str(before), LOG_CREATED: created}
    entry = ObjectMeta(
        "trimmed", SNAPSHOTS_BUCKET, "trimmed", 0, metadata={**said, _IN_LOG: "true"}
    )
    async with Publisher(connection) as publisher:
        last = str(beside.sequence if beside is not None else 0)
        headers = {"Nats-Rollup": "sub", "Nats-Expected-Last-Subject-Sequence": last}
        await publisher.publish(SUBJECT, msgspec.json.encode(entry), headers=headers)
    # The clocks of a cluster's nodes differ, and each stream has a leader of its own.
    times = [(await last_of(connection, SUBJECT, SNAPSHOTS_STREAM)).published_ns]
    with suppress(NotFound):  # nothing may be left of the log
        times.append((await last_of(connection, ">", STREAM)).published_ns)
    await add_metadata(connection, STREAM, {**said, _AT: str(max(times))})


async def renew_mark(connection: Connection, before: int) -> None:
    """While a log is trimmed: say it in the log's metadata again if somebody has overwritten them,
    such as a `weft provision` that had read them before. Half trimmed, the log is known from them
    alone."""
    own = _own(await state(connection))
    if own is None or own.before < before:
        await write_mark(connection, before)


async def keep_mark(connection: Connection) -> int:
    """`trimmed_before`, stored in the log's own metadata from now on. A log that an earlier release
    trimmed has no such metadata, and they can be lost when somebody edits the stream."""
    before = await trimmed_before(connection)
    if before and (await state(connection)).metadata.get(_BEFORE) != str(before):
        with suppress(Conflict):  # somebody trims now, and says where it begins then
            await write_mark(connection, before)
    return before


async def was_ever_trimmed(connection: Connection) -> bool:
    """Whether this log was trimmed, or one that was there before: what was trimmed from that one is
    in its snapshots only, and it may be restored from a backup."""
    return bool(await trimmed_before(connection)) or await _beside(connection) is not None


def _own(now: StreamState) -> Mark | None:
    said = now.metadata
    if _BEFORE not in said:
        return None
    return Mark(int(said[_BEFORE]), now.created, int(said[_AT]), is_in_log=True)


async def _beside(connection: Connection) -> Mark | None:
    """The mark beside the snapshots."""
    try:
        record = await last_of(connection, SUBJECT, SNAPSHOTS_STREAM)
    except NotFound:
        return None
    said = msgspec.json.decode(record.payload, type=ObjectMeta).metadata
    return Mark(
        before=int(said[_BEFORE]),
        created=said.get(LOG_CREATED, ""),
        at_ns=record.published_ns,
        is_in_log=False,
        is_second=_IN_LOG in said,
        sequence=record.sequence,
    )


async def _is_of(connection: Connection, now: StreamState, mark: Mark) -> bool:
    """Whether a mark is of the log that is there. A stream that was made after the mark, or that
    lacks what the mark was second to, is the trimmed log, from a backup, or another one."""
    is_as_it_was = nanoseconds(now.made) <= mark.at_ns and mark.created in ("", now.made)
    if is_as_it_was and not mark.is_second:
        return True
    return await _fits(connection, now, mark)


async def _fits(connection: Connection, now: StreamState, mark: Mark) -> bool:
    """Whether the log holds what a trimmed one holds: before the mark's sequence nothing that is
    younger than the mark, and no session's unless the trimming was interrupted. An interrupted one
    is known only from the log's own mark: beside the snapshots, that would be an older backup."""
    if now.last < mark.before - 1:
        return False
    async for record in read_matching(connection, ">", through=mark.before - 1):
        is_sessions = place_of(record.subject)[1] != TENANT_SESSION
        if record.published_ns > mark.at_ns or (is_sessions and not mark.is_in_log):
            return False
    oldest = await next_after(connection, 0)
    is_younger = oldest is not None and oldest.published_ns > mark.at_ns
    return not (is_younger and await aged_before(connection))
