"""Turns an agent's messages into items of the log: each once, however often its history is passed.

The content of a session is requested once and then cached; `weft.messages.history_matching` finds a
history in it. One task at a time changes a session's history.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

import msgspec

from weft.client.outgoing import PublishAck
from weft.client.refusals import Accepted, accepted, shortened
from weft.messages.history_matching import History, Placed, links
from weft.messages.reading import ReadMessages, renamed
from weft_schemas.errors import Conflict
from weft_schemas.items import ContextItem, ItemKind, is_users_document

KEPT_SESSIONS = 1_000
"""How many sessions are cached; an older one is requested again."""

OnEdit = Literal["report", "raise"]
Items = Sequence[ContextItem]


class ChangedMessage(msgspec.Struct, frozen=True):
    """A message of the past that differs from the published one, and was not published itself."""

    index: int
    """Among the given messages; -1 for the system prompt of a request."""
    item_id: str
    """The item that the log contains at its place; for an inserted message, the item before it, if
    any."""
    reason: Literal["edited", "inserted"]


class PublishedMessages(msgspec.Struct, frozen=True):
    """What became of a history that was published."""

    session: str
    sequence: int
    """All of it is at or before this place in the log: pass it to a compile as `after`."""
    new: tuple[str, ...] = ()
    """Ids of the items that were published now."""
    ids: tuple[str, ...] = ()
    """Of all its items, in order; empty for an inserted message."""
    conflicts: tuple[ChangedMessage, ...] = ()
    """Messages of the past that were changed since they were published. The log keeps the published
    version."""
    left_out: dict[str, int] = {}
    """What no item contains; see `weft.messages.ReadMessages`."""
    spooled: bool = False
    """No server or service answered: it waits in a file, and has neither ids nor a sequence yet."""


class _Session:
    """What is known about one session."""

    def __init__(self, sequence: int, ids: Sequence[str]) -> None:
        self.sequence = sequence
        self.history = History(ids)
        self.ties = Ties()


class Ties:
    """What later messages are tied to: calls that wait for a result, and the latest turn."""

    def __init__(self, open_: Sequence[tuple[str, str, str]] = (), turn: str | None = None) -> None:
        self._open = list(open_)
        """Call id, tool and item id."""
        self._turn = turn

    def copy(self) -> Ties:
        return Ties(self._open, self._turn)

    def note(self, item: ContextItem) -> None:
        said = item.reserved
        if item.kind is ItemKind.USER_TURN or is_users_document(item):
            self._turn = item.id
        elif item.kind is ItemKind.TOOL_CALL:
            call = (said.call_id or "", said.tool_name or "", item.id)
            if call not in self._open:
                self._open.append(call)
        elif item.kind is ItemKind.TOOL_RESULT:
            self._open = [call for call in self._open if call[2] != item.parent_id]

    def tied(self, item: ContextItem) -> ContextItem:
        """With the parent that it has in an earlier history."""
        if item.parent_id is not None or item.kind not in (
            ItemKind.TOOL_CALL,
            ItemKind.TOOL_RESULT,
        ):
            return item
        if item.kind is ItemKind.TOOL_CALL:
            return msgspec.structs.replace(item, parent_id=self._turn)
        said = item.reserved
        for call_id, name, item_id in self._open:
            if call_id == (said.call_id or "") and (call_id or name == said.tool_name):
                named = item.metadata | ({"tool_name": name} if name else {})
                return msgspec.structs.replace(item, parent_id=item_id, metadata=named)
        return item


class Histories:
    """The histories of one client's sessions."""

    def __init__(
        self,
        publish: Callable[[str, Sequence[ContextItem]], Awaitable[PublishAck]],
        known_ids: Callable[[str], Awaitable[tuple[int, Sequence[str]]]],
    ) -> None:
        """`known_ids` returns the ids of a session's items, and the sequence at which they were
        read."""
        self._publish = publish
        self._known_ids = known_ids
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._turns: dict[str, _Turn] = {}

    async def hand_over(
        self, session: str, read: ReadMessages, on_edit: OnEdit = "report"
    ) -> PublishedMessages:
        """Publish the new part of a history. If something was changed and `on_edit` is `raise`,
        raises `Conflict` before anything is published."""
        async with self._turn(session):
            known, placed = await self._placed(session, read)
            conflicts = conflicts_of(session, read, placed, on_edit)
            ids = ["" if one.state == "inserted" else one.id for one in placed]
            items = renamed(read.items, ids)
            new = [item for item, one in zip(items, placed, strict=True) if one.state == "new"]
            for item, one in zip(items, placed, strict=True):
                if one.state == "known":
                    known.ties.note(item)
            await self._append(session, known, new)
            known.history.remember(links(read.items), placed)
            return PublishedMessages(
                session,
                known.sequence,
                tuple(item.id for item in new),
                tuple(ids),
                conflicts,
                read.left_out,
            )

    async def append(self, session: str, groups: Iterable[Sequence[ContextItem]]) -> Accepted:
        """Publish items after everything that is known. Parents are ids within each group. An item
        that is too long for a message is published shortened, with the same id."""
        async with self._turn(session):
            known = await self._known(session)
            made: list[ContextItem] = []
            for group in groups:
                ids = known.history.ids_for(links(group), after=len(made))
                made.extend(renamed(group, ids))
            return await self._append(session, known, made, shortened)

    async def settle(
        self,
        session: str,
        runs: Iterable[tuple[Literal["history", "append", "items"], Sequence[Items]]],
    ) -> list[ContextItem]:
        """Items as they will be published, from what was passed and added while no server or
        service answered; nothing is published yet."""
        self.forget(session)
        async with self._turn(session):
            known = await self._known(session)
            ahead, ties = known.history.copy(), known.ties.copy()
            made: list[ContextItem] = []
            for mode, groups in runs:
                for group in groups:
                    items = list(group)
                    if mode == "append":
                        ids = ahead.append(links(items))
                        items = list(renamed(items, ids))
                    elif mode == "history":
                        items = _new_in(ahead, items)
                    for item in items:
                        made.append(ties.tied(item))
                        ties.note(made[-1])
            return made

    def remembered(self, session: str) -> History | None:
        """What is known about a session without asking anybody."""
        known = self._sessions.get(session)
        return None if known is None else known.history

    def forget(self, session: str) -> None:
        """Ask for a session again before anything else is published to it."""
        self._sessions.pop(session, None)

    def published(self, session: str, ids: Iterable[str]) -> None:
        """Note items of a session that were published in any way."""
        known = self._sessions.get(session)
        if known is not None:
            for item_id in ids:
                known.history.note_made_from(item_id)

    async def _append(
        self,
        session: str,
        known: _Session,
        items: list[ContextItem],
        instead: Callable[[ContextItem], ContextItem | None] | None = None,
    ) -> Accepted:
        """Publish items whose ids are made already. They count as known only when they are stored,
        so that publishing again makes the same ids. With `instead`, see `accepted`."""
        if not items:
            return Accepted(known.sequence, [], [])
        ties, tied = known.ties.copy(), []
        for item in items:
            tied.append(ties.tied(item))
            ties.note(tied[-1])
        publish = partial(self._publish, session)
        if instead is None:
            done = Accepted((await publish(tied)).sequence, tied, [])
        else:
            done = await accepted(tied, publish, instead)
        known.ties = ties
        for item in done.items:
            known.history.take(item.id)
        known.sequence = max(known.sequence, done.sequence)
        return msgspec.structs.replace(done, sequence=known.sequence)

    async def _placed(self, session: str, read: ReadMessages) -> tuple[_Session, list[Placed]]:
        """The cache may be behind if another process has published since. So it is requested again
        before anything counts as changed."""
        given = links(read.items)
        remembered = session in self._sessions
        known = await self._known(session)
        placed = known.history.place(given)
        others = placed[known.history.repeats(given) :]
        if remembered and any(one.state not in ("known", "new") for one in others):
            self._sessions.pop(session)
            known = await self._known(session)
            placed = known.history.place(given)
        return known, placed

    async def _known(self, session: str) -> _Session:
        known = self._sessions.get(session)
        if known is None:
            known = _Session(*await self._known_ids(session))
            self._sessions[session] = known
            while len(self._sessions) > KEPT_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session)
        return known

    @asynccontextmanager
    async def _turn(self, session: str) -> AsyncIterator[None]:
        turn = self._turns.setdefault(session, _Turn())
        turn.tasks += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.tasks -= 1
            if not turn.tasks:
                del self._turns[session]


