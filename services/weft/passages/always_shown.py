"""Splits a text in lines of which some are shown with any part of it: its errors, its totals."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.passages.part import Part
from weft.passages.prose import split_stretch


def split_around(text: str, lines: Sequence[str], always: Collection[int]) -> Part:
    """The parts of a text. `lines` are all of its lines with their ends, `always` the numbers of
    those that are shown with any other part."""
    parts: list[Part] = []
    start = end = 0
    for number, line in enumerate(lines):
        if number in always:
            parts += split_stretch(text, start, end) if start < end else []
            last = parts[-1] if parts else None
            if last is not None and last.identifies and last.end == end:
                parts[-1] = Part(
                    last.start, end + len(line), "line", last.count + 1, identifies=True
                )
            else:
                parts.append(Part(end, end + len(line), "line", identifies=True))
            start = end + len(line)
        end += len(line)
    parts += split_stretch(text, start, end) if start < end else []
    return Part(0, len(text), "text", 1, 0, 0, False, tuple(parts))
