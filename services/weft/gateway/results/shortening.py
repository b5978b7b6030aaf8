"""Shortens a long result to a limit of tokens: its envelope's summary, and as many of its parts as
fit, with the gaps marked: those that match the call, its beginning and its end."""

from __future__ import annotations

from itertools import accumulate, takewhile

import msgspec

from weft import tokens
from weft.bm25 import scores
from weft.compiler.renditions.assembling import assembled_text
from weft.compiler.renditions.rendition import PARTS_HEADING, WHOLE_HEADING
from weft.passages.part import Outline, leaves, passage_texts
from weft.passages.splitting import outline_of, readable
from weft.terms import SomeTerms, analyse

MAX_OUTLINED = 2_000_000
"""Characters of a text that is split; splitting them takes about half a second."""
_SHARE = 3
"""The summary is shown if the limit is at least this many times as long; otherwise only parts
are."""
_MARK = 12
"""Tokens of the mark at a cut."""
_TRIES = 6
_END = 8
"""The beginning and the end each get the room divided by this, at least one part, whatever the call
seems to ask: a word of a path, or a number, may match by chance."""
_FEW = 4


def shortened(
    text: str,
    summary: str,
    query: str,
    limit: int,
    encoding: str,
    content_type: str = "",
    per_token: float = 4.0,
) -> str:
    """At most `limit` tokens for the clean `text`. `query` is what the call asked for; it affects
    only the ranking. `per_token` is the text's characters per token, about."""
    outline = outline_of(text, content_type) if len(text) <= MAX_OUTLINED else None
    if outline is None:
        return _beginning(summary or text, limit, encoding)
    readable_text = readable(text, outline)
    head = f"{WHOLE_HEADING}\n{summary}\n{PARTS_HEADING}\n" if summary else ""
    if tokens.count(head, encoding) * _SHARE > limit:
        head = ""
    left = limit - tokens.count(head, encoding)
    allowed = int(left * per_token)
    units = _units(readable_text, outline, allowed)
    order = _by_worth(units, query, allowed)
    for _ in range(_TRIES):
        chosen = _fitting_leaves(units, order, allowed)
        if not chosen:
            break
        shown = assembled_text(readable_text, outline, chosen)
        count = tokens.count(shown, encoding)
        if count <= left:
            return head + shown
        allowed = int(allowed * min(0.9, left / count))
    return _beginning(summary or text, limit, encoding)


class _Unit(msgspec.Struct, frozen=True):
    """What is shown or left out together."""

    leaves: range
    size: int
    """Characters."""
    passage: str
    """Its text for the search."""


def _units(text: str, outline: Outline, allowed: int) -> list[_Unit]:
    """Passages, or single leaves if only a few passages would fit."""
    parts = list(leaves(outline.root))
    starts = [*outline.passages, len(parts)]
    if allowed >= _FEW * len(text) / len(outline.passages):
        found = passage_texts(text, outline)
        return [
            _Unit(range(first, end), sum(part.size for part in parts[first:end]), passage)
            for first, end, passage in zip(starts, starts[1:], found, strict=False)
        ]
    return [
        _Unit(range(number, number + 1), part.size, text[part.start : part.end])
        for number, part in enumerate(parts)
    ]


def _beginning(text: str, limit: int, encoding: str) -> str:
    """The beginning of a text that cannot be split, and how much is missing."""
    beginning = tokens.truncate(text, limit, encoding)
    if len(beginning) == len(text):
        return text
    beginning = tokens.truncate(text, max(0, limit - _MARK), encoding)
    return f"{beginning} … {len(text) - len(beginning):,} characters …"


def _by_worth(units: list[_Unit], query: str, allowed: int) -> list[int]:
    """Units, most wanted first: the best match, the beginning, the end, the other matches."""
    wanted = dict.fromkeys(analyse(query), 1.0)
    some = SomeTerms(wanted)
    found = scores([some.counts(unit.passage) for unit in units], wanted)
    places = range(len(units))
    matching = sorted(places, key=lambda place: (-found[place], place))
    beginning = _leading(units, places, allowed // _END)
    end = _leading(units, places[::-1], allowed // _END)
    return list(dict.fromkeys([*matching[:1], *beginning, *end, *matching]))


def _leading(units: list[_Unit], places: range, allowed: int) -> list[int]:
    """The first of `places`, and the following ones up to `allowed` characters in all."""
    sizes = accumulate(units[place].size for place in places)
    within = sum(1 for _ in takewhile(lambda size: size <= allowed, sizes))
    return list(places[: max(1, within)])


def _fitting_leaves(units: list[_Unit], order: list[int], allowed: int) -> set[int]:
    """Leaves of the units that fit, most wanted first. A unit that does not fit is skipped."""
    chosen: set[int] = set()
    for place in order:
        if units[place].size <= allowed:
            allowed -= units[place].size
            chosen.update(units[place].leaves)
    return chosen
