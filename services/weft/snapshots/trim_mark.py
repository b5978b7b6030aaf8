"""The mark beside the snapshots that says where the log's sessions begin after trimming. It names
the log that was trimmed: the bucket of snapshots outlives a log that is deleted and made anew."""

from __future__ import annotations

import base64

import msgspec

from weft.log.bodies import ObjectMeta
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import StreamState, last_of, read_matching, state
from weft.log.record import LogRecord
from weft.log.topology import SNAPSHOTS_BUCKET, SNAPSHOTS_STREAM
from weft_schemas.errors import NotFound
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import place_of

SUBJECT = f"$O.{SNAPSHOTS_BUCKET}.M." + base64.urlsafe_b64encode(b"trimmed").decode()
_BEFORE, _CREATED = "weft.trimmed_before", "weft.log_created"


async def trimmed_before(connection: Connection) -> int:
    """Where the sessions in the log begin, 0 for a whole log."""
    try:
        record = await last_of(connection, SUBJECT, SNAPSHOTS_STREAM)
    except NotFound:
        return 0
    said = msgspec.json.decode(record.payload, type=ObjectMeta).metadata
    before = int(said[_BEFORE])
    created = said.get(_CREATED)  # earlier releases left it out
    if created is None:
        return before
    now = await state(connection)
    if now.created == created or await _was_restored(connection, now, before, record):
        return before
    return 0


async def write_mark(connection: Connection, before: int) -> None:
    """Say that this log's sessions begin at `before`."""
    metadata = {_BEFORE: str(before), _CREATED: (await state(connection)).created}
    entry = ObjectMeta("trimmed", SNAPSHOTS_BUCKET, "trimmed", 0, metadata=metadata)
    async with Publisher(connection) as publisher:
        payload = msgspec.json.encode(entry)
        await publisher.publish(SUBJECT, payload, headers={"Nats-Rollup": "sub"})


async def _was_restored(
    connection: Connection, now: StreamState, before: int, mark: LogRecord
) -> bool:
    """Whether a log with another time of creation than the mark's is the trimmed log, restored from
    a backup: the server takes a restored stream for a new one, with old messages. In that case its
    messages below `before` are older than the mark, and belong to no session."""
    if now.last < before - 1:
        return False
    async for record in read_matching(connection, ">", through=before - 1):
        is_sessions = place_of(record.subject)[1] != TENANT_SESSION
        if is_sessions or record.published_ns > mark.published_ns:
            return False
    return True
