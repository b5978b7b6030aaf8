"""The steps of a conversation, which are messages and turns of calls with their results, as they
are built from a pack's entries."""

from __future__ import annotations

from typing import Any

import msgspec

from weft.adapters.speaker_names import MAX_NAME, is_reserved, safe
from weft.days import day_of, day_text
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.reasoning import Reasoning

RECORD = "[record of earlier exchanges]"
"""Heading for calls that are told by the assistant because they are not shown as they were made."""

_LABELS = {
    ItemKind.DOC_SNIPPET: "document",
    ItemKind.PLAN_STATE: "plan",
    ItemKind.MEMORY_FACT: "memory",
}
"""Kinds for which no provider has a role are put in user messages under a label."""

_SPEAKERS = {ItemKind.USER_TURN: "user ", ItemKind.AGENT_MSG: "agent "}
"""Precedes a name that could be taken for a label."""


class AnsweredCall(msgspec.Struct, frozen=True):
    """One call as it was made, with its result or the reason why there is none."""

    id: str
    """Unique within the pack."""
    name: str
    arguments: dict[str, Any]
    result: str
    """Never blank."""
    is_error: bool = False
    reasoning: Reasoning | None = None
    """What its provider wants back with it."""


class Step(msgspec.Struct, frozen=True):
    """One message, or one turn of parallel calls with their results."""

    role: str
    """`user` or `assistant`."""
    text: str = ""
    calls: tuple[AnsweredCall, ...] = ()


def omission(items: int, calls: str = "") -> str:
    """The line in place of items that are left out, and which calls are among them."""
    return f"… {items} … calls: {calls}" if calls else f"… {items} …"


class StepBuilder:
    """Builds the steps. Consecutive entries of one role become one message, each on a line of its
    own: messages cost tokens, and tokens add up by lines."""

    def __init__(self) -> None:
        self._made: list[tuple[str, list[str], tuple[AnsweredCall, ...]]] = []
        """Role, texts and calls of each step."""
        self._users: list[str] | None = None
        """The latest words of the user."""
        self._waiting: list[str] = []
        """Remembered facts that precede any words of the user."""
        self._ends_with_data = False
        self._recorded = 0, 0
        """How many steps there were, and how many texts in the last of them, after the latest
        record."""
        self._omitted_calls = ""
        self._omitted = 0
        """How many items were left out since the latest text."""
        self._day = ""

    def steps(self) -> list[Step]:
        if self._omitted:
            self._remember(omission(self._omitted))
        if self._waiting:
            self._append("user", [])
        return [Step(role, "\n".join(texts), calls) for role, texts, calls in self._made]

    def ends_with_record(self) -> bool:
        """Whether the last words tell a call that could not be shown as it was made."""
        return self._is_recording()

    def omit(self, items: int, calls: str = "") -> None:
        """This many are left out before the next addition, with these calls among them."""
        self._omitted += items
        self._omitted_calls = "; ".join(filter(None, (self._omitted_calls, calls)))

    def add_calls(self, calls: tuple[AnsweredCall, ...]) -> None:
        if self._omitted:
            self._append("assistant", [])
        self._made.append(("assistant", [], calls))

    def add_record(self, lines: list[str]) -> None:
        """Consecutive calls get one heading."""
        heading = [] if self._is_recording() else [RECORD]
        self._append("assistant", [*heading, *lines])
        self._recorded = len(self._made), len(self._made[-1][1])

    def _is_recording(self) -> bool:
        return bool(self._made) and self._recorded == (len(self._made), len(self._made[-1][1]))

    def add_text(self, entry: PackEntry) -> None:
        """The speaker is named if there are several, and the day when a new one begins."""
        label = _LABELS.get(entry.kind)
        line = f"[{label}] {entry.text}" if label else f"{self._speaker(entry)}{entry.text}"
        if entry.kind is ItemKind.MEMORY_FACT and not self._is_users():
            self._remember(line)
            return
        role = "assistant" if entry.kind is ItemKind.AGENT_MSG else "user"
        self._append(role, [*self._new_day(entry), line])
        self._ends_with_data = label is not None

    def _speaker(self, entry: PackEntry) -> str:
        """In one message, a label separates a user's words from data before them. Data, which is
        fenced or quoted by the compile, cannot have this label at the start of a line."""
        name = safe(entry.author, MAX_NAME) if entry.author else ""
        if name:
            return f"{_SPEAKERS.get(entry.kind, '')}{name}: " if is_reserved(name) else f"{name}: "
        behind = self._waiting or (self._ends_with_data and self._is_users())
        return "user: " if behind and entry.kind is ItemKind.USER_TURN else ""

    def _remember(self, line: str) -> None:
        """A fact is not a message of its own: it goes with the latest words of the user, or with
        the next ones if there are none yet."""
        (self._waiting if self._users is None else self._users).append(line)

    def _is_users(self) -> bool:
        return bool(self._made) and self._made[-1][0] == "user"

    def _append(self, role: str, texts: list[str]) -> None:
        if self._omitted_calls and role == "user":
            if self._made:  # what the assistant called is not put into the user's mouth
                self._append("assistant", [])
            self._omitted_calls = ""
        if self._omitted:
            texts = [omission(self._omitted, self._omitted_calls), *texts]
            self._omitted, self._omitted_calls = 0, ""
        if self._made and self._made[-1][0] == role and not self._made[-1][2]:
            self._made[-1][1].extend(texts)
            return
        if role == "user":
            texts = self._users = [*self._waiting, *texts]
            self._waiting = []
        self._made.append((role, texts, ()))

    def _new_day(self, entry: PackEntry) -> list[str]:
        today = day_of(entry.occurred_at)
        if not today or today == self._day:
            return []
        line = day_text(today, self._day)
        self._day = today
        return [line]
