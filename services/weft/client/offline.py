"""How a session behaves while no server or service answers: it fails, waits, or goes on without
weft.

An agent that goes on keeps its publications in a spool, and uses its own history as a context until
weft is back.
"""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from weft.client.base_client import BaseClient
from weft.client.histories import OnEdit, PublishedMessages, Ties, conflicts_of
from weft.client.parking import Parked, ParkedWarning, publish_accepted
from weft.client.refusals import ItemRefused
from weft.client.spool import Spool, Spooled
from weft.messages.history_matching import History, links
from weft.messages.reading import Messages, ReadMessages, renamed
from weft.messages.writing import Provider, request_of
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.items import ContextItem

_log = logging.getLogger(__name__)

OnUnavailable = Literal["raise", "wait", "spool"]
T = TypeVar("T")
Sent = tuple[int, Sequence[ItemRefused]]
"""The sequence up to which something was published, and what was not published as it was given."""
NOTHING: Sent = (0, ())

FIRST_WAIT_SECONDS = 0.1
MAX_WAIT_SECONDS = 2.0
AGAIN_SECONDS = 5.0
"""How long after a failure no server is asked again, so that an agent does not wait for one at each
step."""


class OwnHistory:
    """What an agent was given and did, for a request without weft."""

    def __init__(self) -> None:
        self._chain, self._ties = History(), Ties()
        self._items: list[ContextItem] = []

    def replace(self, items: Sequence[ContextItem]) -> None:
        """The history is this, whole."""
        self._chain, self._ties, self._items = History(), Ties(), []
        self.add([items], is_message=True)

    def add(self, groups: Iterable[Sequence[ContextItem]], is_message: bool) -> None:
        """The history goes on; a message's items have no ids of their own."""
        for group in groups:
            if is_message:
                group = renamed(group, self._chain.append(links(group)))
            for item in group:
                self._items.append(self._ties.tied(item))
                self._ties.note(self._items[-1])

    def request(self, provider: Provider, fallback: Messages | None) -> dict[str, Any]:
        """As a request of the provider; `fallback` unchanged, if it is given."""
        if fallback is None:
            return request_of(self._items, provider)
        if isinstance(fallback, Mapping):
            return dict(fallback)
        key = {"openai-responses": "input", "gemini": "contents"}.get(provider, "messages")
        return {key: list(fallback)}


class UnavailableWarning(UserWarning):
    """A request was made from the agent's own history, since weft could not compile."""


async def retried(work: Callable[[], Awaitable[T]], seconds: float) -> T:
    """The result of the work, tried again for up to this many seconds while it fails
    temporarily."""
    deadline = time.monotonic() + seconds
    wait = FIRST_WAIT_SECONDS
    while True:
        try:
            return await work()
        except WeftError as error:
            if not error.retryable or time.monotonic() + wait > deadline:
                raise
        await asyncio.sleep(wait)
        wait = min(2 * wait, MAX_WAIT_SECONDS)


