"""Finds what a program prints below the line of an error and what belongs with it: the message
below a place, and lines that are indented further, such as what was required and what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, takewhile
from operator import eq

MAX_DETAILS = 5
"""Most lines that are indented below an error. More are a stack or a listing, of which the first
say little."""
MAX_LENGTH = 240
"""Characters of all of them."""
_PLACE = re.compile(r":\d{1,7}:\s*\Z")
"""The end of a line that says where it happened; what happened is in the next one."""
_FRAME = re.compile(r"\s{0,8}[\u2502\u2503](?=\s)(?!.*[\u2502\u2503]\s*\Z)")
"""What frames an error on its left, as Terraform does, and is no row of a table."""
_ARROW = re.compile(r"\s*[-=]{0,6}>")
"""What points at a line of code, of which the next lines are no details."""


def details_below(lines: Sequence[str], at: int) -> list[int]:
    """The numbers of the lines that belong with the error in this one."""
    if _ARROW.match(lines[at]):
        return []
    frame = _FRAME.match(lines[at])
    if frame is not None:
        return _framed(lines, at, frame[0])
    first = at + 1
    is_place = _PLACE.search(lines[at]) is not None and first < len(lines)
    told = [first] if is_place and lines[first].strip() else []
    below = first + len(told)
    indented = takewhile(
        lambda number: _is_below(lines[number], lines[below - 1]), range(below, len(lines))
    )
    details = list(islice(indented, MAX_DETAILS + 1))
    found = told + details if len(details) <= MAX_DETAILS else told
    return found if sum(len(lines[number]) for number in found) <= MAX_LENGTH else []


def _framed(lines: Sequence[str], at: int, frame: str) -> list[int]:
    """The numbers of the first lines in the frame of this one: where it happened, and why."""
    inside = takewhile(lambda number: lines[number].startswith(frame), range(at + 1, len(lines)))
    found: list[int] = []
    size = said = 0
    for number in inside:
        size += len(lines[number])
        said += bool(lines[number][len(frame) :].strip())
        if said > MAX_DETAILS or size > MAX_LENGTH:
            break
        found.append(number)
    return found


def _is_below(line: str, above: str) -> bool:
    """Whether a line is indented further than one above it, behind what both begin with: each
    line of a build may have the number of its step and its time."""
    same = sum(takewhile(bool, map(eq, line, above)))
    is_word = same > 0 and not above[same - 1].isspace()
    return not is_word and line[same:].strip() != "" and _indent(line, same) > _indent(above, same)


def _indent(line: str, start: int) -> int:
    return len(line) - start - len(line[start:].lstrip())
