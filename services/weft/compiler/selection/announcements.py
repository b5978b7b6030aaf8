"""Short messages with which an agent announces calls, such as "And the second file.": they say
nothing without these calls."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import ANNOUNCEMENT_TOKENS
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind


def lone_announcements(choice: Choice, shown: Shown) -> frozenset[int]:
    """The keys of those of which no call is shown. Pinned messages are shown for another reason."""
    pinned = {group.key for group in choice.pinned}
    return frozenset(
        message.key
        for message, calls in _announcements(choice.groups)
        if message.key not in pinned and not any(call.key in shown for call in calls)
    )


def _announcements(groups: tuple[Group, ...]) -> Iterator[tuple[Group, list[Group]]]:
    """Short messages of the agent, each with the calls right behind it."""
    calls: list[Group] = []
    for group in reversed(groups):
        if calls and _is_short_message(group.rows[0]):
            yield group, calls
        calls = [group, *calls] if group.is_call else []


def _is_short_message(row: ItemRow) -> bool:
    """Whether a message is short, and states no number, which would be a finding."""
    return (
        row.kind is ItemKind.AGENT_MSG
        and row.whole_tokens < ANNOUNCEMENT_TOKENS
        and not any(map(str.isdigit, row.whole))
    )
