"""Parts of items that the next step needs, whatever they are worth per token."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from weft.compiler.candidates.closure import Group
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import is_stub, shown_parts
from weft.compiler.selection.choice import Choice
from weft.readmodel.rows import ItemRow


def with_wanted_parts(
    choice: Choice,
    shown: Shown,
    wanted: Callable[[ItemRow], Iterable[frozenset[int]]],
    share: float,
    kept: Container[int],
) -> Shown:
    """With the `wanted` parts of each item, the newest item first, within this share of the budget;
    of one item those before the first that do not fit. Items that a stable prompt has `kept` stay
    as they are."""
    limit = min(choice.budget, choice.cost.exact(shown) + int(choice.budget * share))
    for group in reversed(choice.groups):
        for row in group.rows:
            for parts in wanted(row) if row.sequence not in kept else ():
                more = with_parts(choice, shown, group, row, parts)
                if not choice.cost.fits(more, limit):
                    break
                shown = more
    return shown


def with_parts(
    choice: Choice, shown: Shown, group: Group, row: ItemRow, parts: frozenset[int]
) -> Shown:
    """With these parts of an item beside what is shown of it."""
    before = shown.get(row.sequence)
    held = frozenset[int]() if before is None or is_stub(before) else shown_parts(row, before)
    if parts <= held:
        return shown
    least = {one.sequence: choice.renditions[one.sequence].choose(()) for one in group.rows}
    chosen = choice.renditions[row.sequence].choose(held | parts)
    return {**least, **shown, row.sequence: chosen}
