"""A pack's entries as the steps of a conversation; every provider's messages are made from them.

Providers want each call answered at once, while in a real session other things happen between a
call and its result. So a turn of calls is placed, with all its results, where the last of them
arrived: anything said in between stays before it, and a later pack only adds to the end.

A model imitates what it is shown. So only a call with exactly the arguments that it was made with
becomes a real call; a call that is shortened or redacted becomes a record, in words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from weft.adapters.call_results import is_verbatim, placed_calls, results_by_call
from weft.adapters.speaker_names import MAX_NAME, is_reserved, safe
from weft.adapters.steps import AnsweredCall, Step, StepBuilder
from weft_schemas.compile import PackEntry
from weft_schemas.ids import digest
from weft_schemas.items import ItemKind

SYSTEM_SECTIONS = frozenset({"policy", "tools", "legend"})
"""Sections that go to the system prompt."""
MEMORY_SECTION = "header"
"""What is remembered from earlier sessions: data, so it never becomes a message of its own."""

NO_RESULT = "[no result of this call is in the log yet]"
"""Answers a call without a result among the entries: providers want an answer to each."""
EMPTY_RESULT = "[the result is empty]"
"""Replaces a result without text: Anthropic refuses an error without content."""
OPENING = "(no earlier user message is shown)"
"""The first message, if it must be a user's and no user's message is shown."""
CONTINUE = "(continue)"
"""The last message, if it must be a user's and no user's message is shown: some APIs demand it, and
after a record a model would take its own turn for finished."""

_NAME = re.compile(r"[^A-Za-z0-9_-]")
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
"""Call ids that both accept: OpenAI's length, Anthropic's letters."""


class Conversation(msgspec.Struct, frozen=True):
    system: str
    steps: tuple[Step, ...]
    memory: str = ""
    """Labelled block for the top of a user's message; see `with_memory`."""
    ends_with_record: bool = False
    """The last step tells a call and its results in words, so the turn is the model's."""


def conversation(entries: Sequence[PackEntry]) -> Conversation:
    """System prompt, memory and steps that contain exactly these entries; the same entries give the
    same steps.

    A call with all its arguments becomes a real one, answered by its results or by the reason why
    there are none. Any other call, and a result whose call is not among the entries, is told under
    `RECORD` in a turn of the assistant.
    """
    memory = [entry.text for entry in entries if entry.section == MEMORY_SECTION]
    others = [entry for entry in entries if entry.section != MEMORY_SECTION]
    system = [entry.text for entry in others if _is_system(entry)]
    builder = _built(_beside_system(others))
    return Conversation(
        "\n\n".join(filter(str.strip, system)),
        tuple(builder.steps()),
        "\n".join(filter(str.strip, memory)),
        builder.ends_with_record(),
    )


def _beside_system(entries: Sequence[PackEntry]) -> list[PackEntry]:
    """The entries outside the system prompt. A gap before an entry inside it moves to the next
    entry outside."""
    rest: list[PackEntry] = []
    omitted, calls = 0, ""
    for entry in entries:
        total = omitted + entry.omitted_before
        named = "; ".join(filter(None, (calls, entry.omitted_calls)))
        if _is_system(entry):
            omitted, calls = total, named
            continue
        if omitted:
            entry = msgspec.structs.replace(entry, omitted_before=total, omitted_calls=named)
        rest.append(entry)
        omitted, calls = 0, ""
    return rest


def with_memory(memory: str, text: str) -> str:
    """A user's message after the remembered data, separated by a blank line."""
    return f"{memory}\n\n{text}" if memory else text


def steps_with_memory(talk: Conversation) -> list[Step]:
    """With the remembered data on top of the user's first words. Only if the user says nothing is
    there a message that begins with it. After a record the user has the last word, as after the
    results of a call."""
    steps = list(talk.steps)
    if talk.memory:
        words = (at for at, step in enumerate(steps) if step.role == "user")
        at = next(words, None)
        if at is None:
            filler = OPENING if steps else CONTINUE
            steps.insert(0, Step("user", with_memory(talk.memory, filler)))
        else:
            steps[at] = Step("user", with_memory(talk.memory, steps[at].text))
    if talk.ends_with_record:
        steps.append(Step("user", CONTINUE))
    return steps


def steps_between_users(talk: Conversation) -> list[Step]:
    """From the user to the user, as some APIs require (newer models refuse a prefilled answer),
    with the remembered data on top."""
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


def _built(entries: Sequence[PackEntry]) -> StepBuilder:
    results = results_by_call(entries)
    placed = placed_calls(entries, results)
    inside = {place for answers in results.values() for place in answers}
    builder = StepBuilder()
    ids = _CallIds()
    for place, entry in enumerate(entries):
        builder.omit(entry.omitted_before, entry.omitted_calls)
        for group in placed.get(place, ()):
            if is_verbatim(entries[group[0]]):
                calls = (_answered(entries, call, results.get(call, ()), ids) for call in group)
                builder.add_calls(tuple(calls))
            else:
                answers = [entries[answer] for answer in results.get(group[0], ())]
                builder.add_record(_record(entries[group[0]], answers))
        if entry.kind is ItemKind.TOOL_RESULT and place not in inside:
            builder.add_record(_orphan(entry))
        elif entry.kind not in _CALLS_AND_RESULTS and entry.text.strip():
            builder.add_text(entry)
    return builder


_CALLS_AND_RESULTS = frozenset({ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT})


def _answered(
    entries: Sequence[PackEntry], call: int, results: Sequence[int], ids: _CallIds
) -> AnsweredCall:
    entry = entries[call]
    answers = [entries[place] for place in results]
    return AnsweredCall(
        ids.take(entry),
        function_name(entry.tool_name or ""),
        entry.arguments or {},
        _result(entry, answers),
        any(answer.is_error for answer in answers),
        entry.reasoning,
    )


def function_name(name: str) -> str:
    """A tool's name in the form that providers accept, in calls and in definitions."""
    return _NAME.sub("_", name)[:MAX_NAME]


def _result(call: PackEntry, answers: Sequence[PackEntry]) -> str:
    """All results of a call, and what else is known about them."""
    texts = [answer.text for answer in answers if answer.text.strip()]
    if answers and not texts:
        texts = [EMPTY_RESULT]
    if call.answer:
        texts.append(f"[{call.answer}]")
    return "\n".join(texts) or NO_RESULT


def _record(call: PackEntry, answers: Sequence[PackEntry]) -> list[str]:
    """A call and its results in words, in the past tense: no model takes that for a call's form."""
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
    """Gives calls ids that are unique in one pack: the provider's own if possible."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, entry: PackEntry) -> str:
        call_id = entry.call_id or ""
        if not _CALL_ID.match(call_id) or call_id in self._taken:
            call_id = f"call_{digest('call', entry.item_id)[:24]}"
        self._taken.add(call_id)
        return call_id
