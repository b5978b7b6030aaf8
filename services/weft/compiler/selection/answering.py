"""The few short texts that say most about what was said last. A large list that grows by another
record must not keep them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import nlargest
from typing import NamedTuple

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    ANSWERING_MATCHES,
    ANSWERING_SHARE,
    ANSWERING_TOKENS,
    MIN_ANSWERING_TERMS,
    RARE_TERM,
    WITHOUT_ANSWERING,
)
from weft.compiler.ranking.question import understand
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.item_renditions import density_of
from weft.compiler.renditions.rendition import is_stub
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.dialogue import turns
from weft.readmodel.rows import ItemRow
from weft.terms import words
from weft_schemas.items import ItemKind


class _Text(NamedTuple):
    """A short result, or a part of a longer one."""

    group: Group
    row: ItemRow
    parts: frozenset[int]
    """Empty for the whole item."""
    terms: frozenset[str]
    """Those of the question that it states."""


def with_answering(choice: Choice, shown: Shown) -> Shown:
    """With those of the best matches among the results that are short and state several terms of
    the user's latest turn, or of what it answers, which few of the matches state: those with the
    most first. Not for a query, which may be about anything said before."""
    latest = None if choice.has_query else next(turns(choice.groups), None)
    if latest is None:
        return shown
    said = (one.rows[0].whole for one in (latest[0], *latest[1]))
    asked = frozenset(term for text in said for term in understand(text).terms)
    limit = min(
        choice.budget,
        choice.cost.exact(shown) + int(max(choice.budget - WITHOUT_ANSWERING, 0) * ANSWERING_SHARE),
    )
    # A short item matches once for each of its passages.
    texts = list({(one.row.sequence, one.parts): one for one in _texts(choice, asked)}.values())
    counts = Counter(term for one in texts for term in one.terms)
    rare = frozenset(term for term, count in counts.items() if count <= RARE_TERM)

    def stated(one: _Text) -> int:
        return len(one.terms & rare)

    least = max(MIN_ANSWERING_TERMS, max(map(stated, texts), default=0) / 2)
    found = [one for one in texts if stated(one) >= least]
    found.sort(key=lambda one: (-stated(one), -one.row.sequence, min(one.parts, default=0)))
    for one in found:
        more = _with(choice, shown, one)
        if more is not shown and choice.cost.fits(more, limit):
            shown = more
    return shown


def _texts(choice: Choice, asked: frozenset[str]) -> Iterator[_Text]:
    """The short texts in the passages that match best."""
    places = {row.sequence: (group, row) for group in choice.groups for row in group.rows[1:]}
    matches = nlargest(
        ANSWERING_MATCHES,
        (
            (score, sequence, -passage)
            for sequence, found in choice.scores.passages.items()
            if sequence in places and choice.renditions[sequence].fixed is None
            for passage, score in found.items()
        ),
    )
    for _, sequence, passage in matches:
        group, row = places[sequence]
        if choice.renditions[sequence].redacted or row.kind is not ItemKind.TOOL_RESULT:
            continue
        most = ANSWERING_TOKENS / density_of(row)
        if row.size_of_whole <= most:
            yield _Text(group, row, frozenset(), asked.intersection(words(row.readable)))
        elif row.parts is not None and not row.parts.is_json:
            for number in _leaves(row, -passage):
                leaf = row.parts.leaves[number]
                if leaf.size <= most:
                    text = row.readable[leaf.start : leaf.end]
                    yield _Text(group, row, frozenset({number}), asked.intersection(words(text)))


def _leaves(row: ItemRow, passage: int) -> range:
    """The leaves of a passage."""
    assert row.parts is not None
    starts = row.parts.passages
    return range(starts[passage], (*starts, len(row.parts.leaves))[passage + 1])


def _with(choice: Choice, shown: Shown, one: _Text) -> Shown:
    """With this text beside what is shown of its item; `shown` itself if
    something of it is there already."""
    before, renditions = shown.get(one.row.sequence), choice.renditions[one.row.sequence]
    if before is not None and not is_stub(before):
        return shown
    made = renditions.choose(one.parts) if one.parts else renditions.whole()
    least = {row.sequence: choice.renditions[row.sequence].choose(()) for row in one.group.rows}
    return {**least, **shown, one.row.sequence: made}
