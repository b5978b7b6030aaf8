"""How a replica without a file starts: from the newest snapshot that fits and the log after it,
otherwise from the beginning of the log.

A restored file is brought to the end of the log before anybody reads it, so that erased content
is gone by then.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from weft.erasure.lost_erasures import lost_erasures
from weft.indexer.catching_up import behind_log, catch_up, check_erasures
from weft.indexer.writer import Writer
from weft.log.connection import Connection
from weft.log.deletions import aged_before
from weft.log.reading import last_sequence
from weft.log.replicas import replicas
from weft.log.topology import SNAPSHOTS_BUCKET
from weft.progress import OnProgress
from weft.readmodel.database import Database
from weft.readmodel.folded_log import as_it_is, folded_log_of, not_held
from weft.readmodel.generations import Generations, discard
from weft.readmodel.store import SQLITE_FAULTS, get_meta, schema_version
from weft.runtime.logs import fields
from weft.snapshots.erasure_mark import last_erasure
from weft.snapshots.snapshot import (
    NOTHING_LEFT,
    TAKE_ONE,
    Bucket,
    Snapshot,
    fitting,
    judged,
    newest,
    of_any_release,
)
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.errors import ConfigurationError, Corrupt, Forbidden, NotFound, WeftError

_log = logging.getLogger(__name__)


async def start(connection: Connection, generations: Generations, encoding: str) -> Writer:
    """The writer of a replica's first generation.

    Raises `ConfigurationError` if the log was trimmed and no snapshot fits.
    """
    path = generations.new()
    try:
        writer = await from_snapshot(connection, path, encoding)
        started = fields(sequence=writer.checkpoint)
        _log.info("the read model starts from a snapshot", extra=started)
        return writer
    except NotFound:
        pass
    except (Corrupt, Forbidden) as error:
        _log.warning("no snapshot can be used", extra=fields(why=str(error)))
    await needs_no_snapshot(connection, encoding)
    await _tell_what_aged(connection, 0)
    return await Writer.open(path, encoding, connection)


async def _tell_what_aged(connection: Connection, folded: int) -> None:
    """Log it if a read model lacks events that left the log by age."""
    before = await aged_before(connection)
    if folded + 1 < before:
        _log.warning(
            "events left the log by age that this read model has not folded: it lacks items that "
            "others have. Start it from a snapshot of one that has them",
            extra=fields(stands_at=folded, log_begins_at=before),
        )


async def reopen(
    connection: Connection, generations: Generations, path: Path, encoding: str
) -> Writer:
    """The writer of the current generation. If something was erased since it was last written,
    no process reads it until the erased content is gone.

    Raises `Corrupt` if it lacks what was trimmed and a snapshot holds that, `ConfigurationError` if
    none does, or if the record of an erasure that it has not folded left the log by age.
    """
    await check_replaceable(connection, path, encoding)
    writer = await Writer.open(path, encoding, connection)
    try:
        await _check_not_behind(connection, writer, encoding)
        try:
            await check_erasures(connection, writer)
        except ConfigurationError:
            # Nobody reads the file any more. It stays: it may be the last copy of what else left.
            generations.building.set(path)
            generations.current.clear()
            raise
        if await last_erasure(connection) > writer.checkpoint:
            generations.current.clear()
            await catch_up(connection, writer, await last_sequence(connection))
            await writer.scrub()
            generations.publish(path)
    except BaseException:
        await writer.close()
        raise
    return writer


async def _check_not_behind(connection: Connection, writer: Writer, encoding: str) -> None:
    try:
        trimmed, aged = await trimmed_before(connection), await aged_before(connection)
        before = max(trimmed, aged)
        if writer.checkpoint + 1 >= before:
            return
        snapshot = await newest(connection, encoding)
    except Forbidden:
        return  # without access to snapshots this cannot be decided
    if writer.checkpoint + 1 >= trimmed:
        # A snapshot may lack what left by age as well, and this file may hold the last copy of it.
        await _tell_what_aged(connection, writer.checkpoint)
        return
    if snapshot is not None and snapshot.sequence > writer.checkpoint:
        raise behind_log(writer, before)
    raise ConfigurationError(
        f"the read model {writer.path.name} stands at {writer.checkpoint}, and the log was trimmed "
        f"before {before} meanwhile, so that it would lack items, and no snapshot that this "
        f"release reads holds them: {await _why_none(connection, encoding)}. {TAKE_ONE}, then "
        "start this one again. Nothing was changed"
    )


async def _why_none(connection: Connection, encoding: str) -> str:
    """Why no snapshot can be used, one after the other."""
    found = [f"{one.name[:12]} {why}" for one, why in await judged(connection, encoding) if why]
    return "; ".join(found) or "there is no snapshot"


async def check_startable(connection: Connection, encoding: str) -> None:
    """Raises `ConfigurationError` if the log was trimmed and no snapshot fits: a replica's content
    could not be built again."""
    try:
        is_there = await newest(connection, encoding) is not None
    except Forbidden:
        return  # without access to snapshots this cannot be decided
    if not is_there:
        await needs_no_snapshot(connection, encoding)


async def from_snapshot(
    connection: Connection,
    path: Path,
    encoding: str,
    progress: OnProgress = lambda folded, last: None,
) -> Writer:
    """The newest snapshot as `path`, brought to the end of the log.

    Raises `NotFound` if none fits, `Corrupt` if it is damaged or belongs to another log.
    """
    error: WeftError | None = None
    for snapshot in await fitting(connection, encoding):
        await _tell_what_aged(connection, snapshot.sequence)
        try:
            return await _restored(connection, snapshot, path, encoding, progress)
        except (Corrupt, NotFound) as found:
            discard(path)
            error = found
            why = fields(snapshot=snapshot.name, why=str(error))
            _log.warning("a snapshot cannot be used; the one before it is tried", extra=why)
        except BaseException:
            discard(path)
            raise
    if error is not None:
        raise error
    raise NotFound(
        f"no snapshot fits this log and release: {await _why_none(connection, encoding)}; take one "
        "with `weft snapshot`, or rebuild with --from start"
    )


async def check_replaceable(connection: Connection, path: Path, encoding: str) -> None:
    """Raises `ConfigurationError` if an intact file has other settings or is of another release,
    and the log was trimmed: the file stays, since its content could not be built again."""
    try:
        async with Database(lambda: as_it_is(path)) as db:
            counted, schema = await db.run(_made_by)
    except SQLITE_FAULTS:
        return  # damaged: the writer finds that
    other_encoding = counted not in (None, encoding)
    if not other_encoding and schema == schema_version():
        return
    try:
        if await newest(connection, encoding) is not None or not await trimmed_before(connection):
            return
    except Forbidden:
        return  # without access to snapshots this cannot be decided
    why = (
        f"the read model counts in {counted}, WEFT_ENCODING says {encoding}; set it back to "
        f"{counted}"
        if other_encoding
        else "the read model is of another release; go back to that one"
    )
    raise ConfigurationError(
        f"{why}: the log is trimmed, and what was trimmed is in this read model and its snapshots "
        "alone, so that it is not made anew. Nothing was changed"
    )


def _made_by(db: sqlite3.Connection) -> tuple[str | int | None, str | int | None]:
    """A file's encoding and its schema."""
    return get_meta(db, "encoding"), get_meta(db, "schema_version")


