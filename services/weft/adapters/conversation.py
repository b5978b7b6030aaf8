"""A pack's entries as the steps of a conversation: what every provider's messages are made from.

Providers want each call answered at once, while in a real session other things happen between a
call and its result. A turn of calls therefore stands, with all its results, where the last of them
came in: what was said meanwhile stays before it, and a later pack only adds behind.

A model imitates what it is shown. So a call is a real one only with the very arguments that it was
made with; an exchange whose call is shortened or redacted stands as a record, in words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from weft.adapters.names import is_reserved, safe
from weft.days import day_of, written
from weft_schemas.compile import PackEntry
from weft_schemas.ids import digest
from weft_schemas.items import ItemKind

SYSTEM_SECTIONS = frozenset({"policy", "tools", "legend"})
"""Sections that go to the system prompt."""
MEMORY_SECTION = "header"
"""What is remembered of earlier sessions: data, so it never is a message of its own."""

NO_RESULT = "[no result of this call is in the log yet]"
"""Answers a call that has no result among the entries: providers want an answer to each."""
EMPTY_RESULT = "[the result is empty]"
"""Stands for a result without text: Anthropic refuses an error without content."""
RECORD = "[record of earlier exchanges]"
"""Heads what the assistant's turns tell of calls that are not shown as they were made."""
OPENING = "(no earlier user message is shown)"
"""Stands first where a user's message is needed there and none is shown."""
CONTINUE = "(continue)"
"""Stands last where a user's message is needed there and none is shown."""

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

_SPEAKERS = {ItemKind.USER_TURN: "user ", ItemKind.AGENT_MSG: "agent "}
"""Before a name that would pass for a label."""


class Answered(msgspec.Struct, frozen=True):
    """One call as it was made, with its result or why there is none."""

    id: str
    """Unique within the pack."""
    name: str
    arguments: dict[str, Any]
    result: str
    """Never blank."""
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
    memory: str = ""
    """Labelled block for the top of a user's message; see `with_memory`."""


def conversation(entries: Sequence[PackEntry]) -> Conversation:
    """System prompt, memory and steps that hold exactly these entries; the same entries, the same
    steps.

    A call with all its arguments is a real one, answered by its results or by why there are none.
    Any other, and a result whose call is not among the entries, is told under `RECORD` in a turn of
    the assistant.
    """
    memory = [entry.text for entry in entries if entry.section == MEMORY_SECTION]
    others = [entry for entry in entries if entry.section != MEMORY_SECTION]
    system = [entry.text for entry in others if _is_system(entry)]
    return Conversation(
        "\n\n".join(filter(str.strip, system)),
        tuple(_steps(_beside_system(others))),
        "\n".join(filter(str.strip, memory)),
    )


def _beside_system(entries: Sequence[PackEntry]) -> list[PackEntry]:
    """The entries that no system prompt holds. What is left out before one that it does hold is
    left out before the next of them."""
    rest: list[PackEntry] = []
    omitted = 0
    for entry in entries:
        if _is_system(entry):
            omitted += entry.omitted_before
        elif omitted:
            total = omitted + entry.omitted_before
            rest.append(msgspec.structs.replace(entry, omitted_before=total))
            omitted = 0
        else:
            rest.append(entry)
    return rest


def omission(items: int) -> str:
    """The line that stands for items that are left out."""
    return f"… {items} …"


def with_memory(memory: str, text: str) -> str:
    """A user's message below what is remembered, a blank line between."""
    return f"{memory}\n\n{text}" if memory else text


def steps_with_memory(talk: Conversation) -> list[Step]:
    """With what is remembered on top of the user's first words. Only where the user says nothing
    is there a message that begins with it."""
    steps = list(talk.steps)
    if talk.memory:
        words = (at for at, step in enumerate(steps) if step.role == "user")
        at = next(words, None)
        if at is None:
            filler = OPENING if steps else CONTINUE
            steps.insert(0, Step("user", with_memory(talk.memory, filler)))
        else:
            steps[at] = Step("user", with_memory(talk.memory, steps[at].text))
    return steps


def steps_between_users(talk: Conversation) -> list[Step]:
    """From the user to the user, as some APIs want it (newer models refuse a prefilled answer),
    with what is remembered on top."""
    steps = list(talk.steps)
    if steps and steps[0].role == "assistant":
        steps.insert(0, Step("user", OPENING))
    last = steps[-1] if steps else None
    if (last.role == "assistant" and not last.calls) if last else talk.system or talk.memory:
        steps.append(Step("user", CONTINUE))
    if talk.memory:
        steps[0] = Step("user", with_memory(talk.memory, steps[0].text))
    return steps


def _is_system(entry: PackEntry) -> bool:
    return entry.section in SYSTEM_SECTIONS or entry.kind is ItemKind.POLICY


