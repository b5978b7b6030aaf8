"""The parts to show besides required ones, in the order of value for their cost; each value counts
once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    CALL_OVERHEAD,
    EMPTY_PART_FACTOR,
    GROUP_OPENING,
    GROUP_OVERHEAD,
    MARKS_OVERHEAD,
    ONE_RESULT_SHARE,
    OVERSHOOT_BUDGETS,
    Objective,
)
from weft.compiler.ranking.value_weights import Coverage, value_weights
from weft.compiler.renditions.item_renditions import ItemRenditions, density_of
from weft.compiler.selection.greedy import best_first
from weft.compiler.selection.part_scores import ScoredPart, Scores, scored_parts
from weft.passages.bare_pieces import is_bare
from weft.passages.json_identifiers import has_only_empty_fields
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind


class Addition(msgspec.Struct, frozen=True):
    """One more part in the prompt."""

    group: Group
    sequence: int
    """Of the item."""
    part: int
    tokens: float
    """Estimated, including the cost of opening its group."""


class Offer(msgspec.Struct):
    """A part to take."""

    group: Group
    sequence: int
    part: int
    cost: float
    score: float
    values: Mapping[str, float]
    """Value → weight; empty if the phase does not look for values."""
    factor: float
    """Weight of a new value."""


def order_parts(
    groups: Sequence[Group],
    scores: Scores,
    renditions: Mapping[int, ItemRenditions],
    objective: Objective,
    asked: Collection[str],
    statement_counts: Mapping[str, int],
    budget: int,
    opened: Collection[int] = (),
) -> list[Addition]:
    """The additions, best first, until they fill the budget several times.

    `statement_counts` are those of the values that the prompt has already; `opened` are the keys of
    groups that it shows in part.
    """
    offers: list[Offer] = []
    for group in groups:
        for row in group.rows:
            item_renditions = renditions[row.sequence]
            required = item_renditions.required if group.key in opened else ()
            offers += [
                _offer(group, row, part, objective, asked)
                for part in scored_parts(group, item_renditions, scores, budget, required)
                if part.number not in required
            ]
    return _greedy(
        offers, renditions, objective, statement_counts, budget * OVERSHOOT_BUDGETS, set(opened)
    )


def _offer(
    group: Group, row: ItemRow, part: ScoredPart, objective: Objective, asked: Collection[str]
) -> Offer:
    found = value_weights(part.text, frozenset(asked)) if objective.values else {}
    says_little = has_only_empty_fields(part.text) or is_bare(part.text)
    score = part.score * EMPTY_PART_FACTOR if says_little else part.score
    cost = len(part.text) * density_of(row) + 1
    return Offer(group, row.sequence, part.number, cost, score, found, objective.values)


def _greedy(
    offers: Sequence[Offer],
    renditions: Mapping[int, ItemRenditions],
    objective: Objective,
    statement_counts: Mapping[str, int],
    limit: float,
    opened: set[int],
) -> list[Addition]:
    """By score and new values per token. Changes `opened`."""
    coverage = Coverage(statement_counts)
    used: dict[int, float] = {}
    enough = limit / OVERSHOOT_BUDGETS * ONE_RESULT_SHARE

    def rate(offer: Offer) -> float:
        cost = offer.cost + (0.0 if offer.group.key in opened else GROUP_OPENING)
        gain = 1.0 + offer.factor * coverage.gain(offer.values) if offer.values else 1.0
        if not objective.values and offer.sequence in used:
            gain /= 1 + used[offer.sequence] / enough
        return float(offer.score * gain / cost**objective.cheap)

    additions: list[Addition] = []
    spent = 0.0
    for offer, _ in best_first(offers, rate):
        if spent >= limit:
            break
        is_open = offer.group.key in opened
        cost = offer.cost + (0.0 if is_open else opening(offer.group, renditions))
        opened.add(offer.group.key)
        if renditions[offer.sequence].row.kind is ItemKind.TOOL_RESULT:
            used[offer.sequence] = used.get(offer.sequence, 0.0) + offer.cost
        spent += (
            cost if cost <= limit / OVERSHOOT_BUDGETS else 0.0
        )  # what is too large leaves its room
        additions.append(Addition(offer.group, offer.sequence, offer.part, cost))
        coverage.add(offer.values)
    return additions


def opening(group: Group, renditions: Mapping[int, ItemRenditions]) -> float:
    """Tokens that a group costs besides the part that opens it."""
    if not group.is_call:
        return GROUP_OVERHEAD + (MARKS_OVERHEAD if group.rows[0].parts is not None else 0.0)
    required = sum(
        len(renditions[row.sequence].choose(()).text) * density_of(row) for row in group.rows
    )
    return CALL_OVERHEAD + required
