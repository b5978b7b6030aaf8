"""One session for several tasks or threads of a framework."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import weft
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem

REMEMBERED = 2_000
"""Ids of items that were added, so that they are not sent again each time a framework passes them;
the log would recognise them, too."""


class SharedSession:
    """A session for tasks, or threads with loops of their own, which use it one at a time."""

    def __init__(self, session: weft.Session | weft.SyncSession) -> None:
        self._session = session
        self._turn = asyncio.Lock()
        self._thread_turn = threading.Lock()
        self._added: OrderedDict[str, None] = OrderedDict()

    @property
    def is_needed(self) -> bool:
        """Whether somebody uses it, or something waits to be sent."""
        is_used = self._turn.locked() or self._thread_turn.locked()
        return is_used or self._session.unsent > 0

    async def publish(self, items: Sequence[ContextItem]) -> None:
        """Publish items, each once. If that fails, they stay added and are sent with the next ones.
        What can never be published is left out: everything else is published, and then
        `InvalidInput` is raised."""
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
            malformed = self._add(items)
            done = await work()
        return self._ended(done, malformed)

    def _in_turn_now(self, work: Callable[[], Any], items: Sequence[ContextItem]) -> Any:
        with self._thread_turn:
            malformed = self._add(items)
            done = work()
        return self._ended(done, malformed)

    def _add(self, items: Sequence[ContextItem]) -> list[InvalidInput]:
        """Why some of them cannot be added."""
        malformed = []
        for item in items:
            if item.id in self._added:
                continue
            self._added[item.id] = None
            try:
                self._session.add(item)
            except InvalidInput as error:
                malformed.append(error)
        while len(self._added) > REMEMBERED:
            self._added.popitem(last=False)
        return malformed

    def _ended(self, done: Any, malformed: Sequence[InvalidInput]) -> Any:
        if malformed:
            raise malformed[0]
        return done