async def needs_no_snapshot(connection: Connection, encoding: str) -> None:
    """Raises `ConfigurationError` if the log was trimmed."""
    try:
        before = await trimmed_before(connection)
        if not before:
            return
        is_there = await newest(connection, encoding) is not None
        why = await _why_none(connection, encoding)
    except Forbidden:
        return  # without access to snapshots this cannot be decided; the operator's commands can
    held = f"the log was trimmed: what was before event {before} is in snapshots only"
    if is_there:
        raise ConfigurationError(f"{held}. Use `weft rebuild --from snapshot`")
    raise ConfigurationError(
        f"{held}, and none can be used here: {why}. {TAKE_ONE}. {NOTHING_LEFT}"
    )


async def check_lost(connection: Connection, generations: Generations, encoding: str) -> int:
    """The sequence at which the log begins, if everything before it is lost. Raises
    `ConfigurationError` if the log is whole, or if a snapshot, a running replica or this folder may
    hold what was trimmed."""
    before = await trimmed_before(connection)
    if not before:
        raise ConfigurationError("nothing is lost: the log was not trimmed. Use `weft rebuild`")
    found = await newest(connection, encoding)
    if found is not None:
        raise ConfigurationError(
            f"nothing is lost: snapshot {found.name[:12]} holds what was trimmed. Use `weft "
            "rebuild --from snapshot`"
        )
    for one in await of_any_release(connection, before):
        raise ConfigurationError(
            f"nothing is lost: snapshot {one.name[:12]} holds what was trimmed, and counts in "
            f"{one.encoding}, by read model {one.schema_version}. Start a replica with that "
            "WEFT_ENCODING, and with a release that reads it. If it is to go all the same, delete "
            f"the object {one.name} of the bucket {SNAPSHOTS_BUCKET}"
        )
    running = await replicas(connection, "default")  # every one answers, whatever the tenant
    holding = [one.name for one in running if one.sequence >= before - 1]
    path = generations.current() or generations.building()
    if path is not None and await _stands_at(path) >= before - 1:
        holding.append(str(generations.folder))
    if holding:
        raise ConfigurationError(
            f"nothing is lost yet: {', '.join(holding)} may hold what was before event {before}. "
            "Take a snapshot with `weft snapshot` from its data folder and with its release and "
            "WEFT_ENCODING. If it is to go all the same, stop it and remove its `replica`"
        )
    return before


