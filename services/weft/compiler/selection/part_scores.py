"""How much each part of an item counts: by what ranking found, and by what the part says."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from math import fsum, log
from typing import NamedTuple

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    ANSWERING_BONUS,
    BOILERPLATE_FACTOR,
    COHERENT,
    FEW,
    FEW_SHARE,
    FIRST_PART,
    FOCUS_BONUS,
    IDENTITY_FACTOR,
    LEFT_ASIDE_FACTOR,
    LINES_ABOVE,
    MIN_PARTS,
    NAMED_HEAD_FACTOR,
    NAMED_VALUE_FACTOR,
    NEAR_WORK,
    NEAR_WORK_SHARE,
    OFFERED_BUDGETS,
    OLDER_WORK_FACTOR,
    OUTLIER_FACTOR,
    PASSAGE_FLOOR,
    POINTED_AT_FACTOR,
    SPOKEN_OF_FACTOR,
    WORKED_ON_FACTOR,
)
from weft.compiler.ranking.focus import is_specific
from weft.compiler.ranking.listed_records import named_records, passed_over
from weft.compiler.ranking.loops import Stretch, loop_factor
from weft.compiler.ranking.named_parts import MAX_HEADS, places_of, under_named_heads
from weft.compiler.ranking.places import parts_at, parts_with
from weft.compiler.ranking.relevance import MESSAGES
from weft.compiler.ranking.values import values
from weft.compiler.renditions.item_renditions import ItemRenditions, density_of
from weft.passages.json_identifiers import are_nameless
from weft.passages.part import Outline, Part
from weft.readmodel.rows import ItemRow
from weft.terms import words
from weft_schemas.items import ItemKind


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
    """Values in results that the newest user turns name."""
    stated: frozenset[str] = frozenset()
    """Names and values in what was said and done last."""
    called: Mapping[int, frozenset[str]] = {}
    """By sequence of a result, the specific values of all later calls."""
    after: Mapping[int, frozenset[str]] = {}
    """By sequence of a result, the values in what was said and done next."""
    pointed: Mapping[int, frozenset[int]] = {}
    """By sequence of a result that views a file, the lines at which the newest failures point."""
    quoted: Mapping[int, frozenset[int]] = {}
    """The same, where lines begin that these failures quote, in a view without numbers."""
    links: Mapping[int, frozenset[int]] = {}
    """By sequence of a result, the parts of the rows that link what the user named with what came
    last."""
    worked_on: Mapping[int, Mapping[int, int]] = {}
    """By sequence of a result, where the lines begin at which the agent works, each with the number
    of newer ones."""
    written: Mapping[int, Sequence[int]] = {}
    """By sequence of a call, the parts that it wrote into a file; the first are needed most."""
    above: Mapping[int, frozenset[int]] = {}
    """By sequence of such a result, the lines before those at which the very newest call failed."""


class ScoredPart(NamedTuple):
    """A part that may be shown."""

    number: int
    text: str
    score: float


def scored_parts(
    group: Group,
    item_renditions: ItemRenditions,
    scores: Scores,
    budget: int,
    held: Collection[int] = (),
) -> list[ScoredPart]:
    """The parts of an item of `group` that may be shown besides those that are `held`: all, or of a
    text much larger than the budget those that tell most."""
    row, outline = item_renditions.row, item_renditions.row.parts
    score = scores.groups[group.key] * (1 + FOCUS_BONUS * scores.focus.get(row.sequence, 0.0))
    ahead = scores.ahead.get(row.sequence, ())
    if item_renditions.fixed is not None:
        return [ScoredPart(0, item_renditions.fixed.text, score)]
    if outline is None or item_renditions.redacted:
        score *= loop_factor(ahead, 0, len(row.whole))
        return [ScoredPart(0, row.text if item_renditions.redacted else row.whole, score)]
    share = _shares(row, outline, scores.passages.get(row.sequence, {}))
    salient = _salient(row, outline, scores, budget)
    parts, salient = _offered(row, outline, scores, salient, share, budget, held)
    factor = _factor(row, outline, scores, salient, parts)
    return [
        ScoredPart(
            number,
            text,
            factor(
                number,
                text,
                score
                * share(number)
                * loop_factor(ahead, outline.leaves[number].start, outline.leaves[number].end),
            ),
        )
        for number, text in parts
    ]


class _Salient(msgspec.Struct, frozen=True):
    """What makes some parts of an item stand out."""

    identifying: frozenset[int]
    """Parts that say which things it lists."""
    under_named: Mapping[int, int]
    """Parts below a heading that the user named, with how many names it has."""
    named: frozenset[str]
    """Values that the user named and that are no plain words, if the item is a result."""
    pointed: Mapping[int, float]
    """Parts with a line at which the newest failures point, or which they quote, with one above it,
    or at which the agent works, with the factor of each."""


def _salient(row: ItemRow, outline: Outline, scores: Scores, budget: int) -> _Salient:
    is_result = row.kind is ItemKind.TOOL_RESULT
    named = scores.named if is_result else frozenset[str]()
    return _Salient(
        _identifying(row, outline) if is_result or _lists(row, outline) else frozenset[int](),
        under_named_heads(row.readable, outline, named, budget / density_of(row)),
        frozenset(filter(is_specific, named)),
        _pointed(row, outline, scores),
    )


def _pointed(row: ItemRow, outline: Outline, scores: Scores) -> dict[int, float]:
    """Parts with such a line, and with one above it: the nearer, the more these count."""
    lines = scores.pointed.get(row.sequence, frozenset[int]())
    quoted = scores.quoted.get(row.sequence, frozenset[int]())
    above = scores.above.get(row.sequence, frozenset[int]())
    found = parts_at(row.readable, outline.leaves, lines) if lines else lines
    found = found.union(parts_with(outline.leaves, quoted) if quoted else quoted)
    factors: dict[int, float] = {}
    for number in parts_at(row.readable, outline.leaves, above) if above else ():
        steps = min((at - number for at in found if at > number), default=LINES_ABOVE + 1)
        if steps <= LINES_ABOVE:  # elsewhere, the line is another file's
            factors[number] = POINTED_AT_FACTOR * (1 - steps / (2 * LINES_ABOVE + 2))
    factors |= dict.fromkeys(sorted(found), POINTED_AT_FACTOR)
    for number, gain in _worked_on(row, outline, scores):
        factors[number] = max(factors.get(number, 1.0), gain)
    return factors


def _worked_on(row: ItemRow, outline: Outline, scores: Scores) -> Iterator[tuple[int, float]]:
    """Parts at which the agent works, and those near them, with the factor of each."""
    for place, newer in scores.worked_on.get(row.sequence, {}).items():
        factor = WORKED_ON_FACTOR * OLDER_WORK_FACTOR**newer
        near = frozenset((place - NEAR_WORK, place + NEAR_WORK))
        around = dict.fromkeys(parts_with(outline.leaves, near), factor * NEAR_WORK_SHARE)
        yield from (
            around | dict.fromkeys(parts_with(outline.leaves, frozenset((place,))), factor)
        ).items()


def _offered(
    row: ItemRow,
    outline: Outline,
    scores: Scores,
    salient: _Salient,
    share: Callable[[int], float],
    budget: int,
    held: Collection[int],
) -> tuple[list[tuple[int, str]], _Salient]:
    """The parts that could be shown, with their numbers, the most telling first; and what is
    salient, with as many identifying parts as there is room for. Beside parts that are held, one
    that is too large leaves its room to smaller ones; an item opens with those that tell most."""
    text, leaves = row.readable, outline.leaves
    room = OFFERED_BUDGETS * budget / density_of(row)
    parts = list(enumerate(leaves))
    if row.size_of_whole > room:
        identifying = _fitting(leaves, sorted(salient.identifying), room / 2)
        salient = msgspec.structs.replace(salient, identifying=identifying)
        pointed = sorted(salient.pointed, key=lambda at: (-salient.pointed[at], at))
        first = identifying.union(
            _fitting(leaves, pointed, room / 2),
            _fitting(leaves, sorted(salient.under_named), room / 2),
            _fitting(leaves, sorted(outline.outliers), room / 4),
            _fitting(leaves, sorted(_stating(text, outline, salient.named)), room / 4),
        )
        found = scores.passages.get(row.sequence, {})
        shown = sum(leaves[number].size for number in held)
        parts = _nearest(outline, found, first, room + shown)
        asides = outline.asides  # few are shown: others need the room
        parts.sort(key=lambda one: (one[0] not in first, one[0] in asides, -share(one[0]), one[0]))
    taken = []
    for number, part in parts:
        if number in held or (held and part.size > room):
            continue
        room -= part.size
        if room < 0:
            break
        taken.append((number, text[part.start : part.end]))
    return taken, salient


def _factor(
    row: ItemRow,
    outline: Outline,
    scores: Scores,
    salient: _Salient,
    parts: Sequence[tuple[int, str]],
) -> Callable[[int, str, float], float]:
    """A function that weighs a part's score by what the part says."""
    has_passages = bool(scores.passages.get(row.sequence))
    asked_of = scores.terms if has_passages and row.kind not in MESSAGES else frozenset[str]()
    coverage = _term_coverage(parts, asked_of, _terms_above(row.readable, outline, asked_of))
    is_list = outline.is_json or outline.leaves[-1].unit == "row"
    is_listed = row.kind is ItemKind.TOOL_RESULT and is_list
    spoken_of = frozenset[int]()
    if is_listed:
        after = scores.after.get(row.sequence, frozenset())
        spoken_of = frozenset[int]().union(
            _spoken_of(parts, scores.stated),
            _spoken_of(parts, after),
            named_records(parts, outline.record_of, scores.stated),
        )
    left_aside = _left_aside(row, outline, scores, parts)
    outliers, asides = outline.outliers, outline.asides

    def weighed(number: int, text: str, score: float) -> float:
        return (
            score
            * (SPOKEN_OF_FACTOR if number in spoken_of else 1.0)
            * (LEFT_ASIDE_FACTOR if number in left_aside else 1.0)
            * salient.pointed.get(number, 1.0)
            * (1 + ANSWERING_BONUS * coverage.get(number, 0.0))
            * (IDENTITY_FACTOR if number in salient.identifying else 1.0)
            * (
                OUTLIER_FACTOR
                if number in outliers
                else BOILERPLATE_FACTOR
                if number in asides
                else 1.0
            )
            * (
                NAMED_HEAD_FACTOR * salient.under_named[number]
                if number in salient.under_named
                else _named_factor(salient.named, text)
            )
        )

    return weighed