def is_verbatim(entry: PackEntry) -> bool:
    """Whether a call is shown as the model made it: its tool and every argument."""
    return (
        entry.kind is ItemKind.TOOL_CALL
        and entry.view == "whole"
        and entry.arguments is not None
        and bool(entry.tool_name and entry.tool_name.strip())
    )


def _steps(entries: Sequence[PackEntry]) -> list[Step]:
    results = _results(entries)
    placed = _placed(entries, results)
    inside = {place for answers in results.values() for place in answers}
    builder = _StepBuilder()
    ids = _CallIds()
    for place, entry in enumerate(entries):
        builder.omit(entry.omitted_before)
        for group in placed.get(place, ()):
            if is_verbatim(entries[group[0]]):
                calls = (_answered(entries, call, results.get(call, ()), ids) for call in group)
                builder.add_calls(tuple(calls))
            else:
                answers = [entries[answer] for answer in results.get(group[0], ())]
                builder.add_record(_record(entries[group[0]], answers))
        if entry.kind is ItemKind.TOOL_RESULT and place not in inside:
            builder.add_record(_orphan(entry))
        elif entry.kind not in _EXCHANGED and entry.text.strip():
            builder.add_text(entry)
    return builder.steps()


_EXCHANGED = frozenset({ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT})


def _results(entries: Sequence[PackEntry]) -> dict[int, list[int]]:
    """Place of each answered call → places of its results, in whichever order they were logged."""
    calls = [place for place, entry in enumerate(entries) if entry.kind is ItemKind.TOOL_CALL]
    by_item = {entries[place].item_id: place for place in calls}
    by_call_id: dict[str, list[int]] = {}
    for place in calls:
        by_call_id.setdefault(entries[place].call_id or "", []).append(place)
    found: dict[int, list[int]] = {}
    late: list[int] = []
    for place, entry in enumerate(entries):
        if entry.kind is ItemKind.TOOL_RESULT:
            call = by_item.get(entry.parent_id or "")
            if call is None:
                call = _waiting(by_call_id, entry, place, found)
            if call is None:
                late.append(place)
            else:
                found.setdefault(call, []).append(place)
    for place in late:
        call = _other(by_call_id, entries[place], place, found)
        if call is not None:
            found.setdefault(call, []).append(place)
    return {call: sorted(found[call]) for call in found}


def _waiting(
    by_call_id: Mapping[str, Sequence[int]],
    result: PackEntry,
    place: int,
    found: Mapping[int, Sequence[int]],
) -> int | None:
    """The nearest call before a result that has its call id and no result yet."""
    same = by_call_id.get(result.call_id, ()) if result.call_id else ()
    before = same[: bisect_left(same, place)]
    return next((call for call in reversed(before) if call not in found), None)


def _other(
    by_call_id: Mapping[str, Sequence[int]],
    result: PackEntry,
    place: int,
    found: Mapping[int, Sequence[int]],
) -> int | None:
    """Of a result that no earlier call waits for: the next call of its call id that has none (its
    result was logged first), else the last one before it (which has several results)."""
    same = by_call_id.get(result.call_id, ()) if result.call_id else ()
    at = bisect_left(same, place)
    after = next((call for call in same[at:] if call not in found), None)
    return same[at - 1] if after is None and at else after


def _placed(
    entries: Sequence[PackEntry], results: Mapping[int, Sequence[int]]
) -> dict[int, list[list[int]]]:
    """Place → calls that stand there: those of a turn that can be real ones as one group, then
    each of the others by itself, never within the turn that it belongs to."""
    placed: dict[int, list[list[int]]] = {}
    for turn in _turns(entries):
        real = [call for call in turn if is_verbatim(entries[call])]
        at = max((_last(call, results) for call in real), default=0)
        if real:
            placed.setdefault(at, []).append(real)
        for call in turn:
            if call not in real:
                placed.setdefault(max(at, _last(call, results)), []).append([call])
    return placed


def _last(call: int, results: Mapping[int, Sequence[int]]) -> int:
    return max([call, *results.get(call, ())])


def _turns(entries: Sequence[PackEntry]) -> list[list[int]]:
    """Calls by turn: of one turn_id, or without any in one unbroken run."""
    turns: list[list[int]] = []
    current: list[int] = []
    turn_id: str | None = None
    for place, entry in enumerate(entries):
        if entry.kind is ItemKind.TOOL_CALL:
            same = entry.turn_id == turn_id and (
                turn_id is not None or (bool(current) and current[-1] == place - 1)
            )
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


def _answered(
    entries: Sequence[PackEntry], call: int, results: Sequence[int], ids: _CallIds
) -> Answered:
    entry = entries[call]
    answers = [entries[place] for place in results]
    return Answered(
        ids.take(entry),
        function_name(entry.tool_name or ""),
        entry.arguments or {},
        _result(entry, answers),
        any(answer.is_error for answer in answers),
    )


