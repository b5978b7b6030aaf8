"""What the agent has just written: beside it, older views of the same files mislead."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import WRITTEN_SHARE
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import Rendition, shown_parts
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.wanted_parts import with_parts
from weft.readmodel.rows import ItemRow


def with_written(
    choice: Choice, shown: Shown, groups: Sequence[Group], kept: Container[int] = ()
) -> Shown:
    """With what those of these calls that are the newest edits wrote, as much as fits into its
    share, if the newest result is there in full. Items that a stable prompt has `kept` stay as they
    are."""
    if not choice.scores.written or not _has_newest(choice, shown):
        return shown
    limit = min(choice.budget, choice.cost.exact(shown) + int(choice.budget * WRITTEN_SHARE))
    for group in _edits(choice, groups, kept):
        call = group.rows[0]
        parts = choice.scores.written[call.sequence]
        for count in range(1, len(parts) + 1):
            more = with_parts(choice, shown, group, call, frozenset(parts[:count]))
            if not choice.cost.fits(more, limit):
                break
            shown = more
    return shown


def _edits(choice: Choice, groups: Sequence[Group], kept: Container[int]) -> Iterator[Group]:
    """The most needed first."""
    calls = {group.key: group for group in groups if group.key not in kept}
    return (calls[at] for at in choice.scores.written if at in calls)


def _has_newest(choice: Choice, shown: Shown) -> bool:
    """Whether all of the newest call and its results is shown."""
    rows = [row for group in choice.current_turn[:1] for row in group.rows]
    return all(row.sequence in shown and _is_complete(row, shown[row.sequence]) for row in rows)


def _is_complete(row: ItemRow, made: Rendition) -> bool:
    return row.parts is None or len(shown_parts(row, made)) == len(row.parts.leaves)
