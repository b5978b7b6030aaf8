"""Folding up to a sequence and no further."""

from __future__ import annotations

import msgspec

from weft.indexer.writer import Writer
from weft.log.connection import Connection
from weft.log.following import Followed, Follower
from weft.progress import OnProgress
from weft.snapshots.erasure_mark import missed_erasure
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.errors import ConfigurationError, Corrupt, Forbidden, WeftError


async def catch_up(
    connection: Connection,
    writer: Writer,
    target: int,
    progress: OnProgress = lambda folded, last: None,
    *,
    without_trimmed: bool = False,
) -> None:
    """Fold up to `target` and no further; with `without_trimmed` also past what was trimmed, which
    the read model then lacks for good."""
    if writer.checkpoint >= target:
        return
    async with Follower(connection, after=writer.checkpoint, known=writer.identity) as log:
        async for followed in log:
            if not without_trimmed:
                await check_not_trimmed(connection, writer, followed)
            await writer.fold(_until(followed, target))
            await writer.seal()
            progress(writer.checkpoint, target)
            if writer.checkpoint >= target:
                return


async def check_not_trimmed(connection: Connection, writer: Writer, followed: Followed) -> None:
    """Raises `Corrupt` if the writer has not folded what was trimmed from the log: it would have
    less than others. The mark is written before anything is trimmed, so a writer that misses an
    event always finds the mark. Raises `ConfigurationError` if it has missed an erasure."""
    lacking = first_lacking(followed, writer.checkpoint)
    if lacking is None:
        return
    try:
        before = await trimmed_before(connection)
    except Forbidden:
        return  # without access to snapshots this cannot be decided
    except WeftError as error:
        raise type(error)(
            f"the log lacks event {lacking}, and whether it was trimmed cannot be read: {error}. "
            f"The read model stays at {writer.checkpoint} until it can"
        ) from error
    if lacking < before:
        raise behind_log(writer, before)
    await check_erasures(connection, writer)


async def check_erasures(connection: Connection, writer: Writer) -> None:
    """Raises `ConfigurationError` if the record of an erasure that the writer has not folded may
    have left the log by age."""
    if missed := await missed_erasure(connection, writer.checkpoint):
        raise ConfigurationError(
            f"the read model {writer.path.name} is not used: {missed}. Remove the data folder's "
            "`replica` and start again; it starts from a snapshot if one has folded the erasures"
        )


def first_lacking(followed: Followed, after: int) -> int | None:
    """The first sequence after `after` that a batch passes over, None if there is none."""
    if followed.through - after <= len(followed.records):
        return None
    expected = after + 1
    for record in followed.records:
        if record.sequence != expected:
            break
        expected += 1
    return expected


def behind_log(writer: Writer, before: int) -> Corrupt:
    """The error of a read model that lacks what was before the log's beginning."""
    return Corrupt(
        f"the read model stands at {writer.checkpoint}, and the log begins at {before} by now: it "
        "starts again from a snapshot, which holds what it lacks"
    )


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
