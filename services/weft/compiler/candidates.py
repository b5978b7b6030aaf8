"""Stage 1: which items are looked at. Bounded by the budget and the policy, never by the length
of the session."""

from __future__ import annotations

import msgspec

from weft.compiler.query import Question
from weft.readmodel.rows import ItemRow, Match, SessionView
from weft_schemas.items import ItemKind
from weft_schemas.policy import SelectionRules

SMALLEST_ITEM = 20
"""Tokens. More recent items than budget / this cannot all stand in the prompt."""
LEAST = 24
"""Items looked at however small the budget."""
EXPANDED = 60
"""Best matches whose neighbours come along: further ones seldom earn their own place."""
PINNED_POLICIES = 8
"""Newest policy items that are always looked at."""


class Candidates(msgspec.Struct, frozen=True):
    """Rows in order of sequence, and how well each answers the question."""

    rows: tuple[ItemRow, ...]
    matches: tuple[Match, ...]
    latest_user: int | None
    """Sequence of the newest user turn."""


def find_candidates(
    view: SessionView, question: Question, rules: SelectionRules, budget: int
) -> Candidates:
    """The recent window, the best matches with their neighbours, policies, and the latest user
    turn and plan however long ago they were."""
    bound = LEAST + budget // SMALLEST_ITEM
    found = {row.sequence: row for row in view.recent(min(rules.recent, bound))}
    users = view.of_kind(ItemKind.USER_TURN, 1)
    pinned = [
        *users,
        *view.of_kind(ItemKind.PLAN_STATE, 1),
        *view.of_kind(ItemKind.POLICY, PINNED_POLICIES),
    ]
    found.update((row.sequence, row) for row in pinned)
    matches = tuple(view.search(question.terms, min(rules.matches, bound)))
    for first, last in _spans(matches, rules.neighbours):
        found.update((row.sequence, row) for row in view.span(first, last))
    missing = [match.sequence for match in matches if match.sequence not in found]
    found.update((row.sequence, row) for row in view.rows(missing))
    return Candidates(
        tuple(found[sequence] for sequence in sorted(found)),
        matches,
        users[0].sequence if users else None,
    )


def _spans(matches: tuple[Match, ...], neighbours: int) -> list[tuple[int, int]]:
    """Ordinals around the best matches, overlapping ones joined."""
    spans: list[tuple[int, int]] = []
    for ordinal in sorted(match.ordinal for match in matches[:EXPANDED]):
        first, last = max(ordinal - neighbours, 0), ordinal + neighbours
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((first, last))
    return spans