async def _stands_at(path: Path) -> int:
    """0 for a damaged file, which holds nothing that can be used."""
    try:
        return (await folded_log_of(path)).sequence
    except Corrupt:
        return 0


async def keep_if_log_lacks_it(
    connection: Connection, generations: Generations, path: Path
) -> Path | None:
    """Have the file of a generation kept if the log is another one than it has folded, or holds
    less: it may be the last copy of what is lost. Returns what will be kept, None for nothing."""
    try:
        folded = await folded_log_of(path)
    except Corrupt:
        return None  # damaged: nobody could read it
    why = await not_held(connection, folded)
    if not why:
        return None
    lost = await lost_erasures(connection, path)
    kept = generations.retire(path, folded.sequence)
    told = fields(why=why, through=folded.sequence, kept=str(kept))
    if lost:
        what = "the log lacks erasures that were made, and may hold again what they erased"
        _log.error(what, extra=fields(erase_again=lost))
    _log.warning("the log lacks what the read model has folded: its file is kept", extra=told)
    return kept


async def check_keeps_aged(
    connection: Connection, generations: Generations, encoding: str, snapshot: bool
) -> None:
    """Raises `ConfigurationError` if a rebuild would delete what left the log by age: a read model
    may hold the last copy."""
    before = await aged_before(connection)
    if not before or generations.current() is None:
        return
    if not (snapshot and await holds_aged(connection, encoding, before)):
        raise ConfigurationError(
            f"events before {before} left the log by age, and this rebuild would delete what the "
            "read model holds of them. Take a snapshot with `weft snapshot`, then use "
            "`weft rebuild --from snapshot`. If they are to go, stop the replica and remove its "
            "data folder's `replica`"
        )


async def holds_aged(connection: Connection, encoding: str, before: int) -> bool:
    """Whether the snapshot to start from holds all that left the log by age."""
    start = await newest(connection, encoding)
    return start is not None and start.sequence + 1 >= before


async def _restored(
    connection: Connection, snapshot: Snapshot, path: Path, encoding: str, progress: OnProgress
) -> Writer:
    async with Bucket(connection) as bucket:
        await bucket.fetch(snapshot, path)
    writer = await Writer.open(path, encoding, connection)
    try:
        await catch_up(connection, writer, await last_sequence(connection), progress)
        if writer.unscrubbed:
            await writer.scrub()
    except BaseException:
        await writer.close()
        raise
    return writer
