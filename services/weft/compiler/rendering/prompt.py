"""Stage 8: renders the entries as the prompt. Every block starts on a new line with a short label,
so the tokens of blocks add up, and no block depends on a later one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.adapters.speaker_names import is_reserved, safe
from weft.adapters.steps import omission
from weft.compiler.rendering.parallel_calls import below_calls
from weft.days import day_of, day_text
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

RENDER_VERSION = "17"
"""Raised when the same entries would render to another prompt, or the same views to other entries.
"""

LABELS = {
    ItemKind.USER_TURN: "user",
    ItemKind.AGENT_MSG: "agent",
    ItemKind.TOOL_CALL: "call",
    ItemKind.TOOL_RESULT: "result",
    ItemKind.DOC_SNIPPET: "doc",
    ItemKind.MEMORY_FACT: "fact",
    ItemKind.PLAN_STATE: "plan",
    ItemKind.POLICY: "policy",
}


def render(entries: Sequence[PackEntry]) -> str:
    """The prompt."""
    return "\n".join(block for entry in blocks(entries) for block in entry)


def blocks(entries: Sequence[PackEntry]) -> Iterator[list[str]]:
    """The lines of each entry, in the order of the prompt: the number of items left out before it,
    a date if the day changes, its block, and what is known of a call's result if the result is not
    shown."""
    previous: PackEntry | None = None
    day = ""
    for entry in below_calls(entries):
        lines = []
        if entry.omitted_before:
            lines.append(omission(entry.omitted_before, entry.omitted_calls))
        today = day_of(entry.occurred_at)
        if today and today != day:
            lines.append(day_text(today, day))
            day = today
        lines.append(block(entry, previous))
        if entry.answer:
            lines.append(f"result: ({entry.answer})")
        yield lines
        previous = entry


def block(entry: PackEntry, previous: PackEntry | None) -> str:
    """`label: text`; the header and the tools carry their labels in their text."""
    if not entry.item_id:
        return entry.text
    return f"{label(entry, previous)}: {entry.text}"


def label(entry: PackEntry, previous: PackEntry | None) -> str:
    """Who or what speaks. A result that does not follow its call names the tool and arguments."""
    plain = LABELS[entry.kind]
    if entry.kind is ItemKind.TOOL_RESULT:
        if not entry.tool_name or (previous is not None and previous.item_id == entry.parent_id):
            return label_below_call(entry)
        speaker = f"result of {safe(entry.tool_name)}{entry.call}"
        return f"{speaker} (error)" if entry.is_error else speaker
    if entry.author and entry.kind in (ItemKind.USER_TURN, ItemKind.AGENT_MSG):
        name = safe(entry.author)
        return f"{plain} {name}".rstrip() if not name or is_reserved(name) else name
    return plain


def label_below_call(result: PackEntry) -> str:
    """The label of a result that follows its call."""
    plain = LABELS[ItemKind.TOOL_RESULT]
    return f"{plain} (error)" if result.is_error else plain
