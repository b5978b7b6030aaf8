"""Fills a budget with the most valuable parts beside what is shown already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    FILLED_FROM,
    ITEM_OVERHEAD,
    LEFT_SHARE,
    MIN_FILLED_TOKENS,
    MIN_ROOM,
)
from weft.compiler.ranking.values import values
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.item_renditions import ItemRenditions
from weft.compiler.renditions.rendition import COMPACT, CURRENT, PARTS, STUB, WHOLE, shown_parts
from weft.compiler.selection.budget import fit_budget, nearest_that_fits
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.offers import Addition, order_parts
from weft.compiler.selection.runs import merged


def fill(choice: Choice, base: Shown, groups: Sequence[Group], budget: int) -> Shown:
    """`base` and the most valuable parts of `groups`, within `budget`, if there is room for any."""
    additions, renditions = additions_to(choice, base, groups, budget)
    return fit_budget(choice.cost, additions, renditions, base, budget) if additions else base


def growing(choice: Choice, base: Shown, groups: Sequence[Group]) -> list[Group]:
    """Those of the groups of which more can be shown than `base` shows."""
    return [group for group in groups if _can_grow(group, choice, base)]


def additions_to(
    choice: Choice, base: Shown, groups: Sequence[Group], budget: int
) -> tuple[list[Addition], Mapping[int, ItemRenditions]]:
    """What `fill` adds to `base` as far as it fits, the most valuable first, and the renditions
    from which it chooses."""
    room = budget - choice.cost.size(base)
    if room < MIN_FILLED_TOKENS:
        return [], {}
    rest = growing(choice, base, groups)
    renditions = _grown_from(base, choice, rest)
    statement_counts = Counter(value for shown in base.values() for value in values(shown.text))
    additions = order_parts(
        rest,
        choice.scores,
        renditions,
        choice.objective,
        choice.asked,
        statement_counts,
        room,
        frozenset(base),
    )
    return additions, renditions


def with_newest_whole(choice: Choice, shown: Shown, groups: Sequence[Group]) -> Shown:
    """With those of these groups, newest first, that fit whole into what is left of the budget:
    what is worth little by the order of value still says more than unused tokens."""
    room = choice.budget - choice.cost.size(shown)
    added: list[Shown] = []
    for group in islice(reversed(groups), FILLED_FROM):
        if room < max(MIN_ROOM, choice.budget * LEFT_SHARE):
            break
        tokens = group.whole_tokens + ITEM_OVERHEAD * len(group.rows)
        if group.key not in shown and tokens <= room:
            room -= tokens
            added.append(
                {row.sequence: choice.renditions[row.sequence].whole() for row in group.rows}
            )

    def with_first(count: int) -> Shown:
        return merged(shown, added[:count])

    most = len(added)
    fits = choice.cost.fits
    return with_first(
        nearest_that_fits(most, lambda count: fits(with_first(count), choice.budget), most)
    )


def _can_grow(group: Group, choice: Choice, base: Shown) -> bool:
    """Whether more of a group can be shown than `base` shows: it is not shown at all, or its
    results in the current turn are a stub or in parts."""
    if group.key not in base:
        return True
    return group.is_call and any(
        base[row.sequence].view in (STUB, PARTS)
        and choice.renditions[row.sequence].fixed is None
        and row.size_of_whole > 0
        for row in group.rows
        if row.sequence in base
    )


def _grown_from(base: Shown, choice: Choice, groups: Sequence[Group]) -> dict[int, ItemRenditions]:
    """The renditions of these groups' items, with what `base` shows of them required."""
    renditions = dict(choice.renditions)
    for row in (row for group in groups for row in group.rows):
        shown = base.get(row.sequence)
        if shown is not None and shown.view in (WHOLE, COMPACT, PARTS, CURRENT):
            held = shown_parts(row, shown)
            required = renditions[row.sequence].required.union(held)
            renditions[row.sequence] = msgspec.structs.replace(
                renditions[row.sequence], required=frozenset(required)
            )
    return renditions
