"""A read replica as the services of its folder see it: how far it has folded, and reads of its
current generation. The indexer's process writes; here everything is read-only."""

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
from weft_schemas.ids import SessionName

T = TypeVar("T")
W = TypeVar("W", bound=msgspec.Struct | SessionName)

READERS = 4
"""Readers in threads of their own at a time; more would only contend for the interpreter's lock."""
POLL_SECONDS = 0.001
"""Between two reads of the checkpoint while a request waits for it; a read takes 10 µs."""
LEAVE_SECONDS = 0.5
"""Until a generation that was replaced is closed."""
CHECK_SECONDS = 10.0
"""Least time between two checks of the whole file after failed requests."""
HELD_UP_SECONDS = 0.1
"""A longer gap between two reads means that this process was suspended, and perhaps the indexer.
Such time does not count towards a request's deadline."""


def pool_work(data_dir: Path, work: Callable[[ReadModel, W], T], wanted: W) -> Callable[[], T]:
    """`work` over one consistent state of the current generation, for a process of the pool. The
    request is passed as JSON, since pickling would set fields that were left unset."""
    return partial(_pool_read, data_dir, work, type(wanted), msgspec.json.encode(wanted))


def _pool_read(
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
        self.last_damage = Generations(data_dir).last_damage
        self._seats = asyncio.Semaphore(READERS)
        self._turns = Turns()
        self._turns_apart = Turns()
        self.is_crowding = self._turns.is_crowding
        self._has_read = False
        """Whether a short read was done in this turn of the event loop."""
        self._reader = Reader(data_dir)
        """Used only in the event loop, and never across an await."""
        self._idle: list[_ReaderApart] = []
        self._look: asyncio.Task[int] | None = None
        self._waits_ended = False
        self._last_check = float("-inf")
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
        """The last sequence folded. Raises `Unavailable` if there is no read model yet."""
        return self._reader.model().watermark()

    def end_waits(self) -> None:
        """End all waiting: every deadline is now."""
        self._waits_ended = True

    def deadline(self, seconds: float) -> float:
        """For `reach` and `is_late`: this time from now; while suspended, no time passes."""
        return self._now() + seconds

    def is_late(self, deadline: float) -> bool:
        """Whether a `deadline` has passed."""
        return self._waits_ended or self._now() >= deadline

    async def reach(self, sequence: int, deadline: float) -> int:
        """Wait until `sequence` is folded, or until the `deadline`.

        Returns the watermark, which may then be below `sequence`; 0 if there is nothing to wait
        for. All waiting requests share one read of the checkpoint. Raises `Unavailable` if there is
        no read model until then.
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
        """`work` over one consistent state, in a thread of aiosqlite, for reads that may be slow.
        The thread and its file stay open for the next read: to open them takes a millisecond."""
        async with self._seats:
            if self._idle:
                apart = self._idle.pop()
            else:  # if it fails, nothing stays open
                apart = await _ReaderApart(self._data_dir).__aenter__()
            try:
                reader, doubt = apart.reader, self._check_after_error
                done = await apart.run(lambda _: reader.read(work, doubt))
            except BaseException:
                await apart.close()
                raise
            self._idle.append(apart)
            return done

    async def read_fairly(self, tenant: str, work: Callable[[ReadModel], T]) -> T:
        """`read` for requests that may come in large numbers: one at a time, tenants in turn."""
        async with self._turns_apart.turn(tenant):
            return await self.read(work)

    async def read_here(self, tenant: str, work: Callable[[ReadModel], T]) -> T:
        """`work` in the event loop, for work of some milliseconds. Threads would wait for the
        interpreter's lock and each other: that costs a third of a process's throughput and 5 % of a
        single compile's time. Over aiosqlite a compile's reads take five times as long."""
        async with self.turn(tenant):
            return self._reader.read(work, self._check_after_error)

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[None]:
        """Wraps some milliseconds of work in the event loop: one request at a time, tenants in
        turn, and the connection is served between two."""
        async with self._turns.turn(tenant):
            if self._has_read:
                await asyncio.sleep(0)
            self._has_read = True
            asyncio.get_running_loop().call_soon(setattr, self, "_has_read", False)
            yield

    def check(self) -> None:
        """Check every page, .7 s for a gigabyte. Raises `Unavailable` if one is damaged."""
        with Reader(self._data_dir) as reader:
            reader.check()

    def _check_after_error(self, reader: Reader) -> None:
        """Check the file after an unexpected error. Raises `Unavailable` if it is damaged."""
        now = time.monotonic()
        if now - self._last_check > CHECK_SECONDS:
            self._last_check = now
            reader.check()

    async def _leave_replaced(self) -> None:
        """Close a replaced generation even without requests, so that its file can be removed."""
        while True:
            await asyncio.sleep(LEAVE_SECONDS)
            if not self._reader.is_there():
                self._reader.close()
            left = [one for one in self._idle if not one.reader.is_there()]
            self._idle = [one for one in self._idle if one not in left]
            for reader in left:
                await reader.close()

    async def _next_look(self) -> int:
        await asyncio.sleep(POLL_SECONDS)
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
        """The watermark, -1 if there is no read model."""
        try:
            return self.watermark()
        except Unavailable:
            return -1


class _ReaderApart(Database):
    """A reader in a thread of its own. One task at a time uses it."""

    def __init__(self, data_dir: Path) -> None:
        self.reader = Reader(data_dir)
        super().__init__(lambda: self.reader.model().db)

    async def __aenter__(self) -> Self:
        try:
            return await super().__aenter__()
        except BaseException:
            self.reader.close()  # its thread has ended, and may have opened the file before
            raise

    async def close(self) -> None:
        await super().close()
        self.reader.close()
