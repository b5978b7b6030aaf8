"""Calls that an agent makes together. None of their results is newer than another: where the last
of them does not fit, each gets its share of the room, and what one does not need goes to the larger
ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from weft.compiler.candidates.closure import Group
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.item_renditions import ItemRenditions
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.fill import fill


def called_together(current_turn: Sequence[Group]) -> Sequence[Group]:
    """The call with the newest result and those that were made together with it: before any of them
    had its result. `current_turn` is newest first."""
    overlapping = [group for group in current_turn if group.last >= current_turn[0].key]
    results = (row.sequence for group in overlapping for row in group.rows[1:])
    first = min(results, default=inf)
    return [group for group in overlapping if group.key < first]


def with_shares(choice: Choice, shown: Shown, groups: Sequence[Group], limit: int) -> Shown:
    """With each of the groups whole where its share of `limit` holds it, else in its shortest
    complete form, else its best parts."""
    rest = sorted(groups, key=lambda group: (group.whole_tokens, -group.key))
    for at, group in enumerate(rest):
        used = choice.cost.exact(shown)
        shown = _with_group(choice, shown, group, used + max(limit - used, 0) // (len(rest) - at))
    return shown


def _with_group(choice: Choice, shown: Shown, group: Group, limit: int) -> Shown:
    for form in (ItemRenditions.whole, ItemRenditions.compact):
        more = {
            **shown,
            **{row.sequence: form(choice.renditions[row.sequence]) for row in group.rows},
        }
        if choice.cost.fits(more, limit):
            return more
    return fill(choice, shown, [group], limit)
