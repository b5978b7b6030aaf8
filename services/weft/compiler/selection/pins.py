"""The items in every prompt: the task, the open question and the message that it answers, pinned
items, and policies. They are whole unless they alone would take more than half of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import LEAST_PIN
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.renditions.rendition import Rendition, part_count
from weft.compiler.selection.budget import longest_beginning
from weft.compiler.selection.offers import Shape


def pin(
    groups: Sequence[Group],
    shapes: Mapping[int, Shape],
    cost: PromptCost,
    budget: int,
    share: float,
    ledger: Ledger,
) -> Shown:
    """Renditions of the pinned groups, which come in order of importance, policies last. First each
    gets a little, as far as the budget goes; then each is shown whole if it fits the pins' share,
    else with as many parts as fit. So a larger budget never leaves one out."""
    shown: Shown = {}
    for group in groups:
        least = _least(group, shapes)
        if not cost.fits({**shown, **least}, budget):
            break
        shown.update(least)
    if groups and not shown:
        shown.update(_grown(shown, groups[0], shapes, cost, budget))
    limit = max(int(budget * share), cost.exact(shown) if shown else 0)
    held = [group for group in groups if group.key in shown]
    for group in held:
        whole = _whole(group, shapes)
        if cost.fits({**shown, **whole}, limit):
            shown.update(whole)
    rest = [group for group in held if shown[group.key] != _whole(group, shapes)[group.key]]
    for place, group in enumerate(rest):
        used = cost.exact(shown)
        shown.update(
            _grown(shown, group, shapes, cost, used + (limit - used) // (len(rest) - place))
        )
    _note(groups, shown, shapes, ledger)
    return shown


def _whole(group: Group, shapes: Mapping[int, Shape]) -> Shown:
    return {row.sequence: shapes[row.sequence].whole() for row in group.rows}


def _least(group: Group, shapes: Mapping[int, Shape]) -> Shown:
    """The whole group if it is short, else the beginning of its text."""
    sequence = group.rows[-1].sequence
    return {**_others(group, shapes), sequence: shapes[sequence].beginning(LEAST_PIN)}


def _others(group: Group, shapes: Mapping[int, Shape]) -> dict[int, Rendition]:
    return {row.sequence: shapes[row.sequence].choose(()) for row in group.rows[:-1]}


def _grown(
    shown: Shown, group: Group, shapes: Mapping[int, Shape], cost: PromptCost, limit: int
) -> Shown:
    """The group with as many of its first parts as fit into `limit`; if not even one fits, with the
    beginning of its text."""
    row, others = group.rows[-1], _others(group, shapes)
    low, high, best = 0, part_count(row), dict[int, Rendition]()
    while low < high:
        middle = (low + high + 1) // 2
        more = {**others, row.sequence: _first(shapes[row.sequence], middle)}
        if cost.size({**shown, **more}) <= limit and cost.exact({**shown, **more}) <= limit:
            low, best = middle, more
        else:
            high = middle - 1
    return best or longest_beginning(shown, others, shapes[row.sequence], cost, limit) or {}


def _first(shape: Shape, count: int) -> Rendition:
    """The first parts of an item; of a long one also the last, where people often say what they
    want."""
    total = part_count(shape.row)
    if 2 < count < total:
        return shape.choose([*range(count - 1), total - 1])
    return shape.choose(range(count))


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
