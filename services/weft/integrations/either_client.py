"""What an integration does with a session, written once for both clients.

It is a coroutine. With a client of `weft.connect_sync`, whose calls block, it has nothing to wait
for: it runs to its end in one step, in any thread and without an event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

import weft
from weft_schemas.errors import InvalidInput

T = TypeVar("T")
Either = weft.Client | weft.SyncClient | weft.Session | weft.SyncSession
_BLOCKING = (weft.SyncClient, weft.SyncSession)
Work = Callable[[], Coroutine[Any, Any, T]]


async def done(worked_with: Either, work: Work[T]) -> T:
    """The result of the work: in this loop, or in a thread where the client blocks."""
    if isinstance(worked_with, _BLOCKING):
        return await asyncio.to_thread(done_now, worked_with, work)
    return await work()


def done_now(worked_with: Either, work: Work[T]) -> T:
    """The same without an event loop. Raises `InvalidInput` for a client that needs one."""
    if not isinstance(worked_with, _BLOCKING):
        raise InvalidInput(
            "this framework runs without an event loop; give it a client of weft.connect_sync"
        )
    try:
        work().send(None)
    except StopIteration as ended:
        return cast(T, ended.value)
    raise AssertionError("work with a blocking client waited for something")


async def returned(value: T | Awaitable[T]) -> T:
    """What a method of a session returns, of either client."""
    return cast(T, await value if inspect.isawaitable(value) else value)


class Turn:
    """One task at a time works on a session, or one thread."""

    def __init__(self, session: weft.Session | weft.SyncSession) -> None:
        blocks = isinstance(session, weft.SyncSession)
        self._lock = threading.Lock() if blocks else asyncio.Lock()

    @property
    def is_taken(self) -> bool:
        return self._lock.locked()

    async def __aenter__(self) -> None:
        await returned(self._lock.acquire())

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
