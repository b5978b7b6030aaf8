"""One session for several tasks or threads of a framework."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import weft
from weft.client.refusals import ItemRefused
from weft.integrations.either_client import Turn, done, returned
from weft_schemas.items import ContextItem

REMEMBERED = 2_000
"""Ids of items that were added, so that they are not sent again each time a framework passes them;
the log would recognise them, too."""


class SharedSession:
    """A session for tasks, or threads with loops of their own, which use it one at a time."""

    def __init__(self, session: weft.Session | weft.SyncSession) -> None:
        self._session = session
        self._turn = Turn(session)
        self._added: OrderedDict[str, ContextItem | None] = OrderedDict()
        """Ids of what was added, and what was refused."""
        self._refused: list[ItemRefused] = []
        """Why, until it is told."""

    @property
    def is_needed(self) -> bool:
        """Whether somebody uses it, or something waits to be sent."""
        return self._turn.is_taken or self._session.unsent > 0

    async def publish(self, items: Sequence[ContextItem]) -> None:
        """Publish items, each once. If that fails, they stay added and are sent with the next ones.
        What can never be published is left out: everything else is published, and then
        `ItemRefused` is raised."""
        await self._in_turn(self._session.flush, items)
        refused, self._refused = self._refused, []
        if refused:
            raise refused[0]

    async def compile(self, query: str) -> weft.Pack:
        """See `Session.compile`. Raises `ItemRefused` for what had waited to be sent; the next call
        goes on without it."""
        pack: weft.Pack = await self._in_turn(partial(self._session.compile, query=query))
        return pack

    async def _in_turn(self, work: Callable[[], Any], items: Sequence[ContextItem] = ()) -> Any:
        """The result of `work`, a method of the session, after adding the items."""

        async def added() -> Any:
            async with self._turn:
                self._add(items)
                return await returned(work())

        return await done(self._session, added)

    def _add(self, items: Sequence[ContextItem]) -> None:
        for item in items:
            if item.id in self._added and self._added[item.id] in (None, item):
                continue
            try:
                self._session.add(item)
                self._added[item.id] = None
            except ItemRefused as error:
                self._refused.append(error)
                self._added[item.id] = item
        while len(self._added) > REMEMBERED:
            self._added.popitem(last=False)
