"""Which parts of a text a name is the head of: the lines of a function, a section under its
heading, the fields of a record under its key."""

from __future__ import annotations

from collections.abc import Collection

from weft.compiler.ranking.values import values
from weft.passages.part import Outline, Part


def under_named_heads(
    text: str, outline: Outline, named: Collection[str], most: float
) -> frozenset[int]:
    """The numbers of the leaves under a head that states one of these values, its own included.
    `most`: characters of the largest part that counts; of a whole class, its name says little."""
    if not any(value in text for value in named):
        return frozenset()
    found: set[int] = set()
    wanted = frozenset(named)

    def walk(part: Part) -> None:
        family = outline.families.get(id(part))
        if family is None:
            return
        first, end = family.firsts[0], family.firsts[-1]
        head = _head(part, outline.leaves[first])
        if part.size <= most and wanted.intersection(values(text[part.start : head])):
            found.update(range(first, end))
            return
        for child in part.children:
            walk(child)

    walk(outline.root)
    return frozenset(found)


def _head(part: Part, first: Part) -> int:
    """Where a part's head ends: its heading or key, or the first line of a block."""
    if part.opening:
        return part.start + part.opening
    return first.end if part.unit == "block" else part.start
