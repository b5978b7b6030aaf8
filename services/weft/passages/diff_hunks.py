"""The hunks of a unified diff. What was removed and added says what a diff is about; lines far from
it only say where it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import msgspec

from weft.passages.lines import IndentedLine
from weft.passages.part import Part

NEAR = 2
"""Unchanged lines before and behind changed ones that count as these do."""
_UNCHANGED = frozenset(" \\\r\n")
"""How unchanged lines begin; some programs remove the blank of an empty one."""
_OF_HUNK = _UNCHANGED | frozenset("+-")
_HUNK = re.compile(r"@@ -\d{1,7}(?:,(\d{1,7}))? \+\d{1,7}(?:,(\d{1,7}))? @@")


def with_hunks(text: str, lines: Sequence[IndentedLine]) -> list[IndentedLine]:
    """The same lines; those of a hunk are indented as in their file, and none of them heads others,
    though a comment may look like a heading."""
    found: list[IndentedLine] = []
    removed = added = 0
    for line in lines:
        sign = text[line.start]
        if sign not in _OF_HUNK:
            head = _HUNK.match(text, line.start) if sign == "@" else None
            removed, added = (int(count or 1) for count in head.groups()) if head else (0, 0)
            found.append(line)
        elif removed > 0 or added > 0:
            removed -= sign not in "+\\"
            added -= sign not in "-\\"
            found.append(_of_hunk(text, line))
        else:
            found.append(line)
    return found


def _of_hunk(text: str, line: IndentedLine) -> IndentedLine:
    held = text[line.start + 1 : line.end]
    bare = held.lstrip()
    return IndentedLine(line.start, line.end, not bare, len(held) - len(bare) if bare else 0, 0)


def is_hunk(text: str, line: IndentedLine) -> bool:
    """Whether a line is the head of a hunk."""
    return text.startswith("@@ -", line.start) and _HUNK.match(text, line.start) is not None


def hunk_parts(
    text: str,
    lines: Sequence[IndentedLine],
    split: Callable[[Sequence[IndentedLine]], list[Part]],
) -> list[Part]:
    """The parts of a hunk's body: changed lines with those near them, and asides. What a program
    prints behind a hunk is none. `split` makes the parts of lines that stand together."""
    others = [at for at, line in enumerate(lines) if text[line.start] not in _UNCHANGED]
    near = {at + by for at in others for by in range(-NEAR, NEAR + 1)}
    parts: list[Part] = []
    for is_near, run in groupby(enumerate(lines), key=lambda one: one[0] in near):
        held = [line for _, line in run]
        parts += split(held) if is_near else _asides(split(held))
    return parts


def with_header_aside(text: str, parts: Sequence[Part]) -> list[Part]:
    """The parts of what a diff says of one file. The lines below its first one are asides if they
    only name the file again."""
    first = parts[0]
    held = text[first.start : first.end]
    is_header = not first.children and _HEADER.fullmatch(held) is not None
    return [*_asides(parts[:1]), *parts[1:]] if is_header else list(parts)


_HEADER = re.compile(r"(?:index [0-9a-f.]{4,90}(?: \d{6})?\r?\n)?--- .+\n\+\+\+ .+\n?")


def _asides(parts: Sequence[Part]) -> Iterator[Part]:
    return (msgspec.structs.replace(part, is_aside=True) for part in parts)
