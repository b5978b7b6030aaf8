"""A long result within a limit of tokens: what its envelope says of all of it, and as many of its
parts as fit, the gaps marked: those that the call asked about, its beginning and its end."""

from __future__ import annotations

from itertools import accumulate, takewhile

import msgspec

from weft import tokens
from weft.bm25 import scores
from weft.compiler.renditions.assembling import assembled
from weft.compiler.renditions.rendition import OF_PARTS, OF_WHOLE
from weft.passages.part import Outline, leaves, passage_texts
from weft.passages.splitting import outline_of, readable
from weft.terms import SomeTerms, analyse

MOST_OUTLINED = 2_000_000
"""Characters of a text that is taken apart: about half a second."""
_SHARE = 3
"""Times that a limit must be as long as the summary, else the parts stand alone."""
_MARK = 12
"""Tokens of the mark at a cut."""
_TRIES = 6
_END = 8
"""An eighth of the room, or one part, is the beginning, and as much the end, whatever the call
seems to ask: a word of a path or a number matches by chance."""
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
    """At most `limit` tokens that stand for the clean `text`. `query` is what the call asked for;
    it only ranks. `per_token` is about how many characters of the text a token has."""
    outline = outline_of(text, content_type) if len(text) <= MOST_OUTLINED else None
    if outline is None:
        return _beginning(summary or text, limit, encoding)
    told = readable(text, outline)
    head = f"{OF_WHOLE}\n{summary}\n{OF_PARTS}\n" if summary else ""
    if tokens.count(head, encoding) * _SHARE > limit:
        head = ""
    left = limit - tokens.count(head, encoding)
    allowed = int(left * per_token)
    units = _units(told, outline, allowed)
    order = _by_worth(units, query, allowed)
    for _ in range(_TRIES):
        chosen = _taken(units, order, allowed)
        if not chosen:
            break
        shown = assembled(told, outline, chosen)
        count = tokens.count(shown, encoding)
        if count <= left:
            return head + shown
        allowed = int(allowed * min(0.9, left / count))
    return _beginning(summary or text, limit, encoding)


class _Unit(msgspec.Struct, frozen=True):
    """What is shown or left out as one."""

    leaves: range
    size: int
    """Characters."""
    told: str
    """What it is found by."""


def _units(text: str, outline: Outline, allowed: int) -> list[_Unit]:
    """Passages; single leaves where only a few passages would fit."""
    parts = list(leaves(outline.root))
    starts = [*outline.passages, len(parts)]
    if allowed >= _FEW * len(text) / len(outline.passages):
        found = passage_texts(text, outline)
        return [
            _Unit(range(first, end), sum(part.size for part in parts[first:end]), told)
            for first, end, told in zip(starts, starts[1:], found, strict=False)
        ]
    return [
        _Unit(range(number, number + 1), part.size, text[part.start : part.end])
        for number, part in enumerate(parts)
    ]


def _beginning(text: str, limit: int, encoding: str) -> str:
    """What fits of a text that cannot be taken apart, and how much is missing."""
    kept = tokens.truncate(text, limit, encoding)
    if len(kept) == len(text):
        return text
    kept = tokens.truncate(text, max(0, limit - _MARK), encoding)
    return f"{kept} … {len(text) - len(kept):,} characters …"


def _by_worth(units: list[_Unit], query: str, allowed: int) -> list[int]:
    """Units, the most wanted first: the best match, the beginning, the end, the other matches."""
    wanted = dict.fromkeys(analyse(query), 1.0)
    some = SomeTerms(wanted)
    found = scores([some.counts(unit.told) for unit in units], wanted)
    places = range(len(units))
    matching = sorted(places, key=lambda place: (-found[place], place))
    beginning = _leading(units, places, allowed // _END)
    end = _leading(units, places[::-1], allowed // _END)
    return list(dict.fromkeys([*matching[:1], *beginning, *end, *matching]))


def _leading(units: list[_Unit], places: range, allowed: int) -> list[int]:
    """The first of `places`, and those after it that are within `allowed` characters with it."""
    sizes = accumulate(units[place].size for place in places)
    within = sum(1 for _ in takewhile(lambda size: size <= allowed, sizes))
    return list(places[: max(1, within)])


def _taken(units: list[_Unit], order: list[int], allowed: int) -> set[int]:
    """Leaves of the units that fit, the most wanted first; one that does not fit holds no smaller
    one up."""
    chosen: set[int] = set()
    for place in order:
        if units[place].size <= allowed:
            allowed -= units[place].size
            chosen.update(units[place].leaves)
    return chosen
