"""The indexer: follows the whole log and folds it into this replica's read model.

It requests more while it folds, so that a batch is whatever has arrived meanwhile: one event if the
log is quiet, a thousand under load. If something is wrong with its file or the log, it rebuilds.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sqlite3
import time

from weft import tokens
from weft.durable_files import is_disk_full
from weft.file_lock import FileLock
from weft.indexer.catching_up import check_not_trimmed
from weft.indexer.idle_sessions import closing_event
from weft.indexer.rebuild import take_over
from weft.indexer.starting import check_startable, keep_if_log_lacks_it, reopen, start
from weft.indexer.writer import Writer
from weft.log.following import Followed, Follower
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft.log.replicas import ReplicaState, answer, replica_name
from weft.readmodel.generations import Generations
from weft.runtime.crashpoints import crash_point
from weft.runtime.logs import fields
from weft.runtime.process import Process
from weft_schemas.errors import ConfigurationError, Corrupt, Unavailable, WeftError

_log = logging.getLogger(__name__)

STAND_BY_SECONDS = 0.2
"""How often a second indexer on the folder asks for the lock."""
POLL_SECONDS = 0.5
"""How often the indexer looks for a successor, its lag and what else is due."""
RETRY_SECONDS = 1.0
"""Pause after SQLite could not write (a full disk, a file system that fails), or the log could not
be read."""
QUIET = 4
"""Most records of a batch after which there is time to work ahead."""
IDLE_BATCH = 500
"""How many sessions are closed at one look."""


async def service(process: Process) -> None:
    """Fold until the process stops; stand by as long as another indexer writes.

    Raises `Forbidden` and `NotFound` as the log does; while that is unavailable, it waits.
    """
    tokens.counter(process.settings.encoding)  # loaded here, not within the first fold
    gc.freeze()  # it is permanent: a collection that walked through it would make everybody wait
    generations = Generations(process.settings.data_dir)
    lock = generations.writer_lock()
    if not await _stand_by(process, lock):
        return
    try:
        await Indexer(process, generations).run()
    finally:
        lock.release()


async def _stand_by(process: Process, lock: FileLock) -> bool:
    """Wait for the lock; False if the process must stop first."""
    said = False
    while not process.stopping.is_set():
        if lock.acquire():
            process.health.report("lock", None)
            return True
        if not said:
            _log.info("another indexer writes this replica; standing by")
            process.health.report("lock", "standing by: another indexer writes this replica")
            said = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STAND_BY_SECONDS):
                await process.stopping.wait()
    return False


class Indexer:
    """The one writer of a replica."""

    def __init__(self, process: Process, generations: Generations) -> None:
        self._name = replica_name(process.settings.data_dir)
        self._process = process
        self._generations = generations
        self._encoding = process.settings.encoding
        self._idle_ns = int(process.settings.idle_close_seconds * 1_000_000_000)
        self._writer: Writer | None = None
        self._idle_looked = 0.0
        self._is_published = False
        self._target = 0
        """The log's last sequence when the writer was opened."""
        self._after_fetch = crash_point("indexer.after_fetch")
        self._steps = {
            step: crash_point(f"indexer.after_{step}") for step in ("decode", "work", "commit")
        }

    async def run(self) -> None:
        """Fold until the process stops."""
        listener = await answer(self._process.connection, self._state)
        _log.info("this replica answers by name", extra=fields(name=self._name))
        try:
            while not self._process.stopping.is_set():
                try:
                    await self._follow_or_start_over()
                except sqlite3.OperationalError as error:
                    await self._pause("the read model cannot be written", error)
                except Unavailable as error:
                    await self._pause("the log cannot be followed", error)
                except OSError as error:
                    if not is_disk_full(error):
                        raise
                    await self._pause("the read model cannot be written", error)
        finally:
            await listener.close()
            await self._close()

    async def _follow_or_start_over(self) -> None:
        try:
            await self._follow(await self._ready_writer())
        except Corrupt as error:
            await self._start_over(error)

    def _state(self) -> ReplicaState:
        """Zeros until there is a writer: until then the content of the files is unknown."""
        writer = self._writer
        if writer is None:
            return ReplicaState(self._name, 0, 0)
        files = self._generations
        earlier = files.earlier()
        kept = earlier.name if earlier is not None else ""
        others = files.others(writer.path)
        return ReplicaState(self._name, writer.checkpoint, writer.scrubbed, others, kept)

    async def _ready_writer(self) -> Writer:
        """The writer of the current generation, or of its successor if one was built."""
        if self._writer is None:
            connection = self._process.connection
            path = self._generations.current() or self._generations.building()
            if path is None:
                self._writer = await start(connection, self._generations, self._encoding)
                self._generations.building.set(self._writer.path)
            else:
                self._writer = await reopen(connection, self._generations, path, self._encoding)
            self._target = await last_sequence(connection)
        if self._generations.successor() is not None:
            connection = self._process.connection
            self._writer = await take_over(
                connection, self._generations, self._writer, self._encoding
            )
            _log.info("a rebuilt generation took over", extra=fields(path=self._writer.path.name))
        return self._writer

    def _publish(self, writer: Writer) -> None:
        """Let readers use a generation once it has reached the end that the log had at the start;
        before that, it would say that existing sessions do not exist."""
        self._is_published = self._generations.current() == writer.path
        if self._is_published or writer.checkpoint >= self._target:
            if not self._is_published:
                self._generations.publish(writer.path)
            self._is_published = True
            self._process.health.report("building", None)
        else:
            progress = f"building the read model: {writer.checkpoint} of {self._target} events"
            self._process.health.report("building", progress)

    async def _follow(self, writer: Writer) -> None:
        """Fold what arrives, until the process stops or there is a successor."""
        connection = self._process.connection
        async with Follower(connection, after=writer.checkpoint, known=writer.identity) as log:
            if writer.checkpoint >= self._target:
                self._process.health.report("read model", None)
            self._process.started()
            self._publish(writer)
            looking = asyncio.create_task(self._look(writer, log))
            stopping = asyncio.create_task(self._process.stopping.wait())
            for task in (looking, stopping):
                task.add_done_callback(lambda _: log.stop())
            try:
                async for followed in log:
                    await self._fold(writer, followed)
            finally:
                for task in (looking, stopping):
                    task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await looking

    async def _fold(self, writer: Writer, followed: Followed) -> None:
        self._after_fetch()
        await check_not_trimmed(self._process.connection, writer, followed)
        begun = time.time_ns()
        folded = await writer.fold(followed, lambda step: self._steps[step]())
        self._process.health.report("read model", None)
        self._process.tracing.folded(followed.records, begun, time.time_ns())
        self._process.metrics.folded(folded.records, writer.checkpoint)
        if not self._is_published:
            self._publish(writer)
        if folded.faults or folded.conflicts:
            counts = fields(
                faults=folded.faults, conflicts=folded.conflicts, through=writer.checkpoint
            )
            _log.warning("the log holds records that do not count; see `weft status`", extra=counts)
        await writer.seal()
        if len(followed.records) <= QUIET:
            await writer.prepare()

    async def _look(self, writer: Writer, log: Follower) -> None:
        """Do the other work that is due; returns when the follower should stop."""
        async with Publisher(self._process.connection) as publisher:
            while True:
                await asyncio.sleep(POLL_SECONDS)
                if self._process.stopping.is_set() or self._generations.successor() is not None:
                    return
                await self._check(writer)
                lag = await self._lag(writer)
                self._generations.sweep(keep=(writer.path,))
                if writer.unscrubbed:
                    await writer.scrub()
                if self._idle_ns and lag == 0:
                    await self._close_idle(writer, publisher)

    async def _check(self, writer: Writer) -> None:
        """Raises `Corrupt` if this or another process found the file damaged."""
        files = self._generations
        if writer.path not in (files.current(), files.building()):
            why = files.condemned() or "it is no longer the current one"
            raise Corrupt(f"{writer.path.name}: {why}")
        await writer.look()

    async def _lag(self, writer: Writer) -> int | None:
        """Events that are not folded yet; None if the server does not answer."""
        self._process.metrics.watermark(writer.checkpoint)
        try:
            lag = max(0, await last_sequence(self._process.connection) - writer.checkpoint)
        except WeftError as error:
            self._process.health.report("log", str(error))
            return None
        self._process.health.report("log", None)
        self._process.behind(lag)
        return lag

    async def _close_idle(self, writer: Writer, publisher: Publisher) -> None:
        if time.monotonic() - self._idle_looked < self._idle_ns / 4e9:
            return
        self._idle_looked = time.monotonic()
        quiet = await writer.quiet(time.time_ns() - self._idle_ns, IDLE_BATCH)
        for outcome in await publisher.attempt_many(map(closing_event, quiet)):
            if isinstance(outcome, WeftError):
                _log.warning("an idle session stays open", exc_info=outcome)

    async def _start_over(self, error: Corrupt) -> None:
        """Leave the file; the next writer starts a new one. Raises `ConfigurationError`, and leaves
        the file the current one, if what was trimmed from the log could not be restored."""
        await self._close()
        try:
            await check_startable(self._process.connection, self._encoding)
        except ConfigurationError as refused:
            raise ConfigurationError(
                f"{error}. The read model is not made anew: {refused}. Nothing was changed"
            ) from None
        why = f"{error}{await self._kept()}"
        _log.warning("the read model is rebuilt", extra=fields(why=why))
        self._process.health.report("read model", f"rebuilding: {why}")
        # The old file is damaged, or belongs to another log or schema: it must not be read any
        # more.
        current = self._generations.current()
        if current is not None:
            self._generations.condemn(current, why)
        self._generations.building.clear()

    async def _kept(self) -> str:
        """What is kept of the old file's log if the present one lacks what was folded."""
        old = self._generations.current() or self._generations.building()
        if old is None:
            return ""
        kept = await keep_if_log_lacks_it(self._process.connection, self._generations, old)
        return f". The replica keeps {kept.name} until you remove it" if kept else ""

    async def _pause(self, what: str, error: Exception) -> None:
        _log.error(what, extra=fields(why=str(error)))
        self._process.health.report("read model", f"{what}: {error}")
        await self._close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RETRY_SECONDS):
                await self._process.stopping.wait()

    async def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.close()
