"""Fair queueing: how many requests of a tenant and a session a service handles at a time, and which
request is next if only one can run.

A tenant that has used its share waits in its own queue, so no number of its requests can keep
another tenant's from starting.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Generic, TypeVar

from weft_schemas.errors import Overloaded

CROWDING_REQUESTS = 3
"""Requests of one tenant that wait for their turn."""
ACTIVE_SECONDS = 5.0
"""How long a tenant counts as active after its last request."""
STARTED_PER_TURN = 8
"""Requests started in one turn of the event loop: some 3 ms."""

Arrived = TypeVar("Arrived")


class ConcurrencyLimits:
    """One service's limits on concurrent requests: in all, of a tenant and of a session."""

    def __init__(self, everybody: int, tenant: int, session: int, waiting: int) -> None:
        """`waiting`: requests of one tenant that may wait, in addition to those in progress."""
        self._everybody = asyncio.Semaphore(everybody)
        self._limits = (tenant, session)
        self._waiting = waiting
        self._queues: dict[tuple[str, ...], _Queue] = {}

    def would_wait(self, tenant: str, session: str) -> bool:
        """Whether a request would have to wait."""
        queues = (self._queues.get((tenant,)), self._queues.get((tenant, session)))
        return self._everybody.locked() or any(queue and queue.room.locked() for queue in queues)

    @asynccontextmanager
    async def place(self, tenant: str, session: str) -> AsyncIterator[None]:
        """A place for one request. Raises `Overloaded` at once if too many wait."""
        with self._queue(tenant) as own, self._queue(tenant, session) as theirs:
            if own.held > self._limits[0] + self._waiting:
                held = f"{own.held - 1} requests of tenant {tenant!r}"
                raise Overloaded(f"{held} are in work or wait already; try again")
            # The narrowest limit first: a waiting request must not take another tenant's place.
            async with theirs.room, own.room, self._everybody:
                yield

    @contextmanager
    def _queue(self, *name: str) -> Iterator[_Queue]:
        """One queue, with one request more; forgotten when it is empty."""
        queue = self._queues.setdefault(name, _Queue(self._limits[len(name) - 1]))
        queue.held += 1
        try:
            yield queue
        finally:
            queue.held -= 1
            if not queue.held:
                del self._queues[name]


class Turns:
    """One request at a time, tenants in turn: one waits for at most one of each other tenant."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By tenant, in the order of their turns."""
        self._newest = ("", float("-inf"))
        self._other = self._newest
        """The last two tenants, and the times of their last requests."""

    def is_crowding(self, tenant: str) -> bool:
        """Whether many requests of a tenant wait while other tenants are active."""
        if len(self._waiting.get(tenant, ())) < CROWDING_REQUESTS:
            return False
        other = self._other if self._newest[0] == tenant else self._newest
        return time.monotonic() - other[1] < ACTIVE_SECONDS

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[None]:
        """Hold the turn within the block."""
        if tenant != self._newest[0]:
            self._other = self._newest
        self._newest = (tenant, time.monotonic())
        if self._is_taken:
            await self._wait(tenant)
        self._is_taken = True
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, tenant: str) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._pass_on()  # it had been given the turn before the cancellation
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            tenant, queue = self._waiting.popitem(last=False)
            mine = queue.popleft()
            if queue:
                self._waiting[tenant] = queue
            if not mine.cancelled():
                mine.set_result(None)
                return
        self._is_taken = False


class _Queue:
    def __init__(self, places: int) -> None:
        self.room = asyncio.Semaphore(places)
        self.held = 0


class Arrivals(Generic[Arrived]):
    """Starts requests as they arrive: a few at once, then some of each tenant in each turn of the
    event loop, so that no tenant waits behind a thousand requests of another."""

    def __init__(self, begin: Callable[[Arrived], object]) -> None:
        self._begin = begin
        self._held: OrderedDict[Hashable, deque[Arrived]] = OrderedDict()
        """By tenant, in the order of their turns."""
        self._begun = 0
        """In this turn of the event loop."""

    def __bool__(self) -> bool:
        """Whether some requests are not started."""
        return bool(self._held)

    def put(self, tenant: Hashable, one: Arrived) -> None:
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._go_on)
        if self._held or self._begun >= STARTED_PER_TURN:
            self._held.setdefault(tenant, deque()).append(one)
        else:
            self._begin(one)
        self._begun += 1

    def _go_on(self) -> None:
        self._begun = 0
        for tenant in list(self._held)[:STARTED_PER_TURN]:
            waiting = self._held.pop(tenant)
            for _ in range(min(len(waiting), max(STARTED_PER_TURN // (len(self._held) + 1), 1))):
                self._begin(waiting.popleft())
            if waiting:
                self._held[tenant] = waiting
        if self._held:
            self._begun = STARTED_PER_TURN
            asyncio.get_running_loop().call_soon(self._go_on)
