"""Splits a long line into its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from weft.passages.part import Part
from weft.passages.segments import segments

MIN_LEAF_LENGTH, MAX_LEAF_LENGTH = 160, 640
"""Characters of a leaf: smaller neighbours are joined up to the first number, larger leaves are
split above the second."""
_ESCAPE = 6
"""Characters of an escape, at most."""
_SENTENCE = re.compile(r"[.!?;\u3002\uff01\uff1f][\"')\]]*\s+(?=\S)")


def sentences(text: str, start: int, end: int) -> Iterator[Part]:
    """Runs of sentences between two positions, or of segments if a long text is in these."""
    found = segments(text, start, end) if end - start > 2 * MAX_LEAF_LENGTH else []
    if not found:
        return sentence_runs(text, start, end, sentence_ends(text, start, end))
    return (one for part in found for one in _shortened(text, part))


def _shortened(text: str, part: Part) -> Iterator[Part]:
    """The part, split so that no leaf is far too long, not even the first segment of a record."""
    if part.children:
        children = tuple(one for child in part.children for one in _shortened(text, child))
        yield msgspec.structs.replace(part, children=children)
    elif part.size > 2 * MAX_LEAF_LENGTH:
        yield from _pieces(text, part.start, part.end, part.count)
    else:
        yield part


def sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Where the sentences between two positions end, without the last. One may have begun before
    them, so that only its blanks are between."""
    return [found.end() for found in _SENTENCE.finditer(text, max(start - 1, 0), end)]


def sentence_runs(text: str, start: int, end: int, ends: Sequence[int]) -> Iterator[Part]:
    """Runs of the sentences that end at `ends`, and of what stands behind the last of them."""
    last, count = end, 0
    for at, one in enumerate(ends):
        following = ends[at + 1] if at + 1 < len(ends) else last
        count += 1
        if following - start > MAX_LEAF_LENGTH // 2 and last - one >= MIN_LEAF_LENGTH:
            yield from _pieces(text, start, one, count)
            start, count = one, 0
    yield from _pieces(text, start, last, count + 1)


def _pieces(text: str, start: int, end: int, count: int) -> Iterator[Part]:
    """Text without sentence ends, cut at blanks or other signs between words if it is far too
    long."""
    while end - start > 2 * MAX_LEAF_LENGTH:
        cut = text.rfind(" ", start + 1, start + MAX_LEAF_LENGTH) + 1
        cut = cut if cut > 0 else _behind_sign(text, start, start + MAX_LEAF_LENGTH)
        yield Part(start, cut, "piece")
        start = cut
    if start < end:
        yield Part(start, end, "sentence", count)


def _behind_sign(text: str, start: int, most: int) -> int:
    """A cut behind a sign that parts values, or as far as it may be."""
    least = (start + most) // 2
    found = (text.rfind(sign, least, most) + 1 for sign in _BETWEEN)
    return next((cut for cut in found if cut), 0) or _before_escape(text, start, most)


_BETWEEN = "\r\t;|~&,"


def _before_escape(text: str, start: int, cut: int) -> int:
    """A cut that divides no `\\u0000` or the like: before its backslashes, if any stand there."""
    at = text.rfind("\\", max(cut - _ESCAPE, start), cut)
    while at > start and text[at - 1] == "\\":
        at -= 1
    return at if at > start else cut
