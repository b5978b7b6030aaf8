"""Rebuilding: a new generation is built from the log beside the live one, and then taken over by
the writer.

Any process can build. It folds the whole log into a file of its own and offers it; the live indexer
brings both files to the same sequence, compares their digests and swaps the pointer. If no indexer
runs, the builder does that itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

import msgspec

from weft.indexer.catching_up import catch_up
from weft.indexer.starting import (
    check_keeps_aged,
    check_lost,
    from_snapshot,
    keep_if_log_lacks_it,
    needs_no_snapshot,
)
from weft.indexer.writer import Writer
from weft.log.connection import Connection
from weft.log.reading import last_sequence, state
from weft.log.stream_identity import StreamIdentity, check
from weft.progress import OnProgress
from weft.readmodel.database import Database
from weft.readmodel.generations import Generations, discard, reader_lock
from weft.readmodel.model import ReadModel
from weft.readmodel.store import SQLITE_FAULTS, get_meta
from weft.snapshots.erasure_mark import last_erasure
from weft.snapshots.loss import accept_loss, accepted_loss
from weft.snapshots.snapshot import take
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.errors import ConfigurationError, Conflict, Corrupt

_POLL_SECONDS = 0.1


class Rebuilt(msgspec.Struct, frozen=True):
    """The result of a rebuild."""

    path: Path
    sequence: int
    """Of the newest message that was folded when the two were compared."""
    seconds: float
    digest: str
    replaced: str
    """Digest of the generation that it replaced, at the same sequence; empty if there was none."""
    lost_before: int = 0
    """This rebuild gave up everything of the sessions before this event; 0 for nothing."""

    @property
    def equal(self) -> bool:
        """False if the replaced generation had other content than the log."""
        return self.replaced in ("", self.digest)


async def rebuild(
    connection: Connection,
    data_dir: Path,
    encoding: str,
    progress: OnProgress = lambda folded, last: None,
    *,
    snapshot: bool = False,
    loss: bool = False,
) -> Rebuilt:
    """Build a new generation from the whole log, or from the newest `snapshot` and everything after
    it, and have it taken over. With `loss`, build it from what a trimmed log still holds, mark the
    log, and take a snapshot for other replicas to start from.

    Raises `Conflict` if another rebuild of this replica runs, `NotFound` if no snapshot fits, and
    `ConfigurationError` if the log alone is incomplete.
    """
    begun, lost = perf_counter(), None
    generations = Generations(data_dir)
    lock = generations.builder_lock()
    if not lock.acquire():
        raise Conflict("another rebuild of this replica is running; wait for it")
    try:
        if loss:
            path = await _build_with_loss(connection, generations, encoding, progress)
        else:
            path = await build(connection, generations, encoding, progress, snapshot)
        await _handed_over(connection, generations, path, encoding)
        if loss:
            await take(connection, data_dir)
            lost = await accepted_loss(connection)
    finally:
        lock.release()
    done = _result(path, perf_counter() - begun)
    return done if lost is None else msgspec.structs.replace(done, lost_before=lost.before)


async def build(
    connection: Connection,
    generations: Generations,
    encoding: str,
    progress: OnProgress,
    snapshot: bool = False,
) -> Path:
    """Build a new generation, up to the end of the log at the start, and offer it as successor."""
    await check_keeps_aged(connection, generations, encoding, snapshot)

    async def begun(path: Path) -> Writer:
        if snapshot:
            return await from_snapshot(connection, path, encoding, progress)
        await needs_no_snapshot(connection, encoding)
        return await _from_log(connection, path, encoding, progress)

    return await _offered(connection, generations, begun)


async def _build_with_loss(
    connection: Connection, generations: Generations, encoding: str, progress: OnProgress
) -> Path:
    before = await check_lost(connection, generations, encoding)
    await check_keeps_aged(connection, generations, encoding, snapshot=False)

    async def begun(path: Path) -> Writer:
        return await _from_log(connection, path, encoding, progress, without_trimmed=True)

    return await _offered(connection, generations, begun, lost_before=before)


async def _from_log(
    connection: Connection,
    path: Path,
    encoding: str,
    progress: OnProgress,
    *,
    without_trimmed: bool = False,
) -> Writer:
    writer = await Writer.open(path, encoding, connection)
    try:
        last = await last_sequence(connection)
        await catch_up(connection, writer, last, progress, without_trimmed=without_trimmed)
    except BaseException:
        await writer.close()
        raise
    return writer


async def _offered(
    connection: Connection,
    generations: Generations,
    begun: Callable[[Path], Awaitable[Writer]],
    lost_before: int = 0,
) -> Path:
    path = generations.new()
    in_use = reader_lock(path)
    in_use.acquire()
    try:
        writer = await begun(path)
        await writer.close()
        await _check_keeps_items(connection, generations, path)
        if lost_before:
            await accept_loss(connection, lost_before)
        generations.successor.set(path)
    except BaseException:
        discard(path)
        raise
    finally:
        in_use.release()
    return path


async def _check_keeps_items(connection: Connection, generations: Generations, path: Path) -> None:
    """Raises `ConfigurationError` if a new read model has fewer of the items before the log's
    present beginning than the current one: they left the log by age, or somebody purged them, and
    the current one may hold their last copy."""
    before, current = (await state(connection)).first, generations.current()
    if before <= 1 or current is None:
        return
    try:
        held = await _items_before(connection, current, before)
    except (Corrupt, *SQLITE_FAULTS):
        return  # damaged, or of another log: nothing to keep
    kept = await _items_before(connection, path, before)
    if kept is not None and held is not None and kept < held:
        raise ConfigurationError(
            f"events before {before} left the log: the read model holds {held} items of them, and "
            f"a new one {kept}. Take a snapshot here with `weft snapshot`, then use `weft rebuild "
            "--from snapshot`. If they are to go, stop the replica and remove its data folder's "
            "`replica`; nothing was replaced"
        )


async def _items_before(connection: Connection, path: Path, sequence: int) -> int | None:
    """None while the read model has not folded an erasure. Raises `Corrupt` for one of another
    log."""
    erased = await last_erasure(connection)
    async with Database.reading(path) as db:
        if await db.run(lambda read: int(get_meta(read, "checkpoint") or 0)) < erased:
            return None
        known = await db.run(lambda read: get_meta(read, "identity"))
        if known:
            await check(connection, msgspec.json.decode(str(known), type=StreamIdentity))
        return await db.run(
            lambda read: int(read.execute(_ITEMS_BEFORE, (sequence,)).fetchone()[0])
        )


_ITEMS_BEFORE = "SELECT count(*) FROM items WHERE sequence < ?"


async def take_over(
    connection: Connection, generations: Generations, live: Writer | None, encoding: str
) -> Writer:
    """Bring the successor and the live generation to one sequence, compare, and swap.

    Returns the successor, open; the live one is closed. If the two differ, the log is right, so the
    successor becomes current in any case; its meta rows record the outcome.
    """
    path = generations.successor()
    if path is None:
        raise Corrupt("there is no successor to take over; rebuild again")
    try:
        successor = await Writer.open(path, encoding, connection)
        await _compare(connection, successor, live)
    except Corrupt:
        generations.successor.clear()
        raise
    generations.publish(path)
    if live is not None:
        await live.close()
    return successor


async def _compare(connection: Connection, successor: Writer, live: Writer | None) -> None:
    replaced = ""
    if live is not None:
        target = max(live.checkpoint, successor.checkpoint)
        await catch_up(connection, live, target)
        await catch_up(connection, successor, target)
        replaced = await live.digest()
    await successor.note("rebuilt_sequence", successor.checkpoint)
    await successor.note("rebuilt_digest", await successor.digest())
    await successor.note("replaced_digest", replaced)


async def _handed_over(
    connection: Connection, generations: Generations, path: Path, encoding: str
) -> None:
    """Wait until the live indexer has taken over the successor; do it here if none runs. Raises
    `Corrupt` if that indexer gave it up."""
    lock = generations.writer_lock()
    while generations.current() != path:
        if not generations.has(path):
            raise Corrupt(
                f"{path.name} was rebuilt, but the live indexer gave it up; see its log for the "
                "reason, then rebuild again"
            )
        if lock.acquire():
            try:
                current = generations.current()
                live = await _open_if_usable(current, encoding, connection)
                if live is None and current is not None:
                    await keep_if_log_lacks_it(connection, generations, current)
                await (await take_over(connection, generations, live, encoding)).close()
                generations.sweep(keep=(path,))
            finally:
                lock.release()
            return
        await asyncio.sleep(_POLL_SECONDS)


async def _open_if_usable(
    path: Path | None, encoding: str, connection: Connection
) -> Writer | None:
    """None if it is damaged, of another log, or lacks what was trimmed, so that it cannot be
    brought to the same sequence."""
    if path is None:
        return None
    try:
        writer = await Writer.open(path, encoding, connection)
    except Corrupt:
        return None
    try:
        if writer.identity is not None:
            await check(connection, writer.identity, writer.checkpoint)
        is_whole = writer.checkpoint + 1 >= await trimmed_before(connection)
    except Corrupt:
        is_whole = False
    if not is_whole:
        await writer.close()
        return None
    return writer


def _result(path: Path, seconds: float) -> Rebuilt:
    model = ReadModel.open(path)
    try:
        return Rebuilt(
            path=path,
            sequence=int(get_meta(model.db, "rebuilt_sequence") or 0),
            seconds=seconds,
            digest=str(get_meta(model.db, "rebuilt_digest") or ""),
            replaced=str(get_meta(model.db, "replaced_digest") or ""),
        )
    finally:
        model.close()
