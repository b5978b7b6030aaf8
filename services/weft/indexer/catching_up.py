"""Folding up to a sequence and no further."""

from __future__ import annotations

import msgspec

from weft.indexer.writer import Writer
from weft.log.connection import Connection
from weft.log.following import Followed, Follower
from weft.progress import OnProgress


async def catch_up(
    connection: Connection,
    writer: Writer,
    target: int,
    progress: OnProgress = lambda folded, last: None,
) -> None:
    """Fold up to `target` and no further."""
    if writer.checkpoint >= target:
        return
    async with Follower(connection, after=writer.checkpoint, known=writer.identity) as log:
        async for followed in log:
            await writer.fold(_until(followed, target))
            await writer.seal()
            progress(writer.checkpoint, target)
            if writer.checkpoint >= target:
                return


def _until(followed: Followed, target: int) -> Followed:
    """The part of a batch at or before `target`."""
    if followed.through <= target:
        return followed
    records = [record for record in followed.records if record.sequence <= target]
    identity = followed.identity
    if records:
        identity = identity.at(records[-1])
    else:
        identity = msgspec.structs.replace(identity, sequence=0, fingerprint="")
    return Followed(records, target, identity)
