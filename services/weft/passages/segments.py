"""Splits a long line without sentences at the sign that ends its segments: an EDI message, a log
that was written in one line."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from weft.passages.part import Part

MIN_SIGNS = 8
"""Fewer signs end no segments."""
MIN_LENGTH, MAX_LENGTH = 10, 160
"""Characters of a segment, in the mean."""
RECORD, LEAF = 320, 160
"""Most characters of a record that is not split, and of small ones in a leaf."""
_SIGNS = "\r~'|;"
_TAG = re.compile(r"\W{0,8}(\w{1,16})")
_CODE = re.compile(r"[A-Z0-9]{1,16}")
_TAGGED, _KINDS = 0.9, 0.25
"""Least share of the segments that begin with a word, and the largest share of different words
among these."""


_OFTEN = 0.9
"""As often as this share of the most frequent tag."""


class _Segment(NamedTuple):
    start: int
    end: int
    """Behind the sign that ends it and blanks."""
    tag: str
    """The word that it begins with."""


def segments(text: str, start: int, end: int) -> list[Part]:
    """The records between two positions, each from a segment of the kind that begins most of them;
    none if the text is not in segments."""
    found = _segments(text, start, end)
    if not found:
        return []
    records = groupby(_numbered(found, _first_tag(found)), key=lambda one: one[0])
    return list(_parts([[segment for _, segment in record] for _, record in records]))


def _segments(text: str, start: int, end: int) -> list[_Segment]:
    """By the sign that parts the longest ones, if these begin with few different words."""
    means = {sign: (end - start) / (text.count(sign, start, end) or 1) for sign in _SIGNS}
    signs = [
        sign
        for sign in _SIGNS
        if MIN_LENGTH <= means[sign] <= MAX_LENGTH and (end - start) / means[sign] >= MIN_SIGNS
    ]
    for sign in sorted(signs, key=means.__getitem__, reverse=True):
        found = list(_ended_by(sign, text, start, end))
        # An apostrophe stands in words, too.
        tagged = [one for one in found if one.tag and (sign != "'" or _CODE.fullmatch(one.tag))]
        kinds = len({one.tag for one in tagged})
        if len(tagged) >= _TAGGED * len(found) and kinds <= _KINDS * len(found):
            return found
    return []


def _ended_by(sign: str, text: str, start: int, end: int) -> Iterator[_Segment]:
    ends = re.compile(rf"{re.escape(sign)}\s{{0,8}}")
    for found in ends.finditer(text, start, end):
        yield _Segment(start, found.end(), _tag(text, start, found.start()))
        start = found.end()
    if start < end:
        yield _Segment(start, end, _tag(text, start, end))


def _tag(text: str, start: int, end: int) -> str:
    found = _TAG.match(text, start, end)
    return found[1] if found is not None else ""


def _first_tag(found: Sequence[_Segment]) -> str:
    """The tag with which records begin: of those that come about as often as any, not counting
    repetitions, the one that begins the first of the last so many records. What stands before them
    may have some of these tags, too."""
    runs = defaultdict[str, list[int]](list)
    for at, one in enumerate(found):
        if not at or found[at - 1].tag != one.tag:
            runs[one.tag].append(at)
    most = max(map(len, runs.values()))
    if most == 1:
        return Counter(one.tag for one in found).most_common(1)[0][0]
    often = {tag: places for tag, places in runs.items() if len(places) >= _OFTEN * most}
    fewest = min(map(len, often.values()))
    return min(often, key=lambda tag: often[tag][-fewest])


def _numbered(found: Sequence[_Segment], first: str) -> Iterator[tuple[int, _Segment]]:
    """Each segment with the number of its record."""
    number = 0
    for one in found:
        number += one.tag == first
        yield number, one


def _parts(records: Sequence[Sequence[_Segment]]) -> Iterator[Part]:
    """Short records share a leaf; of a long one, the first segment is shown with any other."""
    start, count = records[0][0].start, 0
    for at, record in enumerate(records):
        begin, end = record[0].start, record[-1].end
        if end - begin > RECORD and len(record) > 1:
            if count:
                yield Part(start, begin, "piece", count)
            yield _record(record)
            start, count = end, 0
            continue
        following = records[at + 1][-1].end if at + 1 < len(records) else 0
        count += len(record)
        if not following or following - start > LEAF:
            yield Part(start, end, "piece", count)
            start, count = end, 0


def _record(record: Sequence[_Segment]) -> Part:
    head, *below = record
    children = [Part(head.start, head.end, "piece", identifies=True)]
    start, count = head.end, 0
    for at, one in enumerate(below):
        count += 1
        if at + 1 == len(below) or below[at + 1].end - start > LEAF:
            children.append(Part(start, one.end, "piece", count))
            start, count = one.end, 0
    return Part(head.start, record[-1].end, "block", children=tuple(children))
