"""Identifies the stream of a checkpoint by its time of creation and the message at the checkpoint.
The name is not enough: a stream that was recreated or restored from an older copy has the same."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from weft.log import reading
from weft.log.connection import Connection
from weft.log.record import LogRecord
from weft_schemas.errors import Corrupt, NotFound
from weft_schemas.ids import digest
from weft_schemas.subjects import STREAM


class StreamIdentity(msgspec.Struct, frozen=True):
    """What to keep beside a checkpoint."""

    created: str
    """Time of the stream's creation, as the server writes it."""
    sequence: int = 0
    """Of the newest message seen, 0 for none."""
    fingerprint: str = ""

    def at(self, record: LogRecord) -> StreamIdentity:
        """The identity after one more message."""
        return StreamIdentity(self.created, record.sequence, fingerprint(record))


def fingerprint(record: LogRecord) -> str:
    """Hex SHA-256 over a message's sequence, subject, time and payload."""
    return digest(record.sequence, record.subject, record.published_ns, record.payload)


async def identify(connection: Connection) -> StreamIdentity:
    """The identity of the stream as it is now, before any message."""
    return StreamIdentity((await reading.state(connection)).created)


async def check(connection: Connection, known: StreamIdentity, through: int = 0) -> StreamIdentity:
    """The identity to keep from now on. To the server, a stream that was restored from a backup is
    a new one, but it has the same message at the checkpoint. Raises `Corrupt` if the stream is not
    the one that `known` was taken from, or ends before `through`, the last sequence that was read.

    If the message at the checkpoint was erased since, it cannot be compared, and the check passes.
    """
    now = await reading.state(connection)
    found = None
    with suppress(NotFound):
        if known.sequence:
            found = fingerprint(await reading.read(connection, known.sequence))
    if now.created != known.created and found != known.fingerprint:
        raise Corrupt(
            f"stream {STREAM} was created at {now.created}, the checkpoint is of one created at "
            f"{known.created}: it was deleted and made again; rebuild what was made from it"
        )
    checkpoint = max(through, known.sequence)
    if now.last < checkpoint:
        raise Corrupt(
            f"stream {STREAM} ends at {now.last}, the checkpoint is at {checkpoint}: the log lost "
            "its tail; rebuild what was made from it"
        )
    if found not in (None, known.fingerprint):
        raise Corrupt(
            f"message {known.sequence} of stream {STREAM} is not the one at the checkpoint: the "
            "log lost its tail and went on; rebuild what was made from it"
        )
    return msgspec.structs.replace(known, created=now.created)
