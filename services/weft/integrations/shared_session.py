"""One session for several tasks or threads of a framework."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import weft
from weft_schemas.items import ContextItem


class SharedSession:
    """A session for tasks, or threads with loops of their own, which use it one at a time."""

    def __init__(self, session: weft.Session | weft.SyncSession) -> None:
        self._session = session
        self._turn = asyncio.Lock()
        self._thread_turn = threading.Lock()

    async def publish(self, items: Sequence[ContextItem]) -> None:
        """Publish items. If that fails, they stay added and are sent with the next ones."""
        await self._in_turn(self._session.flush, items)

    async def compile(self, query: str) -> weft.Pack:
        """See `Session.compile`."""
        pack: weft.Pack = await self._in_turn(partial(self._session.compile, query=query))
        return pack

    async def _in_turn(self, work: Callable[[], Any], items: Sequence[ContextItem] = ()) -> Any:
        """The result of `work`, a method of the session, after adding the items."""
        if isinstance(self._session, weft.SyncSession):
            return await asyncio.to_thread(self._in_turn_now, work, items)
        async with self._turn:
            self._session.add(*items)
            return await work()

    def _in_turn_now(self, work: Callable[[], Any], items: Sequence[ContextItem]) -> Any:
        with self._thread_turn:
            self._session.add(*items)
            return work()