def _left_aside(
    row: ItemRow, outline: Outline, scores: Scores, parts: Sequence[tuple[int, str]]
) -> frozenset[int]:
    """The parts of records that later calls left aside, if no loop goes through the item."""
    called = scores.called.get(row.sequence)
    if not called or scores.ahead.get(row.sequence):
        return frozenset()
    return passed_over(parts, outline.record_of, called)


def _spoken_of(parts: Sequence[tuple[int, str]], stated: frozenset[str]) -> frozenset[int]:
    """The parts that state what was said or done last. None if many do: that tells nothing."""
    if len(parts) < MIN_PARTS:
        return frozenset()
    found = frozenset(number for number, text in parts if stated.intersection(values(text)))
    return found if len(found) <= max(FEW, len(parts) * FEW_SHARE) else frozenset()


def _named_factor(named: frozenset[str], text: str) -> float:
    return NAMED_VALUE_FACTOR if named and named.intersection(values(text)) else 1.0


def _stating(text: str, outline: Outline, named: Collection[str]) -> frozenset[int]:
    """The leaves that state a value which the user named, if few do: of passages that answer alike,
    it may be in the last part."""
    starts = [leaf.start for leaf in outline.leaves]
    found = [list(islice(places_of(value, text), MAX_HEADS + 1)) for value in named]
    few = (places for places in found if len(places) <= MAX_HEADS)
    return frozenset(max(bisect_right(starts, at) - 1, 0) for places in few for at in places)


