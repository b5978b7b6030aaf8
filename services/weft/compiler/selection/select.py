"""Stage 6: chooses renditions of the groups that may be shown. First pinned items, then the open
exchange, then everything else by value per token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import (
    COUNTED_TO,
    CUT_SHARE,
    EXCHANGE_SHARE,
    PINS_ALONE,
    PINS_SHARE,
    TOLD_SHARE,
    Objective,
)
from weft.compiler.ranking.values import values
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.renditions.rendition import (
    COMPACT,
    CURRENT,
    PARTS,
    STUB,
    WHOLE,
    shown_parts,
    whole,
)
from weft.compiler.selection.budget import fit_budget
from weft.compiler.selection.offers import Scores, Shape, order_parts
from weft.compiler.selection.pins import pin


class Choice(msgspec.Struct, frozen=True):
    """The possible renditions and the rules for choosing among them."""

    groups: tuple[Group, ...]
    scores: Scores
    shapes: Mapping[int, Shape]
    """By sequence."""
    pinned: tuple[Group, ...]
    """The most important first, policies last."""
    exchange: tuple[Group, ...]
    """Calls with results since the latest user turn, newest first."""
    objective: Objective
    asked: Collection[str]
    """Fields whose values a next call may take."""
    cost: PromptCost
    budget: int
    is_all: bool
    """Whether the session has no other groups."""
    has_query: bool = False
    """Whether the caller gave a query, which may differ from the latest user turn."""


def select(choice: Choice, ledger: Ledger) -> Shown:
    """Everything whole if it fits; otherwise pins, the open exchange and the most valuable
    parts."""
    everything = everything_whole(choice)
    if everything is not None:
        return everything
    pinned = pins_of(choice, ledger)
    return fill(choice, with_exchange(choice, pinned), choice.groups, choice.budget)


def pins_of(choice: Choice, ledger: Ledger) -> Shown:
    """The renditions of the pinned groups."""
    has_results = any(len(group.rows) > 1 for group in choice.exchange)
    share = PINS_SHARE if has_results or choice.has_query else PINS_ALONE
    return pin(choice.pinned, choice.shapes, choice.cost, choice.budget, share, ledger)


def everything_whole(choice: Choice) -> Shown | None:
    """All groups with every item whole; None if they do not fit or the session has others."""
    rows = [row for group in choice.groups for row in group.rows]
    if not choice.is_all or sum(max(row.whole_tokens, 0) for row in rows) > choice.budget:
        return None
    shown: Shown = {}
    for row in rows:
        shape = choice.shapes[row.sequence]
        limited = shape.fixed if shape.is_limited else None
        shown[row.sequence] = limited or whole(row, shape.redacted)
    return shown if choice.cost.exact(shown) <= choice.budget else None


def with_exchange(choice: Choice, pinned: Shown) -> Shown:
    """The pinned items and the open exchange. Of the results since the latest user turn, newest
    first, half of the budget is filled with whole ones, and with the best parts of the first that
    does not fit. The other calls are listed with their outcome, so that they are not made again."""
    shown, is_cut = _told(choice, pinned, choice.budget, is_answered=False), False
    used = choice.cost.exact(shown)
    limit = min(choice.budget, used + int(choice.budget * EXCHANGE_SHARE))
    for group in choice.exchange:
        if group.key in shown:
            continue
        more = _all_of(choice, group, shown, limit)
        if more is not None:
            shown.update(more)
        elif not is_cut:
            room = limit - choice.cost.exact(shown)
            shown = fill(choice, shown, [group], limit - int(room * (1 - CUT_SHARE)))
            is_cut = True
    return _told(choice, shown, min(choice.budget, limit + int(choice.budget * TOLD_SHARE)))


def _all_of(choice: Choice, group: Group, shown: Shown, limit: int) -> Shown | None:
    """An exchange whole, or all of it in `compact` form; None if neither fits beside `shown`."""
    shapes = [choice.shapes[row.sequence] for row in group.rows]
    # Counts of large results are close: what is far too large is not counted again.
    tokens = sum(max(shape.row.whole_tokens, 0) for shape in shapes if shape.fixed is None)
    if tokens > limit * COUNTED_TO:
        return None
    ways = [shape.whole() for shape in shapes], [shape.all() for shape in shapes]
    for way in ways:
        more = {shape.row.sequence: made for shape, made in zip(shapes, way, strict=True)}
        if choice.cost.fits({**shown, **more}, limit):
            return more
    return None


def _told(choice: Choice, shown: Shown, limit: int, is_answered: bool = True) -> Shown:
    """What is shown and, newest first, the calls of the open exchange with a line about their
    results; or those that have none."""
    shown, told = dict(shown), list[Group]()
    for group in choice.exchange:
        if group.key in shown or (len(group.rows) > 1) != is_answered:
            continue
        more = {row.sequence: choice.shapes[row.sequence].choose(()) for row in group.rows}
        if choice.cost.size({**shown, **more}) > limit:
            break
        shown.update(more)
        told.append(group)
    while told and choice.cost.exact(shown) > choice.budget:  # sizes of messages are only close
        for row in told.pop().rows:
            del shown[row.sequence]
    return shown


def _can_grow(group: Group, choice: Choice, base: Shown) -> bool:
    """Whether more of a group can be shown than `base` shows: it is not shown at all, or its
    results in the open exchange are a stub or in parts."""
    if group.key not in base:
        return True
    return group.is_exchange and any(
        base[row.sequence].view in (STUB, PARTS)
        and choice.shapes[row.sequence].fixed is None
        and row.size_of_whole > 0
        for row in group.rows
        if row.sequence in base
    )


def _grown_from(base: Shown, choice: Choice, groups: Sequence[Group]) -> dict[int, Shape]:
    """The shapes of these groups' items, with what `base` shows of them required."""
    shapes = dict(choice.shapes)
    for row in (row for group in groups for row in group.rows):
        shown = base.get(row.sequence)
        if shown is not None and shown.view in (WHOLE, COMPACT, PARTS, CURRENT):
            held = shown_parts(row, shown)
            required = shapes[row.sequence].required.union(held)
            shapes[row.sequence] = msgspec.structs.replace(
                shapes[row.sequence], required=frozenset(required)
            )
    return shapes


def fill(choice: Choice, base: Shown, groups: Sequence[Group], budget: int) -> Shown:
    """`base` and the most valuable parts of `groups`, within `budget`."""
    stated = Counter(value for shown in base.values() for value in values(shown.text))
    rest = [group for group in groups if _can_grow(group, choice, base)]
    shapes = _grown_from(base, choice, rest)
    additions = order_parts(
        rest,
        choice.scores,
        shapes,
        choice.objective,
        choice.asked,
        stated,
        budget - choice.cost.size(base),
        frozenset(base),
    )
    return fit_budget(choice.cost, additions, shapes, base, budget)
