"""Stage 8: entries to the prompt. Every block is a line or more of its own with a short label, so
that tokens add up block by block, and a block never depends on a later one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

RENDER_VERSION = "1"
"""Changes whenever the same entries would give another prompt."""

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
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""English whatever the locale, so that every machine renders the same."""
_RESERVED = {
    *LABELS.values(),
    "system",
    "developer",
    "assistant",
    "human",
    "tool",
    "facts",
    "earlier",
}
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_UNSAFE = re.compile(r"[^\w .@-]+")
_LONGEST_NAME = 40


def render(entries: Iterable[PackEntry]) -> str:
    """The prompt."""
    return "\n".join(block for entry in blocks(entries) for block in entry)


def blocks(entries: Iterable[PackEntry]) -> Iterator[list[str]]:
    """The lines of each entry: a date where the day changes, then its block."""
    previous: PackEntry | None = None
    day = ""
    for entry in entries:
        lines = []
        if entry.occurred_at and entry.occurred_at[:10] != day:
            lines.append(day_line(entry.occurred_at, day))
            day = entry.occurred_at[:10]
        lines.append(block(entry, previous))
        yield lines
        previous = entry


def block(entry: PackEntry, previous: PackEntry | None) -> str:
    """`label: text`; the header and the tools carry their labels in their text."""
    if not entry.item_id:
        return entry.text
    return f"{label(entry, previous)}: {entry.text}"


def label(entry: PackEntry, previous: PackEntry | None) -> str:
    """Who or what speaks. A result that does not follow its call names the tool."""
    plain = LABELS[entry.kind]
    if entry.kind is ItemKind.TOOL_RESULT:
        answered = previous is not None and previous.item_id == entry.parent_id
        return plain if answered or not entry.tool_name else f"result of {safe(entry.tool_name)}"
    if entry.author and entry.kind in (ItemKind.USER_TURN, ItemKind.AGENT_MSG):
        name = safe(entry.author)
        return f"{plain} {name}".rstrip() if not name or name.casefold() in _RESERVED else name
    return plain


def safe(name: str) -> str:
    """A name that cannot break out of its label."""
    return _UNSAFE.sub(" ", name)[:_LONGEST_NAME].strip()


def day_line(occurred_at: str, previous_day: str) -> str:
    """`8 May 2023`, without the year where it stands above."""
    found = _DATE.match(occurred_at)
    if found is None or not 1 <= int(found[2]) <= 12:
        return safe(occurred_at)
    day = f"{int(found[3])} {MONTHS[int(found[2]) - 1]}"
    return day if previous_day[:4] == found[1] else f"{day} {found[1]}"
