"""The parts to show besides required ones, in the order of value for their cost; each value counts
once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import fsum, log

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    ANSWERING,
    ASIDE,
    CALL,
    COHERENT,
    DENSITY,
    ENOUGH_OF_ONE,
    FEW,
    FEW_SHARE,
    FIRST_PART,
    GROUP,
    IDENTITY,
    IN_FOCUS,
    LEAST_PARTS,
    MARKS,
    NAMED_HEAD,
    NAMED_VALUE,
    NOTHING_SAID,
    OFFERED,
    OPENING,
    OUTLIER,
    OVERSHOOT,
    PASSAGE_FLOOR,
    SPOKEN_OF,
    Objective,
)
from weft.compiler.ranking.loops import Stretch, loop_factor
from weft.compiler.ranking.named_parts import under_named_heads
from weft.compiler.ranking.relevance import MESSAGES
from weft.compiler.ranking.value_weights import Coverage, value_weights
from weft.compiler.ranking.values import values
from weft.compiler.renditions.rendition import (
    Rendition,
    beginning,
    compact,
    of_parts,
    part_count,
    whole,
)
from weft.compiler.selection.greedy import best_first
from weft.passages.json_text import is_bare_id, says_nothing
from weft.passages.log import first_error
from weft.passages.part import Outline, Part, leaf_count
from weft.passages.prose import only_closes
from weft.readmodel.rows import ItemRow
from weft.terms import words
from weft_schemas.items import ItemKind


class Shape(msgspec.Struct, frozen=True):
    """All ways to show one item."""

    row: ItemRow
    redacted: bool
    fixed: Rendition | None
    """If there is no choice."""
    required: frozenset[int]
    """Parts that are shown whenever the item is."""
    is_limited: bool = False
    """`fixed` is the policy's, and applies even if there is room for more."""

    def choose(self, chosen: Collection[int]) -> Rendition:
        """The rendition of these parts and the required ones."""
        if self.fixed is not None:
            return self.fixed
        if self.redacted:
            return whole(self.row, redacted=True)  # a stub would tell the size of what is hidden
        taken = self.required.union(chosen)
        if len(taken) == part_count(self.row):
            return compact(self.row)
        return of_parts(self.row, taken)

    def beginning(self, limit: int) -> Rendition:
        """Its first `limit` tokens or so, or the whole of a short item."""
        is_short = self.row.whole_tokens <= limit or self.fixed is not None or self.redacted
        return self.whole() if is_short else beginning(self.row, limit)

    def all(self) -> Rendition:
        """All of its parts."""
        return self.choose(range(part_count(self.row, self.redacted)))

    def whole(self) -> Rendition:
        """The whole item, as far as the policy allows."""
        return self.fixed or whole(self.row, self.redacted)


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


class Scores(msgspec.Struct, frozen=True):
    """What ranking found."""

    groups: Mapping[int, float]
    """By group key."""
    passages: Mapping[int, Mapping[int, float]]
    """BM25 by sequence and number of the passage."""
    terms: frozenset[str] = frozenset()
    """Of the question."""
    ahead: Mapping[int, Sequence[Stretch]] = {}
    """By sequence, what a loop takes next."""
    focus: Mapping[int, float] = {}
    """By sequence, how far a result is in focus."""
    named: frozenset[str] = frozenset()
    """Values in results that the latest user turn names."""
    stated: frozenset[str] = frozenset()
    """Names and values in what was said and done last."""


def required_parts(row: ItemRow) -> frozenset[int]:
    """Parts that are shown whenever the item is: a call's arguments (the beginning of long ones),
    the only part of an item, and the error line of a failed result."""
    outline = row.parts
    if row.kind is ItemKind.TOOL_CALL:
        return frozenset({0}) if outline is None else frozenset(_arguments(outline.root))
    if row.kind is ItemKind.TOOL_RESULT and row.failed:
        return frozenset({0} if outline is None else _error_parts(row.readable, outline))
    return frozenset()


def _arguments(root: Part) -> list[int]:
    """The first leaf of each argument."""
    found, number = [], 0
    for child in root.children:
        found.append(number)
        number += leaf_count(child)
    return found


def _error_parts(text: str, outline: Outline) -> set[int]:
    """The leaf that tells of the first error, else the first leaf; in JSON also the first one with
    a sentence from there on: beside a bad status stands why."""
    place = first_error(text)
    leaves = outline.leaves
    found = 0 if place is None else bisect_right([leaf.start for leaf in leaves], place) - 1
    found = max(found, 0)
    if not outline.is_json:
        return {found}
    order = [*range(found, min(found + NEAR_ERROR, len(leaves))), *range(found)]
    said = (at for at in order if _SENTENCE.search(text, leaves[at].start, leaves[at].end))
    why = next(said, found)
    return {why} if place is None else {found, why}


