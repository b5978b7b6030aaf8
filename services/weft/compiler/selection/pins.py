"""What stands in every prompt: the task, the open question and what it answers, what was pinned,
and the policies. Whole, unless they alone would take more than half of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import LEAST_PIN, PINS_SHARE
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.renditions.rendition import Rendition, beginning, part_count
from weft.compiler.selection.offers import Shape


def pin(
    groups: Sequence[Group],
    shapes: Mapping[int, Shape],
    cost: PromptCost,
    budget: int,
    ledger: Ledger,
) -> Shown:
    """Renditions of the pinned groups, which come in order of importance, policies last.

    Each stands whole where the share of pins holds it, else by its beginning. In very small budgets
    one that becomes whole can take the room of a less important one.
    """
    shown: Shown = {}
    limit = int(budget * PINS_SHARE)
    for group in groups:
        whole = _whole(group, shapes)
        if cost.fits({**shown, **whole}, limit):
            shown.update(whole)
    rest = [group for group in groups if group.key not in shown]
    for place, group in enumerate(rest):
        used = cost.exact(shown) if shown else 0
        share = (max(limit, used) - used) // (len(rest) - place)
        _add_shortened(shown, group, shapes, cost, max(share, LEAST_PIN), budget)
    _note(groups, shown, shapes, ledger)
    return shown


def _whole(group: Group, shapes: Mapping[int, Shape]) -> Shown:
    return {row.sequence: shapes[row.sequence].whole() for row in group.rows}


def _add_shortened(
    shown: Shown,
    group: Group,
    shapes: Mapping[int, Shape],
    cost: PromptCost,
    share: int,
    budget: int,
) -> None:
    """The group with as many of its first parts as its share holds; where not even one part fits,
    the beginning of its text; else nothing."""
    used = cost.exact(shown) if shown else 0
    limit = min(budget, used + share)
    row = group.rows[-1]
    count = part_count(row)
    others = {one.sequence: shapes[one.sequence].choose(()) for one in group.rows[:-1]}
    low, best = 0, None
    high = count
    while low < high:
        middle = (low + high + 1) // 2
        more = {**others, row.sequence: _first(shapes[row.sequence], middle)}
        if cost.size({**shown, **more}) <= limit and cost.exact({**shown, **more}) <= limit:
            low, best = middle, more
        else:
            high = middle - 1
    if best is None:
        best = _cut(shown, others, shapes[row.sequence], cost, limit)
    if best is not None:
        shown.update(best)


def _first(shape: Shape, count: int) -> Rendition:
    """The first parts of an item; of a long one its last too, where people put what they want."""
    total = part_count(shape.row)
    if 2 < count < total:
        return shape.choose([*range(count - 1), total - 1])
    return shape.choose(range(count))


def _cut(shown: Shown, others: Shown, shape: Shape, cost: PromptCost, limit: int) -> Shown | None:
    if shape.fixed is not None or shape.redacted:
        return None
    room = limit - cost.size(shown)
    while room >= LEAST_PIN // 2:
        made = beginning(shape.row, room)
        more = {**others, shape.row.sequence: made}
        over = cost.exact({**shown, **more}) - limit
        if over <= 0:
            return more
        room -= max(over, 1)
    return None


def _note(
    groups: Sequence[Group], shown: Shown, shapes: Mapping[int, Shape], ledger: Ledger
) -> None:
    for group in groups:
        row = group.rows[0]
        named = f"{row.kind.value} {row.id}"
        if row.sequence not in shown:
            ledger.note(f"{named} does not fit the budget")
        elif any(shown[at] != form for at, form in _whole(group, shapes).items()):
            ledger.note(f"{named} is shortened to fit the budget")
