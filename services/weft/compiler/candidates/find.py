"""Stage 1: which items are considered. Enough to fill the budget a few times, whatever the length
of the session; all items if they fit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from weft.compiler.profiles import (
    FEEDBACK_PASSAGES,
    FEEDBACK_POSTINGS,
    ITEM_OVERHEAD,
    LONG_QUERY,
    MATCHES_WEIGHED,
    MAX_POSTINGS_READ,
    MIN_MATCHES,
    NEIGHBOUR_SHARES,
    OWN_WORDS_FACTOR,
    PASSAGE_TOKENS,
    PINNED_POLICIES,
    Retrieval,
)
from weft.compiler.ranking.question import Question, expansion
from weft.compiler.ranking.relevance import ALONE
from weft.passages.part import passage_text
from weft.readmodel.rows import ItemRow, Match
from weft.readmodel.search import MAX_POSTINGS
from weft.readmodel.view import SessionView
from weft.terms import analyse
from weft_schemas.items import ItemKind
from weft_schemas.policy import SelectionRules

UNBOUNDED = SelectionRules()
"""These defaults were limits in earlier releases, and every policy in a log repeats them."""
MAX_UNANSWERED = 4
"""Most of the user's unanswered turns that are in every prompt."""
MAX_ATTACHED = 8
"""Most documents of the user's latest message that are always considered. They are not pinned: cut
to their beginnings, they would take the room of the passages that answer the question."""


class Claim(StrEnum):
    """Why an item is in every prompt."""

    LATEST = "latest"
    TASK = "task"
    ANSWERED = "answered"
    UNANSWERED = "unanswered"
    WORDLESS = "wordless"
    PUBLISHER = "publisher"
    REQUEST = "request"
    GOES_ON = "goes_on"


class Candidates(msgspec.Struct, frozen=True):
    """The items to consider."""

    rows: tuple[ItemRow, ...]
    """In order of sequence."""
    passages: dict[int, dict[int, float]]
    """BM25 of each matching passage, by the item's sequence and the passage's number."""
    pinned: Mapping[int, Claim]
    """Sequences of the items in every prompt, each with its claim, the most important first: the
    latest user turn, the first one, what the latest one answers, the turns between, the documents
    of a message without words, and what the publisher or the caller pinned."""
    latest_user: int | None
    """Sequence of the newest user turn."""
    open_since: int = 0
    """Items after this sequence are open: the agent has said nothing to the user since."""

    @property
    def scores(self) -> dict[int, float]:
        """The score of the best passage of each matching item."""
        return {sequence: max(found.values()) for sequence, found in self.passages.items()}


def find_candidates(
    view: SessionView,
    question: Question,
    rules: SelectionRules,
    retrieval: Retrieval,
    budget: int,
    pinned_ids: Sequence[str] = (),
    has_query: bool = True,
) -> Candidates:
    """The recent window, the best matches with their neighbours, policies and pinned items."""
    recent = _recent(view, rules, retrieval, budget)
    turns = _turns(view)
    claims = list(_claims(view, turns, pinned_ids, has_query))
    found = {row.sequence: row for row in (*recent, *(row for _, row in claims))}
    _add(found, _attached(view, turns.unanswered[:1]))
    _add(found, view.of_kind(ItemKind.PLAN_STATE, 1))
    _add(found, view.of_kind(ItemKind.POLICY, PINNED_POLICIES))
    fits = max(_within_budget(recent, budget), budget / PASSAGE_TOKENS)
    limit = MIN_MATCHES + int(retrieval.matches * fits)
    limit = limit if rules.matches == UNBOUNDED.matches else min(limit, rules.matches)
    own = _own_words(recent)
    matches, passages = _matches(view, question, recent, limit, retrieval, budget, own)
    best = {
        match.ordinal: max(passages[match.sequence].values()) * _weight(match, own)
        for match in matches
    }
    alone = {match.ordinal for match in matches if match.kind in ALONE}
    wanted = retrieval.near_least + int(retrieval.near * fits)
    held = {row.ordinal for row in found.values()}
    near = [at for at in _near_best(best, rules.neighbours, wanted, alone) if at not in held]
    _add(found, view.places(near) if near else ())
    latest = next((row.sequence for _, row in claims if row.kind is ItemKind.USER_TURN), None)
    rows = tuple(found[sequence] for sequence in sorted(found))
    pinned: dict[int, Claim] = {}
    for claim, row in claims:
        pinned.setdefault(row.sequence, claim)
    return Candidates(rows, passages, pinned, latest, turns.open_since)