class Spooling:
    """Publishes for one session, or spools while no server accepts it."""

    def __init__(self, client: BaseClient, session: str, spool: Spool) -> None:
        self._client = client
        self._session = session
        self._spool = spool
        self._ahead: History | None = None
        """What will be known once everything in the spool is sent."""
        self._is_based = False
        """Whether `_ahead` begins with what the log was known to contain."""
        self._away_until = 0.0
        self._was_up = False
        self._failure = WeftError()
        self.sequence = 0
        """What was spooled and has been sent is at or before this place in the log."""

    def why(self) -> Unavailable:
        """The latest reason why weft could not be reached."""
        return Unavailable(str(self._failure))

    async def reached(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """The result of the work, after everything in the spool has been sent; None while no server
        answers."""
        if self._client.is_cut_off:
            self._fails(Unavailable("the server is away; nothing was sent"))
        is_back = self._client.is_up and not self._was_up
        if time.monotonic() < self._away_until and not is_back:
            return None
        try:
            self._report(await self._spool.send(self._settled, self._publish))
            done = await work()
        except WeftError as error:
            if not error.retryable:
                raise
            self._fails(error)
            return None
        self._ahead, self._away_until = None, 0.0
        return done

    def _fails(self, error: WeftError) -> None:
        self._failure, self._was_up = error, self._client.is_up
        self._away_until = time.monotonic() + AGAIN_SECONDS

    async def hand_over(self, read: ReadMessages, on_edit: OnEdit) -> PublishedMessages:
        """See `Histories.hand_over`."""
        histories = self._client.histories
        done = await self.reached(lambda: histories.hand_over(self._session, read, on_edit))
        return self._spooled_history(read, on_edit) if done is None else done

    async def append(
        self, groups: Sequence[Sequence[ContextItem]], send: Callable[[], Awaitable[Sent]]
    ) -> Sent:
        """Messages that `send` sends, see `Histories.append`."""
        done = await self.reached(send)
        if done is None:
            self._spool.add(Spooled("append", tuple(map(tuple, groups))))
            self._expected().append([what for group in groups for what in links(group)])
        return done or NOTHING

    async def publish(
        self, items: Sequence[ContextItem], send: Callable[[], Awaitable[Sent]]
    ) -> Sent:
        """Items with ids of their own, which `send` sends."""
        done = await self.reached(send)
        if done is None:
            self._spool.add(Spooled("items", (tuple(items),)))
        return done or NOTHING

    def _spooled_history(self, read: ReadMessages, on_edit: OnEdit) -> PublishedMessages:
        given = links(read.items)
        is_first = self._ahead is None
        expected = self._expected()
        if is_first and not self._is_based:
            self._ahead = None  # until it is kept
            self._spool.add(Spooled("history", (read.items,)))
            self._ahead = expected
            placed = expected.place(given)
            expected.append(given)
            expected.remember(given, placed)
            return PublishedMessages(self._session, 0, left_out=read.left_out, spooled=True)
        placed = expected.place(given)
        conflicts = conflicts_of(self._session, read, placed, on_edit)
        is_new = [one.state == "new" for one in placed]
        names = [
            item.id if new else one.id if self._is_based else ""
            for item, one, new in zip(read.items, placed, is_new, strict=True)
        ]
        items = renamed(read.items, names)
        new_items = tuple(item for item, new in zip(items, is_new, strict=True) if new)
        if new_items:
            self._spool.add(Spooled("append", (new_items,)))
            expected.append([what for what, new in zip(given, is_new, strict=True) if new])
        expected.remember(given, placed)
        return PublishedMessages(
            self._session, 0, conflicts=conflicts, left_out=read.left_out, spooled=True
        )

    def _expected(self) -> History:
        if self._ahead is None:
            known = self._client.histories.remembered(self._session)
            self._ahead = History() if known is None else known.copy()
            self._is_based = known is not None
        return self._ahead

    async def _settled(self, spooled: Sequence[Spooled]) -> list[ContextItem]:
        runs = [(one.mode, one.groups) for one in spooled]
        return await self._client.histories.settle(self._session, runs)

    async def _publish(self, items: Sequence[ContextItem]) -> list[Parked]:
        parked = await publish_accepted(items, self._sent)
        self._client.histories.forget(self._session)
        return parked

    async def _sent(self, items: Sequence[ContextItem]) -> None:
        ack = await self._client.publish(self._session, items)
        self.sequence = max(self.sequence, ack.sequence)

    @property
    def parked(self) -> tuple[Parked, ...]:
        """What was spooled and then refused by the server."""
        return self._spool.parking.parked()

    async def send_parked(self) -> tuple[Parked, ...]:
        """Try again to publish it; returns what is still refused."""
        await self._spool.send_parked(self._publish)
        return self.parked

    def _report(self, parked: Sequence[Parked]) -> None:
        for one in parked:
            message = (
                f"session {self._session!r}: item {one.item.id!r} was published while the server "
                f"was away, is refused by it, and parked in {self._spool.parking.path}: "
                f"{one.reason}; see `session.parked`, mend what is wrong and call "
                "`session.send_parked()`, or delete the file"
            )
            _log.warning("%s", message)  # some servers, such as LiteLLM's proxy, show no warnings
            warnings.warn(message, ParkedWarning, stacklevel=2)
