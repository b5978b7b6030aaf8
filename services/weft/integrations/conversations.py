"""What every framework needs from weft: publish the new part of a conversation, compile its next
context, and go on without weft while it is away.

A framework passes its history at each step. What happens between two steps (an answer, results of
tools that run in parallel) is published as that history with its continuation, so that the next
step finds it published already.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import weft
from weft.adapters.conversation import conversation
from weft.client.offline import OnUnavailable
from weft.client.refusals import ItemRefused
from weft.integrations.current_history import as_it_is, versions
from weft.integrations.either_client import Turn, done, done_now, returned
from weft.integrations.open_sessions import OpenSessions
from weft.messages import Format
from weft_schemas.errors import InvalidInput, Unavailable
from weft_schemas.items import ContextItem

LOG = logging.getLogger("weft.integrations")


ToolErrors = Literal["tell", "raise"]
"""What becomes of a tool that raises: a failed result that the model reads, or the end of the
run."""


Scope = str | Callable[[str], str | None]
"""A memory's scope, or the scope of a session's name."""


class OwnHistoryWarning(UserWarning):
    """A model was given the framework's own history, since weft could not compile."""


def warn_of_own_history(message: str, stacklevel: int) -> None:
    """Once as a warning, and every time in the log: LiteLLM's proxy shows no warnings."""
    LOG.warning("%s", message)
    warnings.warn(message, OwnHistoryWarning, stacklevel=stacklevel + 1)


class _Conversation:
    """One session, and the latest history from its framework."""

    def __init__(self, session: weft.Session | weft.SyncSession) -> None:
        self.session = session
        self.history: list[Any] = []
        self.asked: list[str] = []
        """Ids of the calls that the latest answer made, in order."""
        self.ran: dict[str, Any] = {}
        """Results of these calls, by the id of the call."""
        self.waits = False
        """Whether weft was away at the latest step, and what follows it comes with the next one."""
        self._versions: set[str] = set()
        """Ids of what the latest history had in place of items of the log."""
        self.turn = Turn(session)

    def back(self, pack: weft.Pack) -> weft.Pack:
        self.waits = False
        return pack

    def unseen(self, versions: Sequence[ContextItem], logged: Collection[str]) -> list[ContextItem]:
        """Those that are not in the log, nor in the step before, whose history had them too."""
        before, self._versions = self._versions, {one.id for one in versions}
        return [one for one in versions if one.id not in logged and one.id not in before]

    def step(self, history: Sequence[Any]) -> list[Any]:
        self.history, self.asked, self.ran = list(history), [], {}
        return self.history

    def answered(
        self, answer: Sequence[Any], calls: Sequence[str], history: Sequence[Any] | None = None
    ) -> list[Any]:
        before = self.history if history is None else history
        self.history, self.ran = [*before, *answer], {}
        # A result that several calls could have waits for the history, whose order tells.
        self.asked = list(calls) if all(calls) and len({*calls}) == len(calls) else []
        return self.history

    def result(self, call_id: str, message: Any) -> list[Any]:
        """The history with the results so far, up to the first missing one: in the order of their
        calls, as the framework will pass them."""
        self.ran[call_id] = message
        there = []
        for asked in self.asked:
            if asked not in self.ran:
                break
            there.append(self.ran[asked])
        return [*self.history, *there]