def _add(found: dict[int, ItemRow], rows: Iterable[ItemRow]) -> None:
    found.update((row.sequence, row) for row in rows)


def _recent(
    view: SessionView, rules: SelectionRules, retrieval: Retrieval, budget: int
) -> list[ItemRow]:
    """The newest items, newest first, until their whole texts would fill the budget a few times."""
    most = view.item_count()
    if rules.recent != UNBOUNDED.recent:
        most = min(rules.recent, most)
    rows = view.recent(min(retrieval.newest, most))
    tokens = sum(_cost(row, budget) for row in rows)
    while len(rows) < most and tokens <= retrieval.recent * budget and rows[-1].ordinal:
        oldest = rows[-1].ordinal
        first = max(oldest - min(len(rows), most - len(rows)), 0)
        more = view.span(first, oldest - 1)[::-1]
        tokens += sum(_cost(row, budget) for row in more)
        rows += more
    return rows


def _cost(row: ItemRow, budget: int) -> int:
    """Tokens of an item; for a large one only as much as could be shown."""
    return min(max(row.whole_tokens, 0), budget // 2) + ITEM_OVERHEAD


def _within_budget(recent: Sequence[ItemRow], budget: int) -> float:
    """How many items like the recent ones the budget holds."""
    if not recent:
        return 0.0
    return budget * len(recent) / sum(_cost(row, budget) for row in recent)


class _Turns(msgspec.Struct, frozen=True):
    """The user's turns since the agent's last message to which they answer."""

    answered: tuple[ItemRow, ...]
    """That message, if there is one."""
    unanswered: tuple[ItemRow, ...]
    """Newest first."""

    @property
    def open_since(self) -> int:
        """The sequence after which the agent has said nothing to the user."""
        if self.answered and len(self.unanswered) < MAX_UNANSWERED:
            return self.answered[0].sequence
        return self.unanswered[-1].sequence if self.unanswered else 0


def _turns(view: SessionView) -> _Turns:
    latest = view.of_kind(ItemKind.USER_TURN, MAX_UNANSWERED)
    answered = _answered_message(view, latest[0]) if latest else []
    since = answered[0].sequence if answered else 0
    unanswered = (*latest[:1], *(turn for turn in latest[1:] if turn.sequence > since))
    return _Turns(tuple(answered), unanswered)


def _claims(
    view: SessionView, turns: _Turns, ids: Sequence[str], has_query: bool
) -> Iterator[tuple[Claim, ItemRow]]:
    """The latest user turn, the first one, the message that the latest answers, what the user said
    in between, the documents of a message without words, then pinned items. Without a query also
    the agent's latest message, since the step goes on from there."""
    latest, between = turns.unanswered[:1], turns.unanswered[1:]
    first = view.first_of_kind(ItemKind.USER_TURN) if latest else []
    newest = () if has_query else view.recent(1)
    for claim, rows in (
        (Claim.LATEST, latest),
        (Claim.TASK, first),
        (Claim.ANSWERED, turns.answered),
        (Claim.UNANSWERED, between),
        (Claim.WORDLESS, _without_words(view, latest)),
        (Claim.PUBLISHER, view.pinned()),
        (Claim.REQUEST, view.by_ids(ids) if ids else ()),
        (Claim.GOES_ON, [row for row in newest if row.kind is ItemKind.AGENT_MSG]),
    ):
        yield from ((claim, row) for row in rows)


def _without_words(view: SessionView, latest: Sequence[ItemRow]) -> list[ItemRow]:
    """The documents of the user's latest message, newest first, if it has no words beside them."""
    since = latest[0].ordinal if latest else -1
    newest = view.of_kind(ItemKind.DOC_SNIPPET, 1)
    return _attached(view, [row for row in newest if row.ordinal > since])


def _attached(view: SessionView, message: Sequence[ItemRow]) -> list[ItemRow]:
    """The documents of the message to which this item belongs, newest first."""
    turn_id = _turn_id(message[0]) if message else None
    if not turn_id:
        return []
    near = view.span(message[0].ordinal - MAX_ATTACHED, message[0].ordinal)
    documents = [one for one in near if one.kind is ItemKind.DOC_SNIPPET]
    return [one for one in reversed(documents) if _turn_id(one) == turn_id]


def _turn_id(row: ItemRow) -> object:
    return row.metadata.get("turn_id")


def _answered_message(view: SessionView, turn: ItemRow) -> list[ItemRow]:
    """The message that a user turn answers: the agent's last one before it."""
    return view.of_kind(ItemKind.AGENT_MSG, 1, before=turn.ordinal)


def _own_words(recent: Iterable[ItemRow]) -> float:
    """Factor for matches in the agent's messages; 1 if agents have names, since they are persons
    then."""
    said = [row for row in recent if row.kind is ItemKind.AGENT_MSG]
    return 1.0 if any(row.metadata.get("author") for row in said) else OWN_WORDS_FACTOR


def _weight(match: Match, own: float) -> float:
    return own if match.kind is ItemKind.AGENT_MSG else 1.0


def _matches(
    view: SessionView,
    question: Question,
    recent: Iterable[ItemRow],
    limit: int,
    retrieval: Retrieval,
    budget: int,
    own: float,
) -> tuple[list[Match], dict[int, dict[int, float]]]:
    """The best matches, and BM25 scores including the feedback's share. The author of an item is
    matched by name, not by text."""
    named = _terms_of_authors(question, recent)
    terms = [term for term in question.terms if term not in named]
    is_long = len(terms) > LONG_QUERY
    uses = question.repeated if is_long and retrieval.per_term else ()
    asked_for = [*terms, *(term for term in uses if term not in named)]
    postings = max(MAX_POSTINGS, retrieval.per_term * len(terms), budget // 4)
    most = limit if own == 1.0 else limit * MATCHES_WEIGHED
    found = view.search(asked_for, most, min(postings, MAX_POSTINGS_READ)) if terms else []
    matches = _best(found, limit, own)
    scores = {(match.sequence, match.passage): match.score for match in matches}
    feedback = retrieval.feedback > 0 and not is_long
    for match in _feedback(view, question, matches, named, limit) if feedback else ():
        place = match.sequence, match.passage
        if place not in scores:
            matches.append(match)
        scores[place] = scores.get(place, 0.0) + retrieval.feedback * match.score
    passages: dict[int, dict[int, float]] = {}
    for (sequence, passage), score in scores.items():
        passages.setdefault(sequence, {})[passage] = score
    return matches, passages


def _terms_of_authors(question: Question, recent: Iterable[ItemRow]) -> set[str]:
    """The terms of the authors that a query names."""
    authors = (str(row.metadata.get("author") or "").casefold() for row in recent)
    asked = question.names.intersection(authors) if question.names else ()
    return {term for name in asked for term in analyse(name)}


def _best(found: list[Match], limit: int, own: float) -> list[Match]:
    """The best matches, with the agent's own messages weighted by `own`."""
    return sorted(found, key=lambda match: -match.score * _weight(match, own))[:limit]


def _feedback(
    view: SessionView,
    question: Question,
    matches: Sequence[Match],
    named: Collection[str],
    limit: int,
) -> list[Match]:
    best = matches[:FEEDBACK_PASSAGES]
    rows = {row.sequence: row for row in view.rows([match.sequence for match in best])}
    texts = [_passage(rows[match.sequence], match.passage) for match in best]
    extra = expansion(texts, question, named)
    return view.search(list(extra), limit, FEEDBACK_POSTINGS, extra) if extra else []


def _passage(row: ItemRow, passage: int) -> str:
    outline = row.parts
    return row.whole if outline is None else passage_text(row.readable, outline, passage)


def _near_best(
    best: Mapping[int, float], neighbours: int, limit: int, alone: Collection[int] = ()
) -> list[int]:
    """Ordinals of the most relevant items: matches, with scores `best` by ordinal, and their
    neighbours, except those of `alone`."""
    raw = dict(best)
    known = raw.get
    shares = [
        (distance, NEIGHBOUR_SHARES.get(distance, 0.0)) for distance in range(1, neighbours + 1)
    ]
    for at, score in best.items():
        for distance, share in () if at in alone else shares:
            raw[at - distance] = known(at - distance, 0.0) + score * share
            raw[at + distance] = known(at + distance, 0.0) + score * share
    ordered = sorted(zip(raw.values(), raw, strict=True), reverse=True)
    return [at for _, at in ordered[:limit]]
