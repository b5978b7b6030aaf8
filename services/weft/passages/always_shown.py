"""Splits a text in lines. Some of them, such as errors and totals, are shown with any part of it;
others, such as passed tests, add little to what it says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from weft.passages.part import Part
from weft.passages.prose import split_stretch

MIN_ASIDES = 4
"""Least consecutive lines that make an aside, which stands beside what a text says."""


def split_around(
    text: str,
    lines: Sequence[str],
    always: Collection[int],
    asides: Collection[int] = (),
    outliers: Collection[int] = (),
    split: Callable[[str, int, int], list[Part]] = split_stretch,
) -> Part:
    """The parts of a text. `lines` are all of its lines with their ends, `always` the numbers of
    those that are shown with any other part, `asides` of those that say little if several stand
    together, `outliers` of those that say more than the others; `split` makes the parts of what
    stands between them."""
    parts: list[Part] = []
    start = end = run = 0
    for number, line in enumerate(lines):
        if number in asides and number not in always:
            run += 1
        else:
            start = _close(text, parts, start, end, lines[number - run : number])
            run = 0
        if number in always:
            parts += split(text, start, end) if start < end else []
            last = parts[-1] if parts else None
            if last is not None and last.identifies and last.end == end:
                parts[-1] = Part(
                    last.start, end + len(line), "line", last.count + 1, identifies=True
                )
            else:
                parts.append(Part(end, end + len(line), "line", identifies=True))
            start = end + len(line)
        elif number in outliers:
            parts += split(text, start, end) if start < end else []
            parts.append(Part(end, end + len(line), "line", is_outlier=True))
            start = end + len(line)
        end += len(line)
    start = _close(text, parts, start, end, lines[len(lines) - run :])
    parts += split(text, start, end) if start < end else []
    return Part(0, len(text), "text", 1, 0, 0, False, tuple(parts))


def _close(text: str, parts: list[Part], start: int, end: int, run: Sequence[str]) -> int:
    """Add what stands from `start` on if a run of asides ends here. Returns where the next part
    begins."""
    if len(run) < MIN_ASIDES:
        return start
    begin = end - sum(map(len, run))
    parts += split_stretch(text, start, begin) if start < begin else []
    parts += as_asides(split_stretch(text, begin, end))
    return end


def as_asides(parts: Sequence[Part]) -> Iterator[Part]:
    """The same parts, all of them as asides."""
    return (msgspec.structs.replace(part, is_aside=True) for part in parts)