def _term_coverage(
    parts: Sequence[tuple[int, str]],
    terms: frozenset[str],
    above: Callable[[int], frozenset[str]] = lambda _: frozenset(),
) -> dict[int, float]:
    """How well each part of an item, with the terms `above` it, covers the query's terms, relative
    to the best part; terms in few of the parts count more."""
    if not terms:
        return {}
    covered = {number: terms.intersection(words(text)) | above(number) for number, text in parts}
    counts = Counter(term for found in covered.values() for term in found)
    gains = {term: log(1 + len(parts) / count) for term, count in counts.items()}
    # In whatever order a set gives its terms, the exact sum is the same.
    totals = {number: fsum(map(gains.__getitem__, found)) for number, found in covered.items()}
    best = max(totals.values(), default=0.0)
    return {number: value / best for number, value in totals.items() if value} if best else {}


def _terms_above(
    text: str, outline: Outline, terms: frozenset[str]
) -> Callable[[int], frozenset[str]]:
    """A function that gives the terms in what identifies the blocks around a leaf, if the first
    line alone says too little: it is shown with the leaf. With those of every block and record,
    they crowd out what answers (.02 of the facts of made sessions in answers of 2,000 tokens)."""
    held: dict[int, frozenset[str]] = {}

    def said(part: Part) -> frozenset[str]:
        if id(part) not in held:
            heads = [part.children[at] for at in outline.families[id(part)].identifying]
            is_told = part.unit == "block" and sum(head.count for head in heads) > 1
            lines = [text[head.start : head.end] for head in heads if is_told]
            held[id(part)] = terms.intersection(words("".join(lines)))
        return held[id(part)]

    def above(number: int) -> frozenset[str]:
        part, found = outline.root, frozenset[str]()
        while (family := outline.families.get(id(part))) is not None:
            found |= said(part)
            part = part.children[family.child_of(number)]
        return found

    return above


