"""Calls that did what they were asked, as newer ones like them did: these stand for them, and the
marks name them. What comes next needs the room."""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import ALIKE_SHOWN, SHORT_CALL
from weft.compiler.ranking.calls import tool_of
from weft.compiler.selection.choice import Choice
from weft.terms import words


def without_alike(choice: Choice) -> Choice:
    """The choice without all but the newest few calls of the current turn with the same outcome,
    for which there is more than one line to save."""
    times: Counter[tuple[str, tuple[str, ...]]] = Counter()
    left: set[int] = set()
    for group in choice.current_turn:
        if not _is_short(group):
            continue
        outcome = tool_of(group), _outcome(group)
        times[outcome] += 1
        if times[outcome] > ALIKE_SHOWN:
            left.add(group.key)
    if not left:
        return choice
    return structs.replace(
        choice,
        groups=tuple(group for group in choice.groups if group.key not in left),
        current_turn=tuple(group for group in choice.current_turn if group.key not in left),
    )


def _is_short(group: Group) -> bool:
    """Whether a call succeeded, and is short with its results."""
    has_failed = any(row.failed for row in group.rows[1:])
    return len(group.rows) > 1 and not has_failed and group.whole_tokens <= SHORT_CALL


def _outcome(group: Group) -> tuple[str, ...]:
    """The words of a call's results that the call does not say itself."""
    said = frozenset(words(group.rows[0].whole))
    return tuple(word for row in group.rows[1:] for word in words(row.whole) if word not in said)
