"""Stage 1: which items are looked at. As many as could fill the budget a few times, whatever the
length of the session."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from weft.compiler.query import Question, expansion
from weft.readmodel.rows import ItemRow, Match, SessionView
from weft.readmodel.search import MAX_POSTINGS
from weft.readmodel.terms import analyse
from weft_schemas.items import ItemKind
from weft_schemas.policy import SelectionRules

LABEL = 4
"""Tokens that an item costs beside its text."""
BESIDE = {1: 0.3, 2: 0.2, 3: 0.1}
"""Share of a match's relevance that items at this distance get: an answer stands beside its
question. Tuned on three LoCoMo conversations; two others confirm it."""
MATCHES_LEAST = 12
"""Matches that are looked at however few items the budget holds. With twice as many, LiveMCPBench
grounding at 1,000 tokens is .940 instead of .953, and tau-bench at 500 .932 instead of .923."""
POSTINGS_MOST = 8_000
"""Postings that a search reads at most: some 2 ms."""
FEEDBACK = 10
"""Best matches whose common terms search again, where the query has"""
LONG_QUERY = 32
"""no more terms than this: a long one says itself what it is about, most often what it repeats."""
FEEDBACK_POSTINGS = 400
"""Postings that the second search reads: its rare terms tell most."""
PINNED_POLICIES = 8
"""Newest policy items that are always looked at."""


class Reach(msgspec.Struct, frozen=True):
    """How many items are looked at, per item that the budget would hold whole."""

    newest: int
    """Newest items that are always looked at; their length tells how many the budget can hold."""
    recent: float
    """Newest ones; more than 1 where they are shortened."""
    matches: float
    near: float
    """Matches and their neighbours, the most relevant, and"""
    near_least: int = 8
    """so many more."""
    feedback: float = 0.0
    """Weight of what a second search for the best matches' common terms finds; 0: no search."""
    per_term: int = 0
    """Postings that a search reads for each term, where that is more than `MAX_POSTINGS` in all: a
    long query's terms are common ones, most of which would be left unread. With 40, queries of 170
    terms find .08 of tau2's documents at 2,000 tokens, and .04 without. Where it is set, each use
    of a long query's terms counts: .13. To copy values from what was last said gains nothing."""


class Candidates(msgspec.Struct, frozen=True):
    """Rows in order of sequence, and how well they answer the question."""

    rows: tuple[ItemRow, ...]
    scores: dict[int, float]
    """BM25 by sequence, of the matches."""
    latest_user: int | None
    """Sequence of the newest user turn."""


def find_candidates(
    view: SessionView, question: Question, rules: SelectionRules, reach: Reach, budget: int
) -> Candidates:
    """The recent window, the best matches with their neighbours, policies, and the latest user
    turn and plan however long ago they were."""
    recent = view.recent(min(rules.recent, reach.newest))
    fits = _fitting(recent, budget)
    found = {row.sequence: row for row in recent}
    _add(found, _further_back(view, recent, min(rules.recent, int(reach.recent * fits))))
    users = [row for row in recent if row.kind is ItemKind.USER_TURN][:1]
    users = users or view.of_kind(ItemKind.USER_TURN, 1)
    _add(found, users)
    _add(found, view.of_kind(ItemKind.PLAN_STATE, 1))
    _add(found, view.of_kind(ItemKind.POLICY, PINNED_POLICIES))
    limit = min(rules.matches, MATCHES_LEAST + int(reach.matches * fits))
    matches, scores = _matches(view, question, recent, limit, reach)
    wanted = reach.near_least + int(reach.near * fits)
    held = {row.ordinal for row in found.values()}
    near = [at for at in _near(matches, scores, rules.neighbours, wanted) if at not in held]
    _add(found, view.places(near) if near else ())
    rows = tuple(found[sequence] for sequence in sorted(found))
    return Candidates(rows, scores, users[0].sequence if users else None)


def _add(found: dict[int, ItemRow], rows: Iterable[ItemRow]) -> None:
    found.update((row.sequence, row) for row in rows)


def _fitting(recent: Sequence[ItemRow], budget: int) -> float:
    """How many items like the recent ones the budget holds."""
    if not recent:
        return 0.0
    tokens = sum(row.tokens for row in recent) / len(recent)
    return budget / (tokens + LABEL)


def _further_back(view: SessionView, recent: Sequence[ItemRow], wanted: int) -> list[ItemRow]:
    if wanted <= len(recent) or not recent or not recent[-1].ordinal:
        return []
    oldest = recent[-1].ordinal
    return view.span(max(oldest - (wanted - len(recent)), 0), oldest - 1)


def _matches(
    view: SessionView, question: Question, recent: Iterable[ItemRow], limit: int, reach: Reach
) -> tuple[list[Match], dict[int, float]]:
    """The best matches, and BM25 scores with the feedback's share in them. Who an item is by is
    asked of its author, not of its text."""
    authors = (str(row.metadata.get("author") or "").casefold() for row in recent)
    asked = question.names.intersection(authors) if question.names else ()
    named = {term for name in asked for term in analyse(name)}
    terms = [term for term in question.terms if term not in named]
    postings = min(max(MAX_POSTINGS, reach.per_term * len(terms)), POSTINGS_MOST)
    is_long = len(terms) > LONG_QUERY
    uses = question.again if is_long and reach.per_term else ()
    again = [term for term in uses if term not in named]
    matches = view.search([*terms, *again], limit, postings) if terms else []
    scores = {match.sequence: match.score for match in matches}
    feedback = reach.feedback > 0 and not is_long
    for match in _feedback(view, question, matches, named, limit) if feedback else ():
        if match.sequence not in scores:
            matches.append(match)
        scores[match.sequence] = scores.get(match.sequence, 0.0) + reach.feedback * match.score
    return matches, scores


def _feedback(
    view: SessionView,
    question: Question,
    matches: Sequence[Match],
    named: Collection[str],
    limit: int,
) -> list[Match]:
    best = view.rows([match.sequence for match in matches[:FEEDBACK]]) if matches else []
    places = {match.sequence: rank for rank, match in enumerate(matches[:FEEDBACK])}
    best.sort(key=lambda row: places[row.sequence])
    extra = expansion([row.text for row in best], question, named)
    return view.search(list(extra), limit, FEEDBACK_POSTINGS, extra) if extra else []


def _near(
    matches: Sequence[Match], scores: Mapping[int, float], neighbours: int, limit: int
) -> list[int]:
    """Ordinals of the most relevant items: matches and what stands beside them."""
    raw: dict[int, float] = {}
    known = raw.get
    shares = [(distance, BESIDE.get(distance, 0.0)) for distance in range(1, neighbours + 1)]
    for match in matches:
        at, score = match.ordinal, scores[match.sequence]
        raw[at] = known(at, 0.0) + score
        for distance, share in shares:
            raw[at - distance] = known(at - distance, 0.0) + score * share
            raw[at + distance] = known(at + distance, 0.0) + score * share
    best = sorted(zip(raw.values(), raw, strict=True), reverse=True)
    return [at for _, at in best[:limit]]