def _fitting(leaves: Sequence[Part], numbers: Sequence[int], room: float) -> frozenset[int]:
    """The first of these leaves, as many as fit."""
    found: list[int] = []
    for number in numbers:
        room -= leaves[number].size
        if room < 0:
            break
        found.append(number)
    return frozenset(found)


def _nearest(
    outline: Outline, passages: Mapping[int, float], salient: Collection[int], room: float
) -> list[tuple[int, Part]]:
    """The numbered parts of a text far larger than the budget that could be shown: the salient
    ones, those of the passages that ranking found, their neighbours, and the first."""
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
    return [(at, parts[at]) for at in sorted(wanted.union(first, salient))]


def _lists(row: ItemRow, outline: Outline) -> bool:
    """Whether a document is a list, as results are. A document in lines is read for its text: to
    prefer the first lines of its lists would cost tau2_banking .03."""
    return row.kind is ItemKind.DOC_SNIPPET and outline.is_json


def _identifying(row: ItemRow, outline: Outline) -> frozenset[int]:
    """The leaves that say which things an item lists; an id alone says it to programs only."""
    if not outline.is_json:
        return outline.identities
    text, leaves = row.readable, outline.leaves
    identities = sorted(outline.identities)
    nameless = are_nameless([text[leaves[at].start : leaves[at].end] for at in identities])
    return frozenset(
        at for at, is_nameless in zip(identities, nameless, strict=True) if not is_nameless
    )


def _shares(
    row: ItemRow, outline: Outline, passages: Mapping[int, float]
) -> Callable[[int], float]:
    """A part's share of its item's score: the most for the best passage. In a message that is only
    a neighbour of a match, the first part counts most."""
    best = max(passages.values(), default=0.0)
    floor = min(1.0, max(PASSAGE_FLOOR, COHERENT / max(row.whole_tokens, 1)))
    rest = floor if row.kind in MESSAGES else 1.0 - FIRST_PART

    outliers = outline.outliers if row.kind is ItemKind.TOOL_RESULT else frozenset[int]()

    def share(number: int) -> float:
        if number in outliers:
            return 1.0
        passage = bisect_right(outline.passages, number) - 1
        first = FIRST_PART if number == 0 else 0.0
        if not best:
            return 1.0 if number == 0 else rest
        found = passages.get(passage, 0.0) / best
        beside = max(passages.get(passage - 1, 0.0), passages.get(passage + 1, 0.0)) / best
        return floor + (1 - floor) * max(found, 0.5 * beside, first)

    return share