class _Turn:
    """The right to change one session's history."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.tasks = 0
        """How many have the turn or wait for it; without any it is forgotten."""


def conflicts_of(
    session: str, read: ReadMessages, placed: Sequence[Placed], on_edit: OnEdit
) -> tuple[ChangedMessage, ...]:
    """What was changed. Raises `Conflict` if the caller asked for that."""
    conflicts = tuple(
        ChangedMessage(index, one.id, one.state)
        for index, one in zip(read.places, placed, strict=True)
        if one.state == "edited" or one.state == "inserted"
    )
    if conflicts and on_edit == "raise":
        raise _changed(session, conflicts)
    return conflicts


def _new_in(ahead: History, items: Items) -> list[ContextItem]:
    """The new part of a whole history, which is known from now on."""
    given = links(items)
    placed = ahead.place(given)
    ids = ["" if one.state == "inserted" else one.id for one in placed]
    made = renamed(items, ids)
    new = [item for item, one in zip(made, placed, strict=True) if one.state == "new"]
    ahead.append([what for what, one in zip(given, placed, strict=True) if one.state == "new"])
    return new


def _changed(session: str, conflicts: Sequence[ChangedMessage]) -> Conflict:
    first = conflicts[0]
    what = (
        f"differs from item {first.item_id!r}"
        if first.reason == "edited"
        else "stands between known messages and is not in the log"
    )
    return Conflict(
        f"session {session!r}: message {first.index} of the history {what}"
        f"{f' ({len(conflicts)} such messages)' if len(conflicts) > 1 else ''}; what is published "
        "stays: hand the history over as it was, or begin another session"
    )
