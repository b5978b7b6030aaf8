"""A pack's entries as the steps of a conversation: what every provider's messages are made from.

Providers want each call answered at once, while in a real session other things happen between a
call and its result. A turn of calls therefore stands, with all its results, where the last of them
came in: what was said meanwhile stays before it, and a later pack only adds behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from weft.days import day_of, written
from weft_schemas.compile import PackEntry
from weft_schemas.ids import digest
from weft_schemas.items import ItemKind

SYSTEM_SECTIONS = frozenset({"header", "policy", "tools"})
"""Sections that go to the system prompt."""

_LABELS = {
    ItemKind.DOC_SNIPPET: "document",
    ItemKind.PLAN_STATE: "plan",
    ItemKind.MEMORY_FACT: "memory",
}
"""Kinds that no provider has a role for stand in user messages under a label."""

_NAME = re.compile(r"[^A-Za-z0-9_-]")
MAX_NAME = 64
"""OpenAI's and Anthropic's common limit for a function's name, `[A-Za-z0-9_-]` alone."""
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
"""Call ids that both take: OpenAI's length, Anthropic's letters."""

_UNSAFE = re.compile(r"[^\w .@-]+")
"""What an author's name may not hold, so that it cannot pass for somebody else's turn."""


class Answered(msgspec.Struct, frozen=True):
    """One call with its result."""

    id: str
    """Unique within the pack."""
    name: str
    arguments: dict[str, Any]
    result: str
    is_error: bool = False


class Step(msgspec.Struct, frozen=True):
    """One message, or one turn of parallel calls with their results."""

    role: str
    """`user` or `assistant`."""
    text: str = ""
    calls: tuple[Answered, ...] = ()


class Conversation(msgspec.Struct, frozen=True):
    system: str
    steps: tuple[Step, ...]


def conversation(entries: Sequence[PackEntry]) -> Conversation:
    """System prompt and steps that hold exactly these entries; the same entries, the same steps.

    A call without a result among the entries, or the reverse, becomes plain text.
    """
    system = [entry.text for entry in entries if _is_system(entry)]
    rest = [entry for entry in entries if not _is_system(entry)]
    return Conversation("\n\n".join(filter(str.strip, system)), tuple(_steps(rest)))


def _is_system(entry: PackEntry) -> bool:
    return entry.section in SYSTEM_SECTIONS or entry.kind is ItemKind.POLICY


def _steps(entries: Sequence[PackEntry]) -> list[Step]:
    results = _results(entries)
    turns = _turns(entries, results)
    placed = {max(_places(turn, results)): turn for turn in turns}
    inside = {place for turn in turns for place in _places(turn, results)}
    texts = _Texts()
    ids = _CallIds()
    steps: list[Step] = []
    for place, entry in enumerate(entries):
        if place in placed:
            calls = (_answered(entries, call, results[call], ids) for call in placed[place])
            steps.append(Step("assistant", calls=tuple(calls)))
        elif place not in inside and entry.text.strip():
            _say(steps, texts.step(entry))
    return steps


def _say(steps: list[Step], step: Step) -> None:
    """What one role says in a row is one message: each message costs tokens of its own."""
    if steps and steps[-1].role == step.role and not steps[-1].calls:
        step = Step(step.role, f"{steps.pop().text}\n{step.text}")
    steps.append(step)


def _results(entries: Sequence[PackEntry]) -> dict[int, list[int]]:
    """Place of each answered call → places of its results."""
    by_item = {
        entry.item_id: place
        for place, entry in enumerate(entries)
        if entry.kind is ItemKind.TOOL_CALL
    }
    found: dict[int, list[int]] = {}
    for place, entry in enumerate(entries):
        if entry.kind is ItemKind.TOOL_RESULT:
            call = by_item.get(entry.parent_id or "")
            if call is None:
                call = _by_call_id(entries, place, found)
            if call is not None:
                found.setdefault(call, []).append(place)
    return found


def _by_call_id(
    entries: Sequence[PackEntry], place: int, found: dict[int, list[int]]
) -> int | None:
    """The nearest call before a result that has its call id and no result yet."""
    wanted = entries[place].call_id
    for before in range(place - 1, -1, -1):
        entry = entries[before]
        if (
            wanted is not None
            and entry.kind is ItemKind.TOOL_CALL
            and entry.call_id == wanted
            and before not in found
        ):
            return before
    return None


def _turns(entries: Sequence[PackEntry], results: dict[int, list[int]]) -> list[list[int]]:
    """Answered calls by turn: of one turn_id, or without any in one unbroken run."""
    turns: list[list[int]] = []
    current: list[int] = []
    turn_id: str | None = None
    for place, entry in enumerate(entries):
        if place in results:
            same = entry.turn_id == turn_id and (turn_id is not None or place - 1 in current)
            if current and same and entries[current[0]].author == entry.author:
                current.append(place)
            else:
                current = [place]
                turns.append(current)
                turn_id = entry.turn_id
        elif entry.kind in _ENDS_TURN and entry.turn_id != turn_id:
            current = []
    return turns


_ENDS_TURN = frozenset({ItemKind.USER_TURN, ItemKind.AGENT_MSG})
"""After these, a turn_id that comes again is another turn (some publishers count from 1 anew)."""


def _places(turn: list[int], results: dict[int, list[int]]) -> list[int]:
    return [*turn, *(place for call in turn for place in results[call])]


def _answered(
    entries: Sequence[PackEntry], call: int, results: list[int], ids: _CallIds
) -> Answered:
    entry = entries[call]
    return Answered(
        ids.take(entry),
        _NAME.sub("_", entry.tool_name or "")[:MAX_NAME] or "tool",
        _arguments(entry),
        "\n\n".join(entries[place].text for place in results),
        any(entries[place].is_error for place in results),
    )


def _arguments(entry: PackEntry) -> dict[str, Any]:
    """What was asked, as far as shown; a redacted call never gives the arguments behind it."""
    if entry.arguments is not None and entry.view != "redacted":
        return entry.arguments
    return {"input": entry.text}


class _CallIds:
    """Gives calls ids that are unique in one pack: the provider's own where it can be kept."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, entry: PackEntry) -> str:
        call_id = entry.call_id or ""
        if not _CALL_ID.match(call_id) or call_id in self._taken:
            call_id = f"call_{digest('call', entry.item_id)[:24]}"
        self._taken.add(call_id)
        return call_id


class _Texts:
    """Entries as text: who speaks where several do, and the day where a new one begins."""

    def __init__(self) -> None:
        self._day = ""

    def step(self, entry: PackEntry) -> Step:
        role = "assistant" if entry.kind in _ASSISTANT else "user"
        label = _LABELS.get(entry.kind)
        name = _UNSAFE.sub(" ", entry.author)[:MAX_NAME].strip() if entry.author else ""
        head = f"[{label}] " if label else f"{name}: " if name else ""
        return Step(role, f"{self._new_day(entry)}{head}{entry.text}")

    def _new_day(self, entry: PackEntry) -> str:
        today = day_of(entry.occurred_at)
        if not today or today == self._day:
            return ""
        line = f"{written(today, self._day)}\n"
        self._day = today
        return line


_ASSISTANT = frozenset({ItemKind.AGENT_MSG, ItemKind.TOOL_CALL})
