"""A read replica as the services of its folder see it: how far it has folded, and reads of its
current generation. The indexer's process writes; here everything is read-only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from weft.log.timeouts import cancelled
from weft.readmodel.database import Database
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel
from weft.runtime.fair_queueing import Turns
from weft_schemas.errors import Unavailable

T = TypeVar("T")
W = TypeVar("W", bound=msgspec.Struct)

READERS = 4
"""Readers apart at a time; more would only contend for the interpreter's lock."""
LOOK_SECONDS = 0.001
"""Between two reads of the checkpoint while a request waits for it; a read takes 10 µs."""
LEAVE_SECONDS = 0.5
"""Until a generation that was replaced is closed."""
DOUBT_SECONDS = 10.0
"""Least time between two checks of the whole file after failed requests."""
HELD_UP_SECONDS = 0.1
"""A longer gap between two reads means that this process was suspended. The indexer may have been
suspended too, so this time does not count towards a request's deadline."""


def apart(data_dir: Path, work: Callable[[ReadModel, W], T], wanted: W) -> Callable[[], T]:
    """`work` over one consistent state of the current generation, for a process of the pool.

    The request is passed as JSON: pickling would fill in fields that were left unset, and they
    would be written out later.
    """
    return partial(_read_apart, data_dir, work, type(wanted), msgspec.json.encode(wanted))


def _read_apart(
    data_dir: Path, work: Callable[[ReadModel, W], T], kind: type[W], packed: bytes
) -> T:
    """Opens the generation each time (1 ms), so that no idle process keeps a replaced file open."""
    wanted = msgspec.json.decode(packed, type=kind)
    with Reader(data_dir) as reader:
        return reader.read(lambda model: work(model, wanted), Reader.check)


class Replica:
    """`async with Replica(data_dir) as replica:`, for any number of tasks at once."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._generations = Generations(data_dir)
        self._seats = asyncio.Semaphore(READERS)
        self._turns = Turns()
        self._has_read = False
        """Whether a short read was done in this turn of the event loop."""
        self._reader = Reader(data_dir)
        """Used only in the event loop, and never across an await."""
        self._idle: list[_ReaderApart] = []
        self._look: asyncio.Task[int] | None = None
        self._hurried = False
        self._doubted = float("-inf")
        self._looked = 0.0
        self._held_up = 0.0

    async def __aenter__(self) -> Self:
        self._leaving = asyncio.create_task(self._leave_replaced())
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._leaving, self._look)
        self._reader.close()
        while self._idle:
            await self._idle.pop().close()

    def watermark(self) -> int:
        """The last sequence folded. Raises `Unavailable` where there is no read model yet."""
        return self._reader.model().watermark()

    def hurry(self) -> None:
        """End all waiting: every deadline is now."""
        self._hurried = True

    def deadline(self, seconds: float) -> float:
        """For `reach` and `is_late`: so many seconds from now, not counting time in which this
        process was suspended."""
        return self._now() + seconds

    def is_late(self, deadline: float) -> bool:
        """Whether a `deadline` has passed."""
        return self._hurried or self._now() >= deadline

    async def reach(self, sequence: int, deadline: float) -> int:
        """Wait until `sequence` is folded, or until the `deadline`.

        Returns the watermark, which may be below `sequence` then; 0 if there is nothing to wait
        for. All waiting requests share one read of the checkpoint. Waits for the first read model,
        too, and raises `Unavailable` if none appears.
        """
        if sequence <= 0 and self._reader.is_there():
            return 0
        folded = self._folded()
        if self._look is None or self._look.done():
            self._looked = asyncio.get_running_loop().time()
        while folded < sequence and not self.is_late(deadline):
            if self._look is None or self._look.done():
                self._look = asyncio.create_task(self._next_look())
            folded = await asyncio.shield(self._look)
            self._note_hold_up()
        return folded if folded >= 0 else self.watermark()

    async def read(self, work: Callable[[ReadModel], T]) -> T:
        """`work` over one consistent state of the current generation, in a thread of aiosqlite, for
        reads that may be slow: status, listings, the start of a replica. A thread and its file stay
        open for the next read: to open them takes a millisecond."""
        async with self._seats:
            reader = self._idle.pop() if self._idle else await _ReaderApart.open(self._data_dir)
            try:
                done = await reader.read(work, self._doubt)
            except BaseException:
                await reader.close()
                raise
            self._idle.append(reader)
            return done

    async def read_here(self, tenant: str, work: Callable[[ReadModel], T]) -> T:
        """`work` in the event loop, for work of some milliseconds. Threads, which wait for the
        interpreter's lock and for each other, would cost a third of a process's throughput and 5 %
        of a single compile's time. Over aiosqlite, statement by statement, a compile's reads take
        five times as long."""
        async with self.turn(tenant):
            return self._reader.read(work, self._doubt)

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[None]:
        """Work in the event loop within the block, for some milliseconds: one request at a time,
        tenants in turn, and the connection is served between two."""
        async with self._turns.turn(tenant):
            if self._has_read:
                await asyncio.sleep(0)
            self._has_read = True
            asyncio.get_running_loop().call_soon(self._begin_turn)
            yield

    def crowds(self, tenant: str) -> bool:
        """Whether many reads of a tenant wait while other tenants ask, too."""
        return self._turns.crowds(tenant)

    def _begin_turn(self) -> None:
        self._has_read = False

    def check(self) -> None:
        """Check every page of the read model, .7 s for a gigabyte. Raises `Unavailable` where it is
        damaged, or where there is none."""
        with Reader(self._data_dir) as reader:
            reader.check()

    def mended(self) -> str:
        """Why the read model was last rebuilt after damage; empty if it never was."""
        return self._generations.mended()

    def _doubt(self, reader: Reader) -> None:
        """Check the file after an unexpected error. Raises `Unavailable` if it is damaged."""
        now = time.monotonic()
        if now - self._doubted > DOUBT_SECONDS:
            self._doubted = now
            reader.check()

    async def _leave_replaced(self) -> None:
        """Close a replaced generation even without requests: its file stays on disk as long as
        a reader has it open."""
        while True:
            await asyncio.sleep(LEAVE_SECONDS)
            self._reader.leave_if_replaced()
            for reader in [one for one in self._idle if not one.is_there()]:
                self._idle.remove(reader)
                await reader.close()

    async def _next_look(self) -> int:
        await asyncio.sleep(LOOK_SECONDS)
        self._note_hold_up()
        return self._folded()

    def _note_hold_up(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._looked > HELD_UP_SECONDS:
            self._held_up += now - self._looked
        self._looked = now

    def _now(self) -> float:
        return asyncio.get_running_loop().time() - self._held_up

    def _folded(self) -> int:
        """The watermark, -1 where there is no read model."""
        try:
            return self.watermark()
        except Unavailable:
            return -1


class _ReaderApart:
    """A reader in a thread of its own. One task at a time uses it."""

    def __init__(self, data_dir: Path) -> None:
        self._reader = Reader(data_dir)
        self._database = Database(lambda: self._reader.model().db)
        self.is_there = self._reader.is_there

    @classmethod
    async def open(cls, data_dir: Path) -> _ReaderApart:
        """Raises as `Reader.model`."""
        reader = cls(data_dir)
        try:
            await reader._database.__aenter__()
        except BaseException:
            reader._reader.close()
            raise
        return reader

    async def read(self, work: Callable[[ReadModel], T], doubt: Callable[[Reader], None]) -> T:
        """As `Reader.read`."""
        return await self._database.run(lambda _: self._reader.read(work, doubt))

    async def close(self) -> None:
        await self._database.close()
        self._reader.close()