NEAR_ERROR = 40
"""Leaves behind an error in which the sentence that says why is looked for first."""
_SENTENCE = re.compile(r'"\w[^"\\ ]{0,60} [^"\\ ]{1,60} |"[^"\\\x00-\x7f]{8}')
"""The beginning of a string of at least three words, or in letters of a language without blanks."""


def order_parts(
    groups: Sequence[Group],
    scores: Scores,
    shapes: Mapping[int, Shape],
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
            found = _offers(group, shapes[row.sequence], scores, objective, asked, budget)
            if group.key in opened:
                required = shapes[row.sequence].required
                found = [offer for offer in found if offer.part not in required]
            offers += found
    return _greedy(offers, shapes, objective, statement_counts, budget * OVERSHOOT, set(opened))


def _offers(
    group: Group,
    shape: Shape,
    scores: Scores,
    objective: Objective,
    asked: Collection[str],
    budget: int,
) -> list[Offer]:
    row = shape.row
    score = scores.groups[group.key] * (1 + IN_FOCUS * scores.focus.get(row.sequence, 0.0))
    density = density_of(row)
    ahead = scores.ahead.get(row.sequence, ())
    offer = partial(_offer, group, row.sequence, density, objective, asked)
    if shape.fixed is not None:
        return [offer(0, shape.fixed.text, score)]
    if row.parts is None or shape.redacted:
        score *= loop_factor(ahead, 0, len(row.whole))
        return [offer(0, row.text if shape.redacted else row.whole, score)]
    text, outline = row.readable, row.parts
    leaves = outline.leaves
    passages = scores.passages.get(row.sequence, {})
    shares = _shares(row, outline, passages)
    room = OFFERED * budget / density
    is_result = row.kind is ItemKind.TOOL_RESULT
    listed = _identities(row, outline) if is_result or _lists(row, outline) else frozenset[int]()
    named = scores.named if is_result else frozenset[str]()
    below = under_named_heads(text, outline, named, budget / density)
    differing, asides = outline.differing, outline.asides
    if row.size_of_whole <= room:
        parts = list(enumerate(leaves))
    else:
        listed = _fitting(leaves, listed, room / 2)
        first = listed.union(
            _fitting(leaves, below, room / 2), _fitting(leaves, differing, room / 4)
        )
        parts = _telling(outline, passages, first, room)
        parts.sort(key=lambda one: (one[0] not in first, -shares(one[0]), one[0]))
    taken = []
    for number, part in parts:
        room -= part.size
        if room < 0:
            break
        taken.append((number, text[part.start : part.end]))
    asked_of = scores.terms if passages and row.kind not in MESSAGES else frozenset[str]()
    answers = _answers(taken, asked_of)
    is_listed = is_result and (outline.is_json or leaves[-1].unit == "row")
    spoken_of = _spoken_of(taken, scores.stated) if is_listed else frozenset[int]()
    return [
        offer(
            number,
            stretch,
            score
            * shares(number)
            * loop_factor(ahead, leaves[number].start, leaves[number].end)
            * (SPOKEN_OF if number in spoken_of else 1.0)
            * (1 + ANSWERING * answers.get(number, 0.0))
            * (IDENTITY if number in listed else 1.0)
            * (OUTLIER if number in differing else ASIDE if number in asides else 1.0)
            * (NAMED_HEAD if number in below else _named_factor(named, stretch)),
        )
        for number, stretch in taken
    ]


def _spoken_of(parts: Sequence[tuple[int, str]], stated: frozenset[str]) -> frozenset[int]:
    """The parts that state what was said or done last. None if many do: that tells nothing."""
    if len(parts) < LEAST_PARTS:
        return frozenset()
    found = frozenset(number for number, text in parts if stated.intersection(values(text)))
    return found if len(found) <= max(FEW, len(parts) * FEW_SHARE) else frozenset()


def _named_factor(named: frozenset[str], text: str) -> float:
    return NAMED_VALUE if named and named.intersection(values(text)) else 1.0


def _answers(parts: Sequence[tuple[int, str]], terms: frozenset[str]) -> dict[int, float]:
    """How well each part of an item covers the query's terms, relative to the best part; terms in
    few of the parts count more."""
    if not terms:
        return {}
    held = {number: terms.intersection(words(text)) for number, text in parts}
    counts = Counter(term for found in held.values() for term in found)
    gains = {term: log(1 + len(parts) / count) for term, count in counts.items()}
    # In whatever order a set gives its terms, the exact sum is the same.
    said = {number: fsum(map(gains.__getitem__, found)) for number, found in held.items()}
    best = max(said.values(), default=0.0)
    return {number: value / best for number, value in said.items() if value} if best else {}


def _fitting(leaves: Sequence[Part], numbers: Collection[int], room: float) -> frozenset[int]:
    """The first of these leaves, as many as fit."""
    found: list[int] = []
    for number in sorted(numbers):
        room -= leaves[number].size
        if room < 0:
            break
        found.append(number)
    return frozenset(found)


def _telling(
    outline: Outline, passages: Mapping[int, float], listed: Collection[int], room: float
) -> list[tuple[int, Part]]:
    """The numbered parts of a text far larger than the budget that could be shown: those that say
    which things it lists, those of the passages that answer, their neighbours, and the first."""
    near = {at + by for at in passages for by in (-1, 0, 1)}
    parts = outline.leaves
    bounds = (*outline.passages, len(parts))
    wanted = {
        number
        for at in near
        if 0 <= at < len(outline.passages)
        for number in range(bounds[at], bounds[at + 1])
    }
    first = range(min(bisect_right(outline.sizes, room), len(parts)))
    return [(at, parts[at]) for at in sorted(wanted.union(first, listed))]


def _lists(row: ItemRow, outline: Outline) -> bool:
    """Whether a document lists what there is, as results do. One in lines is read for its text: the
    first lines of its lists before others would cost tau2_banking .03."""
    return row.kind is ItemKind.DOC_SNIPPET and outline.is_json


def _identities(row: ItemRow, outline: Outline) -> frozenset[int]:
    """The leaves that say which things an item lists; an id alone says it to programs only."""
    if not outline.is_json:
        return outline.identities
    text, leaves = row.readable, outline.leaves
    stretches = ((at, text[leaves[at].start : leaves[at].end]) for at in outline.identities)
    return frozenset(at for at, stretch in stretches if not is_bare_id(stretch))


def _offer(
    group: Group,
    sequence: int,
    density: float,
    objective: Objective,
    asked: Collection[str],
    part: int,
    text: str,
    score: float,
) -> Offer:
    found = value_weights(text, frozenset(asked)) if objective.values else {}
    if says_nothing(text) or only_closes(text):
        score *= NOTHING_SAID
    return Offer(group, sequence, part, len(text) * density + 1, score, found, objective.values)


def _shares(
    row: ItemRow, outline: Outline, passages: Mapping[int, float]
) -> Callable[[int], float]:
    """A part's share of its item's score: the most for the best passage. In a message that is only
    a neighbour of a match, the first part counts most."""
    best = max(passages.values(), default=0.0)
    floor = min(1.0, max(PASSAGE_FLOOR, COHERENT / max(row.whole_tokens, 1)))
    rest = floor if row.kind in MESSAGES else 1.0 - FIRST_PART

    def share(number: int) -> float:
        passage = bisect_right(outline.passages, number) - 1
        first = FIRST_PART if number == 0 else 0.0
        if not best:
            return 1.0 if number == 0 else rest
        found = passages.get(passage, 0.0) / best
        beside = max(passages.get(passage - 1, 0.0), passages.get(passage + 1, 0.0)) / best
        return floor + (1 - floor) * max(found, 0.5 * beside, first)

    return share


def _greedy(
    offers: Sequence[Offer],
    shapes: Mapping[int, Shape],
    objective: Objective,
    statement_counts: Mapping[str, int],
    limit: float,
    opened: set[int],
) -> list[Addition]:
    """By score and new values per token. Changes `opened`."""
    coverage = Coverage(statement_counts)
    used: dict[int, float] = {}
    enough = limit / OVERSHOOT * ENOUGH_OF_ONE

    def rate(offer: Offer) -> float:
        cost = offer.cost + (0.0 if offer.group.key in opened else OPENING)
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
        cost = offer.cost + (0.0 if is_open else opening(offer.group, shapes))
        opened.add(offer.group.key)
        if shapes[offer.sequence].row.kind is ItemKind.TOOL_RESULT:
            used[offer.sequence] = used.get(offer.sequence, 0.0) + offer.cost
        spent += cost if cost <= limit / OVERSHOOT else 0.0  # what is too large leaves its room
        additions.append(Addition(offer.group, offer.sequence, offer.part, cost))
        coverage.add(offer.values)
    return additions


def opening(group: Group, shapes: Mapping[int, Shape]) -> float:
    """Tokens that a group costs besides the part that opens it."""
    if not group.is_exchange:
        return GROUP + (MARKS if group.rows[0].parts is not None else 0.0)
    required = sum(
        len(shapes[row.sequence].choose(()).text) * density_of(row) for row in group.rows
    )
    return CALL + required


def density_of(row: ItemRow) -> float:
    """Tokens per character."""
    size, tokens = row.size_of_whole, row.whole_tokens
    return tokens / size if size and tokens > 0 else DENSITY
