"""Stage 7, first half: in which order parts are worth their tokens. Best value for its cost first,
each value paid for once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.forms import Shape, shape
from weft.compiler.greedy import best_first
from weft.compiler.outline import Part
from weft.compiler.worth import Worth, new_worth, prose_factor, standing, worth
from weft.readmodel.rows import ItemRow

OVERSHOOT = 1.3
"""Parts are put in order until they fill this many budgets by estimate: the fit is exact."""
DENSITY = 0.3
"""Tokens per character where an item's own is not known."""
LABEL = 5.0
"""Tokens that showing an item costs beside its text."""
CALL = 20.0
"""The same for a call and its result, ids and fence counted."""
OPENING = 2.0
"""Tokens by which a group's first part counts as dearer in the order (less than it really costs:
several items with a value each ground more than one with many)."""


class Wants(msgspec.Struct, frozen=True):
    """What a phase looks for in an item."""

    atomic: int
    """Characters up to which an item is shown whole or not at all."""
    values: float
    """Worth of a new value, against 1.0 of any part; 0: text alone counts."""
    cheap: float
    """Exponent of the cost: 1.0 takes the best value per token, 0.0 ignores length."""
    supply: float = 1.5
    """Budgets of text, best first, that are taken apart, and"""
    supply_least: int = 1000
    """at least so many tokens more."""


class Addition(msgspec.Struct, frozen=True):
    """One more part in the prompt."""

    group: Group
    sequence: int
    """Of the item."""
    part: int
    tokens: float
    """Estimate, what opening its group costs included."""


class Offer(msgspec.Struct):
    """A part that can be taken."""

    group: Group
    sequence: int
    part: int
    cost: float
    score: float
    worth: Worth | None
    """Null where the phase does not ask for values."""
    factor: float
    """What a new value counts for."""


def order_parts(
    groups: Sequence[Group],
    scores: Mapping[int, float],
    redacted: Collection[int],
    wants: Wants,
    asked: Collection[str],
    stated: Mapping[str, int],
    budget: int,
) -> tuple[list[Addition], dict[int, Shape]]:
    """Additions, best first, until they fill the budget and some more, and the items' shapes.

    `stated` counts the values that the prompt holds already.
    """
    shapes: dict[int, Shape] = {}
    offers: list[Offer] = []
    for group in groups:
        for row in group.rows:
            shapes[row.sequence] = shape(row, row.sequence in redacted, wants.atomic)
            offers += _offers(group, row, shapes[row.sequence], scores[group.key], wants, asked)
    return _greedy(offers, wants, dict(stated), budget * OVERSHOOT), shapes


def _offers(
    group: Group, row: ItemRow, shaped: Shape, score: float, wants: Wants, asked: Collection[str]
) -> list[Offer]:
    density, prose = density_of(row), prose_factor(row)
    return [
        Offer(
            group,
            row.sequence,
            index,
            priced(part, density),
            score,
            worth(part.text, part.field) if wants.values else None,
            wants.values * standing(part.field, asked, prose),
        )
        for index, part in enumerate(shaped.parts)
    ]


def _greedy(
    offers: Sequence[Offer], wants: Wants, stated: dict[str, int], limit: float
) -> list[Addition]:
    """By score and new values per token. `stated` is counted on."""
    opened: set[int] = set()

    def rate(offer: Offer) -> float:
        cost = offer.cost + (0.0 if offer.group.key in opened else OPENING)
        gain = 1.0 + (offer.factor * new_worth(offer.worth, stated) if offer.worth else 0.0)
        return float(offer.score * gain / cost**wants.cheap)

    additions: list[Addition] = []
    spent = 0.0
    for offer, _ in best_first(offers, rate):
        if spent >= limit:
            break
        cost = offer.cost + (0.0 if offer.group.key in opened else opening(offer.group))
        opened.add(offer.group.key)
        spent += cost
        additions.append(Addition(offer.group, offer.sequence, offer.part, cost))
        for value in offer.worth.values if offer.worth else ():
            stated[value] = stated.get(value, 0) + 1
    return additions


def opening(group: Group) -> float:
    """Tokens that showing a group costs beside its text."""
    return LABEL if len(group.rows) == 1 else CALL


def density_of(row: ItemRow) -> float:
    """Tokens per character."""
    return row.tokens / len(row.text) if row.text and row.tokens > 0 else DENSITY


def priced(part: Part, density: float) -> float:
    """About how many tokens a part takes."""
    return len(part.text) * density + 1
