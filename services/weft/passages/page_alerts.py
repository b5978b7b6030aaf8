"""What a page tells in answer to the last action: its alerts, and the fields whose values it
refuses. Of a page that does not fit, these come first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from weft.passages.landmarks import BEFORE, is_tree
from weft.passages.part import Part

_ALERT = re.compile(rf"{BEFORE}alert(?:dialog)?\b(?=[ :\t]|$)")
_INVALID = re.compile(r"\[invalid(?:=true)?\]|\binvalid=\"?true")
"""A field with such a value, as tools for browsers write it."""
MAX_ALERTS, MAX_LENGTH = 6, 400
"""Alerts of a page, and characters of one; a page with more lists them."""


def with_alerts(text: str, parts: Sequence[Part]) -> list[Part]:
    """The same parts; alerts are parts of their own that stand out. Linear in `text`."""
    if ("alert" not in text and "invalid" not in text) or not is_tree(text):
        return list(parts)
    alerts = list(_alerts(text))
    if not 0 < len(alerts) <= MAX_ALERTS:
        return list(parts)
    return [one for part in parts for one in _divided(text, part, alerts)]


def _alerts(text: str) -> Iterator[tuple[int, int]]:
    """Where alerts that say something begin and end: lines with those below them that are indented
    further."""
    at, start, level = 0, -1, 0
    for line in (*text.splitlines(keepends=True), ""):
        bare = line.lstrip()
        indent = len(line) - len(bare)
        if start >= 0 and (not bare or indent <= level or at + len(line) - start > MAX_LENGTH):
            if any(sign in text[start:at] for sign in "\"'") or "\n" in text[start:at].rstrip():
                yield start, at
            start = -1
        if start < 0 and (_ALERT.match(line) or _INVALID.search(line)):
            start, level = at, indent
        at += len(line)


def _divided(text: str, part: Part, alerts: Sequence[tuple[int, int]]) -> Iterator[Part]:
    """A part, or the pieces of a leaf in which alerts stand."""
    inside = [one for one in alerts if part.start <= one[0] < part.end]
    if not inside:
        yield part
    elif part.children:
        children = tuple(one for child in part.children for one in _divided(text, child, alerts))
        yield msgspec.structs.replace(part, children=children)
    elif part.unit != "line":
        yield part
    else:
        bounds = {part.start, part.end, *(min(at, part.end) for one in inside for at in one)}
        for start, end in pairwise(sorted(bounds)):
            count = len(text[start:end].splitlines())
            is_alert = any(first <= start < last for first, last in inside)
            yield Part(start, end, "line", count, is_outlier=is_alert, is_aside=part.is_aside)
