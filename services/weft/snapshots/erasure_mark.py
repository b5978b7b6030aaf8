"""The newest erasure of a log. Its record can leave the log by age; the log's metadata still say
then that there was one, so that nothing from before it is used without having folded it."""

from __future__ import annotations

from contextlib import suppress

from weft.log.connection import Connection
from weft.log.deletions import aged_before
from weft.log.reading import StreamState, last_of, state
from weft.log.topology import add_metadata
from weft_schemas.errors import NotFound
from weft_schemas.events import TOMBSTONES
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import STREAM, stored_filter

RENEWED = "renewed-"
"""Begins the message id of a tombstone that is published again before it leaves the log by age. It
is no new erasure: whoever has folded the first one need not have folded it."""
_LAST = "weft.last_erasure"


async def last_erasure(connection: Connection) -> int:
    """Sequence of the newest erasure's tombstone in any tenant, also of one that has left the log;
    0 without one."""
    marked = _marked(await state(connection))
    newest = marked
    for event in TOMBSTONES:
        tombstones = stored_filter(session=TENANT_SESSION, direction="out", event=event)
        with suppress(NotFound):
            found = await last_of(connection, tombstones, STREAM)
            # One that was only published again is of an erasure that was marked before.
            if not (marked and found.message_id.startswith(RENEWED)):
                newest = max(newest, found.sequence)
    return newest


async def mark_erasures(connection: Connection) -> None:
    """Keep the sequence of the newest erasure in the log's metadata. It looks again after it has
    written: another erasure may have written meanwhile, and one would overwrite the other."""
    while (newest := await last_erasure(connection)) > _marked(await state(connection)):
        await add_metadata(connection, STREAM, {_LAST: str(newest)})


async def missed_erasure(connection: Connection, checkpoint: int) -> str:
    """Why a read model that has folded no more than `checkpoint` may hold what was erased, although
    it folds all that the log still has; empty if it does not. Which erasures there were in between
    is not known any more, so any one after `checkpoint` counts."""
    begins = await aged_before(connection)
    if not 0 < checkpoint < begins - 1:
        return ""
    erased = await last_erasure(connection)
    if checkpoint >= erased:
        return ""
    return (
        f"it stands at {checkpoint}, events before {begins} left the log by age, and there were "
        f"erasures up to event {erased}: it may hold what was erased"
    )


def _marked(now: StreamState) -> int:
    """0 in a log that ends before: its settings were those of another one."""
    marked = int(now.metadata.get(_LAST, 0))
    return marked if marked <= now.last else 0