class Conversations:
    """The sessions of one framework.

    With a `SyncClient` the methods ending in `_now` work, and the others wait in a thread; with an
    async `Client` only the others work, in its loop.
    """

    def __init__(
        self,
        client: weft.Client | weft.SyncClient,
        format: Format,
        *,
        budget: int | None = None,
        phase: weft.Phase | str = "call",
        reserve: int = 0,
        timeout: float = 10.0,
        stable: bool = False,
        on_unavailable: OnUnavailable = "spool",
        wait_timeout: float = 60.0,
        spool: Path | str = "weft-spool",
        scope: Scope | None = None,
    ) -> None:
        """The options are those of `Client.session`; `scope` may also be a function of the
        session's name, for an application with many users. While weft is away, publications go to a
        file (`spool`) or are waited for, up to `wait_timeout` seconds (`wait`), and the model then
        gets the framework's own history, with an `OwnHistoryWarning`. `raise` raises
        `Unavailable`."""
        if on_unavailable not in ("spool", "wait", "raise"):
            raise InvalidInput(f"on_unavailable is spool, wait or raise, not {on_unavailable!r}")
        self.client = client
        self._format = format
        self._raises = on_unavailable == "raise"
        self._spools = on_unavailable == "spool"
        self._options: dict[str, Any] = {
            "budget": budget,
            "phase": phase,
            "reserve": reserve,
            "timeout": timeout,
            "stable": stable,
            "drilldown": False,  # offered as a tool of the framework's own
            "on_unavailable": on_unavailable,
            "wait_timeout": wait_timeout,
            "spool": spool,
        }
        self._scope = scope
        self._open = OpenSessions(self._opened, lambda one: one.turn.is_taken)

    async def compiled(
        self, name: str, history: Sequence[Any], query: str = ""
    ) -> weft.Pack | None:
        """Publish the new part of a history and compile the context for the model's next call; None
        if the framework's own history must be used."""
        return await done(self.client, partial(self._compiled, name, history, query))

    def compiled_now(self, name: str, history: Sequence[Any], query: str = "") -> weft.Pack | None:
        """The same without an event loop."""
        return done_now(self.client, partial(self._compiled, name, history, query))

    async def answered(
        self,
        name: str,
        answer: Sequence[Any],
        calls: Sequence[str] = (),
        history: Sequence[Any] | None = None,
    ) -> None:
        """Publish a model's answer to the latest step, or to the one with this `history`; `calls`
        are ids of the calls in it.

        A model that is asked twice for one step may answer differently; then the log contains both
        answers, since both were given.
        """
        await done(self.client, partial(self._answered, name, answer, calls, history))

    def answered_now(
        self,
        name: str,
        answer: Sequence[Any],
        calls: Sequence[str] = (),
        history: Sequence[Any] | None = None,
    ) -> None:
        """The same without an event loop."""
        done_now(self.client, partial(self._answered, name, answer, calls, history))

    async def followed(self, name: str, history: Sequence[Any]) -> None:
        """Publish the new part of a history between two steps."""
        if not self._of(name).waits:
            await self.publish(name, history)

    def followed_now(self, name: str, history: Sequence[Any]) -> None:
        """The same without an event loop."""
        if not self._of(name).waits:
            done_now(self.client, partial(self._publish, name, history))

    async def ran(self, name: str, call_id: str, result: Any) -> None:
        """Publish the result of a call of the latest answer, once all results before it are
        there."""
        await done(self.client, partial(self._ran, name, call_id, result))

    def ran_now(self, name: str, call_id: str, result: Any) -> None:
        """The same without an event loop."""
        done_now(self.client, partial(self._ran, name, call_id, result))

    async def publish(self, name: str, history: Sequence[Any]) -> None:
        """Publish the new part of a history."""
        await done(self.client, partial(self._publish, name, history))

    async def _compiled(self, name: str, history: Sequence[Any], query: str) -> weft.Pack | None:
        one = self._of(name)
        async with one.turn:
            with self._going_on(name, one):
                if not history:
                    return None
                published = await self._published(one, one.step(history))
                self._tell(name, published)
                now = versions(one.history, self._format, published)
                with _refusals(name):
                    one.session.add(*one.unseen(now, self._logged(name)))
                    await returned(one.session.flush())
                pack = await returned(one.session.compile(query=query))
                return as_it_is(one.back(pack), published, now)
        return None

    async def _answered(
        self,
        name: str,
        answer: Sequence[Any],
        calls: Sequence[str],
        history: Sequence[Any] | None,
    ) -> None:
        one = self._of(name)
        async with one.turn:
            whole = one.answered(answer, calls, history)
            if one.waits or not answer:
                return
            with self._going_on(name):
                published = await self._published(one, whole)
                if _is_another(published, len(whole) - len(answer)):
                    one.session.add(*answer, format=self._format)
                    await returned(one.session.flush())

    async def _ran(self, name: str, call_id: str, result: Any) -> None:
        one = self._of(name)
        async with one.turn:
            if call_id in one.asked and not one.waits:
                with self._going_on(name):
                    await self._published(one, one.result(call_id, result))

    async def _publish(self, name: str, history: Sequence[Any]) -> None:
        one = self._of(name)
        async with one.turn:
            with self._going_on(name):
                if history:
                    self._tell(name, await self._published(one, one.step(history)))

    async def _published(
        self, one: _Conversation, history: Sequence[Any]
    ) -> weft.PublishedMessages:
        return await returned(one.session.publish(history, format=self._format))

    def _logged(self, name: str) -> Collection[str]:
        """Ids of the versions of the session's items, as far as the client knows them."""
        known = self.client.histories.remembered(name)
        return known.made_from if known is not None else ()

    def _of(self, name: str) -> _Conversation:
        return self._open.of(name)

    def _opened(self, name: str) -> _Conversation:
        scope = self._scope(name) if callable(self._scope) else self._scope
        return _Conversation(self.client.session(name, scope=scope, **self._options))

    @contextmanager
    def _going_on(self, name: str, step: _Conversation | None = None) -> Iterator[None]:
        """If weft is away, use the framework's own history instead of failing. `step` is the
        conversation whose context is compiled."""
        try:
            yield
        except Unavailable as error:
            if self._raises:
                raise
            if step is not None:
                step.waits = not self._spools
                message = f"session {name!r}: the model gets the framework's own history: {error}"
                warn_of_own_history(message, stacklevel=6)
            else:
                LOG.warning("session %r: published with the next step: %s", name, error)

    @staticmethod
    def _tell(name: str, done: weft.PublishedMessages) -> None:
        for change in done.conflicts:
            LOG.warning(
                "session %r: message %d was %s since it was published; the log keeps what was",
                *(name, change.index, change.reason),
            )


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """What cannot be published is not shown either, and that is no reason to end a run."""
    try:
        yield
    except ItemRefused as error:
        LOG.warning("session %r: %s", name, error)


def _is_another(done: weft.PublishedMessages, place: int) -> bool:
    """Whether the log contains another answer in place of this one."""
    return any(change.index >= place for change in done.conflicts)


def failed_calls(pack: weft.Pack) -> frozenset[str]:
    """The ids, as in the pack's messages, of the calls that failed: for frameworks whose messages
    have a status of their own."""
    steps = conversation(pack.entries).steps
    return frozenset(call.id for step in steps for call in step.calls if call.is_error)


def thoughts_of(pack: weft.Pack) -> dict[str, list[dict[str, Any]]]:
    """Anthropic's thinking blocks that go back, by the id of the call after them: for frameworks
    whose messages have a form of their own for them."""
    held = ((one.call_id or "", one.reasoning) for one in pack.entries)
    return {
        call_id: [dict(block) for block in reasoning.before]
        for call_id, reasoning in held
        if reasoning is not None and reasoning.format == "anthropic" and reasoning.before
    }


def session_name(given: str | None, of_framework: str | None, where: str) -> str:
    """The session of a conversation: the given one, otherwise the framework's own id."""
    name = given or of_framework
    if not name:
        raise InvalidInput(f"no session for this conversation: give session='…', or {where}")
    return name