def function_name(name: str) -> str:
    """A tool's name as providers take it, in calls and in definitions alike."""
    return _NAME.sub("_", name)[:MAX_NAME]


def _result(call: PackEntry, answers: Sequence[PackEntry]) -> str:
    """All results of a call, and what else is known of them."""
    texts = [answer.text for answer in answers if answer.text.strip()]
    if answers and not texts:
        texts = [EMPTY_RESULT]
    if call.answer:
        texts.append(f"[{call.answer}]")
    return "\n".join(texts) or NO_RESULT


def _record(call: PackEntry, answers: Sequence[PackEntry]) -> list[str]:
    """An exchange in words, in the past, so that no model takes it for how calls are made."""
    name = safe(call.tool_name or "", MAX_NAME)
    text = call.text.strip() or name or "a tool"
    made = text if (call.tool_name or "") in text else f"{name}: {text}"
    failed = any(answer.is_error for answer in answers)
    verb = "failed: " if failed else "returned: " if answers else ""
    return [f"called: {made}", f"{verb}{_result(call, answers)}"]


def _orphan(result: PackEntry) -> list[str]:
    """A result whose call is not among the entries."""
    name = safe(result.tool_name or "", MAX_NAME) or "a tool"
    name = f"tool {name}" if is_reserved(name) else name
    verb = "failed" if result.is_error else "returned"
    return [f"{name} {verb}: {result.text if result.text.strip() else EMPTY_RESULT}"]


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


class _StepBuilder:
    """Steps in the making. What one role says in a row is one message, each entry on a line of its
    own: messages cost tokens, and tokens add up by lines."""

    def __init__(self) -> None:
        self._made: list[tuple[str, list[str], tuple[Answered, ...]]] = []
        """Role, texts and calls of each step."""
        self._users: list[str] | None = None
        """The latest words of the user."""
        self._waiting: list[str] = []
        """Remembered facts before any words of the user."""
        self._ends_with_data = False
        self._recorded = 0, 0
        """How many steps there were, and texts in the last of them, after the latest record."""
        self._omitted = 0
        """Items left out since the latest text."""
        self._day = ""

    def steps(self) -> list[Step]:
        if self._omitted:
            self._remember(omission(self._omitted))
        if self._waiting:
            self._append("user", [])
        return [Step(role, "\n".join(texts), calls) for role, texts, calls in self._made]

    def omit(self, items: int) -> None:
        """So many are left out before what is added next."""
        self._omitted += items

    def add_calls(self, calls: tuple[Answered, ...]) -> None:
        if self._omitted:
            self._append("assistant", [])
        self._made.append(("assistant", [], calls))

    def add_record(self, lines: list[str]) -> None:
        """Under one heading for all exchanges in a row."""
        heading = [] if self._is_recording() else [RECORD]
        self._append("assistant", [*heading, *lines])
        self._recorded = len(self._made), len(self._made[-1][1])

    def _is_recording(self) -> bool:
        return bool(self._made) and self._recorded == (len(self._made), len(self._made[-1][1]))

    def add_text(self, entry: PackEntry) -> None:
        """Who speaks is named where several do, and the day where a new one begins."""
        label = _LABELS.get(entry.kind)
        line = f"[{label}] {entry.text}" if label else f"{self._speaker(entry)}{entry.text}"
        if entry.kind is ItemKind.MEMORY_FACT and not self._is_users():
            self._remember(line)
            return
        role = "assistant" if entry.kind is ItemKind.AGENT_MSG else "user"
        self._append(role, [*self._new_day(entry), line])
        self._ends_with_data = label is not None

    def _speaker(self, entry: PackEntry) -> str:
        """A user's words behind data in one message are told from it by a label that data, fenced
        or quoted by the compile, cannot have at the start of a line."""
        name = safe(entry.author, MAX_NAME) if entry.author else ""
        if name:
            return f"{_SPEAKERS.get(entry.kind, '')}{name}: " if is_reserved(name) else f"{name}: "
        behind = self._waiting or (self._ends_with_data and self._is_users())
        return "user: " if behind and entry.kind is ItemKind.USER_TURN else ""

    def _remember(self, line: str) -> None:
        """A fact is no message of its own: it goes with the latest words of the user, or with the
        next ones where there are none yet."""
        (self._waiting if self._users is None else self._users).append(line)

    def _is_users(self) -> bool:
        return bool(self._made) and self._made[-1][0] == "user"

    def _append(self, role: str, texts: list[str]) -> None:
        if self._omitted:
            texts = [omission(self._omitted), *texts]
            self._omitted = 0
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
        line = written(today, self._day)
        self._day = today
        return [line]
