"""Stage 1: which items are looked at. Bounded by the budget and the policy, never by the length
of the session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from weft.compiler.query import Question, expansion
from weft.readmodel.rows import ItemRow, Match, SessionView
from weft.readmodel.terms import analyse
from weft_schemas.items import ItemKind
from weft_schemas.policy import SelectionRules

SMALLEST_ITEM = 10
"""Tokens. More recent items than budget / this cannot all stand in the prompt."""
LEAST = 64
"""Items looked at however small the budget."""
EXPANDED = 200
"""Best matches whose neighbours come along: further ones seldom earn their own place."""
FEEDBACK = 10
"""Best matches whose common terms search again."""
FEEDBACK_SHARE = 0.1
PINNED_POLICIES = 8
"""Newest policy items that are always looked at."""


class Candidates(msgspec.Struct, frozen=True):
    """Rows in order of sequence, and how well each answers the question."""

    rows: tuple[ItemRow, ...]
    scores: dict[int, float]
    """BM25 by sequence, of the matches."""
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
    matches, scores = _matches(view, question, found.values(), min(rules.matches, bound))
    for first, last in _spans(matches, rules.neighbours):
        found.update((row.sequence, row) for row in view.span(first, last))
    missing = [match.sequence for match in matches if match.sequence not in found]
    found.update((row.sequence, row) for row in view.rows(missing))
    return Candidates(
        tuple(found[sequence] for sequence in sorted(found)),
        scores,
        users[0].sequence if users else None,
    )


def _matches(
    view: SessionView, question: Question, known: Iterable[ItemRow], limit: int
) -> tuple[list[Match], dict[int, float]]:
    """The best matches, and BM25 scores with the feedback's share in them. Who an item is by is
    asked of its author, not of its text."""
    authors = {str(row.metadata.get("author") or "").casefold() for row in known}
    named = {term for name in authors & question.names for term in analyse(name)}
    terms = [term for term in question.terms if term not in named]
    matches = view.search(terms, limit)
    scores = {match.sequence: match.score for match in matches}
    best = [match.sequence for match in matches[:FEEDBACK]]
    extra = expansion([row.text for row in view.rows(best)], question, named)
    for match in view.search(extra, limit) if extra else ():
        if match.sequence not in scores:
            matches.append(match)
        scores[match.sequence] = scores.get(match.sequence, 0.0) + FEEDBACK_SHARE * match.score
    return matches, scores


def _spans(matches: Sequence[Match], neighbours: int) -> list[tuple[int, int]]:
    """Ordinals around the best matches, overlapping ones joined."""
    spans: list[tuple[int, int]] = []
    for ordinal in sorted(match.ordinal for match in matches[:EXPANDED]):
        first, last = max(ordinal - neighbours, 0), ordinal + neighbours
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((first, last))
    return spans
