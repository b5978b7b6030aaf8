"""Stage 5: how much each group matters to this step, recency and relevance fused by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.compiler.closure import Group
from weft.compiler.query import Question
from weft.readmodel.rows import Match
from weft_schemas.policy import PhaseRule

FLATNESS = 12
"""Rank at which an item's share has halved (the k of reciprocal rank fusion; the usual 60 is made
for lists of thousands)."""
NEIGHBOUR = 0.5
"""Share of a match's relevance that the items beside it get."""


def score_groups(
    groups: Sequence[Group],
    matches: Sequence[Match],
    question: Question,
    rule: PhaseRule,
    relevance: float,
) -> dict[int, float]:
    """Score per group key, above 0. `relevance` is the share of relevance, the rest is recency."""
    relevant = _relevance(groups, matches)
    scores = {}
    for age, group in enumerate(reversed(groups)):
        fused = (1 - relevance) * _by_rank(age) + relevance * relevant.get(group.key, 0.0)
        scores[group.key] = fused * max(rule.weights.get(row.kind, 1.0) for row in group.rows)
    return scores


def _by_rank(rank: int) -> float:
    return FLATNESS / (FLATNESS + rank)


def _relevance(groups: Sequence[Group], matches: Sequence[Match]) -> dict[int, float]:
    ranks = {match.sequence: _by_rank(rank) for rank, match in enumerate(matches)}
    own = {group.key: max(ranks.get(row.sequence, 0.0) for row in group.rows) for group in groups}
    return {
        group.key: own[group.key] + NEIGHBOUR * _beside(groups, at, own)
        for at, group in enumerate(groups)
    }


def _beside(groups: Sequence[Group], at: int, own: Mapping[int, float]) -> float:
    """The best relevance of the groups next to this one."""
    near = [groups[place] for place in (at - 1, at + 1) if 0 <= place < len(groups)]
    here = groups[at].rows[0].ordinal
    return max(
        (own[group.key] for group in near if abs(group.rows[0].ordinal - here) <= 3), default=0.0
    )
