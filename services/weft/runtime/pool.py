"""A process pool for heavy requests: a request that takes longer than some milliseconds runs in one
of a few processes, with a deadline, and with fair turns between tenants. Short requests of a tenant
that must not run in the event loop have a process of their own, so they wait for no heavy one.

Threads would not help: they share the interpreter's lock with the event loop, and a thread cannot
be killed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import ParamSpec, Self, TypeVar

from weft.runtime.fair_queueing import ConcurrencyLimits
from weft.runtime.fork_server import ForkServer
from weft.runtime.logs import fields
from weft.runtime.subprocess_worker import (
    NICENESS,
    Child,
    SubprocessWorker,
    TookTooLong,
    WorkDied,
    WorkFailed,
    within_cpu_time,
)
from weft_schemas.errors import Overloaded, TooCostly, WeftError

P = ParamSpec("P")
T = TypeVar("T")

TURN_SECONDS = 5.0
"""Longest that a request waits for its turn; most clients wait no longer than this for a reply."""
WAITING = 500
"""Requests of one tenant that may wait; as many may be in work in one service."""
HELD_SECONDS = 0.05
"""Work that uses more processor time has blocked the event loop for too long: six compiles'."""
ISOLATION_SECONDS = 60.0
"""How long all work of a tenant that blocked the loop is done in the pool."""
CROWDING_SECONDS = 30.0
"""The same for a tenant whose many requests crowded out others."""
_MAX_ISOLATED = 10_000
SHORT_SECONDS = 1.0
"""Most processor time that work may use and count as short, some fifty times what it uses. What
uses more was estimated wrongly, and is begun again as heavy work. Not seconds on the clock: a busy
machine would end all work, and each next one would begin in a process that has read nothing yet."""

_log = logging.getLogger(__name__)


class Pool:
    """The processes of one service; `async with` ends them."""

    def __init__(self, fork_server: ForkServer, processes: int, seconds: float) -> None:
        """`fork_server` gives the processes; `seconds`: longest that one request may take."""
        self._fork_server = fork_server
        self._heavy = _Lane(partial(fork_server.fork, niceness=NICENESS), processes, seconds)
        # As quick as the event loop's process, which it does the work of.
        self._short = _Lane(fork_server.fork, 1, seconds)
        self._isolated: OrderedDict[str, float] = OrderedDict()
        """Tenant → until when."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for worker in (*self._heavy.idle, *self._short.idle):
            worker.close()
        self._fork_server.close()

    async def start(self) -> None:
        """Start one process, so that the first request need not wait for it."""
        await self.run("", "", int)

    async def run(
        self, tenant: str, session: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """`work(*args)` in a process; see `HeavyWorker.run`. Raises as `turn` does, too."""
        async with self.turn(tenant, session) as worker:
            return await worker.run(work, *args, **kwargs)

    async def run_short(
        self, tenant: str, session: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """`run` for work that is estimated to be short; None if it is not."""
        async with self.turn(tenant, session, is_short=True) as worker:
            limited = partial(within_cpu_time, SHORT_SECONDS, work)
            try:
                return await worker.run(limited, *args, **kwargs)
            except TooCostly:
                return None

    @asynccontextmanager
    async def turn(
        self, tenant: str, session: str, is_short: bool = False
    ) -> AsyncIterator[HeavyWorker]:
        """A process for one request, when its turn has come; `is_short` work waits for no heavy
        one. Raises `Overloaded` if too many of the tenant's wait, or this one has too long."""
        kind, lane = ("short", self._short) if is_short else ("heavy", self._heavy)
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    await stack.enter_async_context(lane.limits.place(tenant, session))
            except TimeoutError:
                raise Overloaded(
                    f"{kind} requests of tenant {tenant!r} wait for one another, this one for over "
                    f"{TURN_SECONDS:g} s; ask for fewer at a time, and try again"
                ) from None
            worker = lane.idle.pop()
            try:
                yield worker
            finally:
                lane.idle.append(worker)

    def is_isolated(self, tenant: str, is_crowding: bool = False) -> bool:
        """Whether small work of a tenant is to be done in the pool as well: its work blocked the
        loop a short while ago, or its many requests crowd out others."""
        if is_crowding:
            self.isolate(tenant)
        until = self._isolated.get(tenant)
        return until is not None and time.monotonic() < until

    @contextmanager
    def watched(self, tenant: str) -> Iterator[None]:
        """Wraps work of a tenant in the event loop: if it blocks the loop for too long, even if it
        then fails, the tenant's next requests go to the pool."""
        begun = time.thread_time()
        try:
            yield
        finally:
            if time.thread_time() - begun > HELD_SECONDS:
                self.isolate(tenant, ISOLATION_SECONDS)

    def isolate(self, tenant: str, seconds: float = CROWDING_SECONDS) -> None:
        until = max(time.monotonic() + seconds, self._isolated.pop(tenant, 0.0))
        self._isolated[tenant] = until
        if len(self._isolated) > _MAX_ISOLATED:
            self._isolated.popitem(last=False)


class _Lane:
    """Processes for one kind of work, and whose turn it is."""

    def __init__(
        self, start: Callable[[], Awaitable[Child]], processes: int, seconds: float
    ) -> None:
        self.idle = [HeavyWorker(start, seconds) for _ in range(processes)]
        # If there are two or more, one is always left to other tenants.
        own = max(1, processes - 1)
        self.limits = ConcurrencyLimits(processes, own, own, WAITING)


class HeavyWorker(SubprocessWorker):
    """A process of the pool; its errors tell the requester why the work was ended."""

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`work(*args)`; function, arguments and result are picklable. Raises weft's errors as the
        work raised them, and `TooCostly` if it was ended."""
        try:
            return await super().run(work, *args, **kwargs)
        except TookTooLong:
            raise TooCostly(
                f"this request took more than {self._seconds:g} s and was ended; ask for fewer "
                "tokens or a smaller part, or raise WEFT_HEAVY_SECONDS"
            ) from None
        except WorkDied:
            raise TooCostly(
                "the process that worked on this request ended, as for want of memory; ask for "
                "fewer tokens or a smaller part"
            ) from None
        except WorkFailed as error:
            _log.error("a request failed in its process", extra=fields(error=str(error)))
            raise WeftError(f"the service failed on this request ({error}); see its log") from None
