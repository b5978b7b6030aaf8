"""The record that an operator has accepted a loss: no snapshot and no replica holds what was
trimmed any more. It is in the log's own metadata, where every command can read it later."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from weft.log.connection import Connection
from weft.log.reading import state
from weft.log.topology import add_metadata
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.subjects import STREAM

_BEFORE, _AT = "weft.lost_before", "weft.lost_at"


class Loss(msgspec.Struct, frozen=True):
    """What is lost of a log, by an operator's word."""

    before: int
    """The sessions' events before this one."""
    at: str
    """When it was accepted, RFC 3339."""

    def __str__(self) -> str:
        return (
            f"what the sessions had before event {self.before} is lost; that was accepted at "
            f"{self.at}"
        )


async def accepted_loss(connection: Connection) -> Loss | None:
    """The accepted loss of the present log; None if there is none. Raises `Forbidden` as
    `trimmed_before`."""
    said = (await state(connection)).metadata
    if _BEFORE not in said:
        return None
    before = int(said[_BEFORE])
    # A log that was made anew with the settings of this one is not trimmed, and lost nothing.
    return Loss(before, said.get(_AT, "")) if await trimmed_before(connection) >= before else None


async def accept_loss(connection: Connection, before: int) -> Loss:
    """Say that what was before an event is lost."""
    loss = Loss(before, datetime.now(UTC).isoformat(timespec="seconds"))
    await add_metadata(connection, STREAM, {_BEFORE: str(loss.before), _AT: loss.at})
    return loss
