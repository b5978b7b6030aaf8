"""Stage 5: how much each group matters to this step. Relevance, from 0 to 1, comes from matches,
from the neighbours of matches and, when a question is answered, from surface cues. Recency halves
with age. The phase's weights of kinds apply."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    AFTER_QUESTION,
    AUTHOR_FACTOR,
    DATE_CUE,
    DAY_MATCHES,
    LENGTH_CUE,
    LONG_TEXT,
    MAX_TITLE_LENGTH,
    MIN_PLAN_TOKENS,
    NAME_CUE,
    NEIGHBOUR_SHARES,
    OWN_WORDS_FACTOR,
    QUESTION_FACTOR,
    SAME_DAY_BONUS,
    SELF_CONTAINED,
    TIME_BONUS,
    TITLE_BONUS,
    Emphasis,
)
from weft.compiler.ranking.cues import Cues, cues
from weft.compiler.ranking.dates import dates_in, nearness
from weft.compiler.ranking.question import Question
from weft.readmodel.rows import ItemRow
from weft.terms import analyse
from weft_schemas.items import ItemKind
from weft_schemas.policy import PhaseRule

MESSAGES = frozenset({ItemKind.USER_TURN, ItemKind.AGENT_MSG})
"""Kinds of messages."""

ALONE = frozenset({ItemKind.DOC_SNIPPET})
"""Kinds without relevant neighbours: documents are published in any order."""

_NO_CUES = cues("")


def score_groups(
    groups: Sequence[Group],
    matches: Mapping[int, float],
    question: Question,
    rule: PhaseRule,
    emphasis: Emphasis,
    latest_user: int | None,
) -> dict[int, float]:
    """Score per group key, above 0. `matches` are BM25 scores by sequence."""
    rows = [row for group in groups for row in group.rows]
    rows.sort(key=lambda row: row.ordinal)
    relevance = relevance_of(rows, matches, question, emphasis.cues)
    plans = _plans(groups, latest_user or 0)
    called = max((group.key for group in groups if len(group.rows) > 1), default=None)
    kinds = {row.kind for row in rows}
    weights = {kind: rule.weights.get(kind, 1.0) ** emphasis.tie for kind in kinds}
    scores = {}
    for age, group in enumerate(reversed(groups)):
        best = max([relevance[row.sequence] for row in group.rows])
        score = emphasis.relevance * best + emphasis.recency * decay(age, emphasis.half_life)
        if latest_user is not None and group.key > latest_user and group.is_call:
            score += emphasis.current_turn
        if group.key == called:
            score += emphasis.newest
        kind = group.rows[0].kind
        if kind is ItemKind.USER_TURN:
            score *= emphasis.user
        elif group.key in plans:
            score *= emphasis.plan
        scores[group.key] = max([weights[row.kind] for row in group.rows]) * score + 1e-6
    return scores


def _plans(groups: Sequence[Group], since: int) -> frozenset[int]:
    """Keys of an agent's messages that have a call behind them in their turn, or that end a turn
    with calls, if they are not too short; or that have one anywhere in the current turn, whose
    groups have a key above `since`."""
    found = set()
    is_followed = any(group.is_call and group.key > since for group in groups)
    for group in reversed(groups):
        row = group.rows[0]
        is_plan = group.key > since or row.whole_tokens >= MIN_PLAN_TOKENS
        if is_followed and is_plan and row.kind is ItemKind.AGENT_MSG:
            found.add(group.key)
        is_followed = group.is_call or (is_followed and row.kind is not ItemKind.USER_TURN)
    return frozenset(found | _conclusions(groups))


def _conclusions(groups: Sequence[Group]) -> set[int]:
    """Keys of an agent's messages that end a turn in which it called tools, if they are not too
    short: they say what came of it. Not of questions, which say little without the answer."""
    found = set()
    has_called = False
    for group, following in pairwise(groups):
        row = group.rows[0]
        has_called = group.is_call or (has_called and row.kind is not ItemKind.USER_TURN)
        ends = following.rows[0].kind is ItemKind.USER_TURN and row.kind is ItemKind.AGENT_MSG
        is_long = row.whole_tokens >= MIN_PLAN_TOKENS
        if has_called and ends and is_long and not cues(row.whole).asks:
            found.add(group.key)
    return found


def decay(age: int, half_life: float) -> float:
    """Hyperbolic, so that old groups still have a chance; 1 for the newest."""
    return half_life / (half_life + age)


def relevance_of(
    rows: Sequence[ItemRow], matches: Mapping[int, float], question: Question, surface: bool
) -> dict[int, float]:
    """Relevance by sequence, the best 1. `rows` come by ordinal; `surface` lets cues count."""
    signs = [_NO_CUES] * len(rows)
    if surface:
        signs = [cues(row.whole) if row.kind in MESSAGES else _NO_CUES for row in rows]
    occurred = _metadata(rows, "occurred_at")
    raw = _with_neighbours(rows, matches, signs, occurred)
    top = max(raw, default=0.0) or 1.0
    days = _days(rows, matches, occurred)
    authors = [author.casefold() for author in _metadata(rows, "author")]
    people = frozenset(authors) - {""}
    asked = people & question.names
    times, terms = dates_in(question.text), frozenset(question.terms)
    found: dict[int, float] = {}
    for row, score, sign, day, author in zip(rows, raw, signs, occurred, authors, strict=True):
        worth = score / top + SAME_DAY_BONUS * days.get(day, 0.0) + _surface(row, sign, people)
        if len(asked) == 1 and author in asked:
            worth *= AUTHOR_FACTOR
        if times:
            worth *= 1 + TIME_BONUS * nearness(times, day, row.published_ns)
        if row.kind is ItemKind.DOC_SNIPPET:
            worth *= 1 + TITLE_BONUS * _share(_title(row.whole), terms)
        found[row.sequence] = worth * (QUESTION_FACTOR if sign.asks else 1.0)
    return found


def _surface(row: ItemRow, sign: Cues, people: Collection[str]) -> float:
    """The bonus for length and cues. Cues count less in a long message: nearly every one has
    some."""
    long = LENGTH_CUE * min(len(row.whole) / LONG_TEXT, 1.0)
    if sign is _NO_CUES:
        return long
    named = NAME_CUE if not sign.names.issubset(people) else 0.0
    return (DATE_CUE * sign.dated + long + named) * _shortness(row)


def _with_neighbours(
    rows: Sequence[ItemRow],
    matches: Mapping[int, float],
    signs: Sequence[Cues],
    occurred: Sequence[str],
) -> list[float]:
    """The score of each item, with its share of the scores of those beside it that happened at the
    same time."""
    place = {row.ordinal: at for at, row in enumerate(rows) if row.kind not in ALONE}
    own = [matches.get(row.sequence, 0.0) * _author_factor(row) for row in rows]
    scores = list(own)
    for ordinal, at in place.items():
        if not own[at]:
            continue
        for distance, share in _AROUND:
            other = place.get(ordinal + distance)
            if other is not None and occurred[other] == occurred[at]:
                by = AFTER_QUESTION if distance == 1 and signs[at].asks else share
                scores[other] += own[at] * by * _shortness(rows[other])
    return scores


_AROUND = tuple((at, share) for by, share in NEIGHBOUR_SHARES.items() for at in (-by, by))
"""Distances of neighbours, and the share that each of them gets."""


def _shortness(row: ItemRow) -> float:
    """1 for a short turn, less for a longer one, which explains itself."""
    return min(1.0, SELF_CONTAINED / max(row.whole_tokens, 1))


def _author_factor(row: ItemRow) -> float:
    """Factor for the messages of an agent without a name, which repeat users and tools."""
    is_own = row.kind is ItemKind.AGENT_MSG and not row.metadata.get("author")
    return OWN_WORDS_FACTOR if is_own else 1.0


def _days(
    rows: Sequence[ItemRow], matches: Mapping[int, float], occurred: Sequence[str]
) -> dict[str, float]:
    """Per occurrence, how its best matches compare with the best one's, 0 to 1."""
    held: dict[str, list[float]] = {}
    for row, day in zip(rows, occurred, strict=True):
        if row.sequence in matches:
            held.setdefault(day, []).append(matches[row.sequence])
    sums = {day: sum(sorted(found)[-DAY_MATCHES:]) for day, found in held.items()}
    best = max(sums.values(), default=0.0)
    return {day: total / best for day, total in sums.items()} if len(sums) > 1 else {}


def _title(text: str) -> tuple[str, ...]:
    """The terms of a document's first line, if more lines follow."""
    line, _, more = text.partition("\n")
    return tuple(analyse(line)) if more and len(line) <= MAX_TITLE_LENGTH else ()


def _share(terms: Collection[str], asked: Collection[str]) -> float:
    return sum(term in asked for term in terms) / len(terms) if terms else 0.0


def _metadata(rows: Sequence[ItemRow], name: str) -> list[str]:
    """The value of this name in each item's metadata, empty if there is none."""
    return [str(row.metadata.get(name) or "") if row.metadata else "" for row in rows]
