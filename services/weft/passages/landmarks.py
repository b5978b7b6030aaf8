"""The landmarks of a page that is written as a tree of roles in lines, as tools for browsers write
it. What stands in its navigation, banner or footer is beside what the page says."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from weft.passages.part import Part

BEFORE = r"^[ \t]*+(?:- )?(?:\[[\w.-]{1,20}\] |uid=\S{1,20} )?"
"""What stands before a role: the dash of a list, and by what an action refers to the node."""
_AFTER = r"(?=:?[ \t\r]*(?:$|[\"'\[,]))"
_MAIN = re.compile(rf"{BEFORE}(?:main|RootWebArea){_AFTER}", re.MULTILINE)
_NODE = re.compile(
    rf"{BEFORE}(?:link|button|heading|textbox|searchbox|checkbox|combobox|img|image|StaticText|text"
    r"|cell|gridcell) [\"']",
    re.MULTILINE,
)
_LANDMARK = re.compile(rf"{BEFORE}(?:navigation|contentinfo|banner|complementary){_AFTER}")
MIN_NODES = 4
"""Nodes with a name in a tree; a file of settings may have a key `main`, too."""


def without_landmarks(text: str, parts: Sequence[Part]) -> list[Part]:
    """The same parts; what is in landmarks other than the page's main one is aside. A leaf that
    has some of it and something else is divided. Linear in `text`."""
    if "main" not in text and "RootWebArea" not in text:
        return list(parts)
    borders = _borders(text) if is_tree(text) else []
    if not borders:
        return list(parts)
    return [one for part in parts for one in _marked(text, part, borders)]


def is_tree(text: str) -> bool:
    if _MAIN.search(text) is None:
        return False
    nodes = _NODE.finditer(text)
    return all(next(nodes, None) is not None for _ in range(MIN_NODES))


def _borders(text: str) -> list[int]:
    """Where the outermost landmarks begin and end, alternately: each is a line with those below it
    that are indented further. One that holds the main landmark is none."""
    found: list[int] = []
    start = level = -1
    at = 0
    for line in text.splitlines(keepends=True):
        bare = line.lstrip()
        indent = len(line) - len(bare)
        if bare and start >= 0 and indent <= level:
            _add(found, start, at)
            start = -1
        if start < 0 and _LANDMARK.match(line):
            start, level = at, indent
        elif start >= 0 and _MAIN.match(line):
            start = -1
        at += len(line)
    if start >= 0:
        _add(found, start, at)
    return found


def _add(borders: list[int], start: int, end: int) -> None:
    """Add a landmark; one that follows another directly is one with it."""
    if borders and borders[-1] == start:
        borders[-1] = end
    else:
        borders += (start, end)


def _marked(text: str, part: Part, borders: Sequence[int]) -> Iterator[Part]:
    """A part, or the pieces of a leaf that is divided."""
    first, last = bisect_right(borders, part.start), bisect_left(borders, part.end)
    is_aside = first % 2 == 1
    if first == last:
        yield msgspec.structs.replace(part, is_aside=True) if is_aside else part
    elif part.children:
        children = tuple(one for child in part.children for one in _marked(text, child, borders))
        yield msgspec.structs.replace(part, children=children)
    elif part.identifies or part.unit != "line":
        yield part
    else:
        for start, end in pairwise((part.start, *borders[first:last], part.end)):
            count = len(text[start:end].splitlines())
            yield Part(start, end, "line", count, is_aside=is_aside)
            is_aside = not is_aside
