"""Logs and listings in which nearly all lines differ only in their values. Their lines are like the
rows of a table, and the first and the last line show the range that they cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from weft.passages.lines import lines_of
from weft.passages.outlier_lines import form_of
from weft.passages.part import Part
from weft.passages.prose import split_stretch
from weft.passages.sentences import MAX_LEAF_LENGTH, MIN_LEAF_LENGTH

MIN_LINES = 100
"""Fewer lines are treated like other text."""
_COMPARED, _SAME = 400, 0.8
"""How many lines are compared, and the share of these that say the same."""


def are_uniform(lines: Sequence[str]) -> bool:
    """Whether nearly all lines have one form, with values in it."""
    compared = lines[:: max(len(lines) // _COMPARED, 1)]
    forms = Counter(form_of(line) for line in compared if line.strip())
    if len(lines) < MIN_LINES or not forms:
        return False
    usual, count = forms.most_common(1)[0]
    return "#" in usual and count >= _SAME * forms.total()


def split_rows(text: str, start: int, end: int) -> list[Part]:
    """Lines between two positions, a few in each part."""
    parts: list[Part] = []
    for line in lines_of(text, start, end):
        last = parts[-1] if parts else None
        if line.end - line.start > MAX_LEAF_LENGTH:
            parts += split_stretch(text, line.start, line.end)
        elif last is not None and last.unit == "line" and line.end - last.start <= MIN_LEAF_LENGTH:
            parts[-1] = Part(last.start, line.end, "line", last.count + 1)
        else:
            parts.append(Part(line.start, line.end, "line"))
    return parts


def with_ends(text: str, root: Part) -> Part:
    """The same text; its first and last line are shown whenever any other is."""
    first, *rest = root.children
    children = [*_with_first(text, first), *rest]
    children = [*children[:-1], *_with_last(text, children[-1])]
    return msgspec.structs.replace(root, children=tuple(children))


def _with_first(text: str, part: Part) -> list[Part]:
    end = text.find("\n", part.start, part.end) + 1 or part.end
    if part.children or end - part.start > MIN_LEAF_LENGTH:
        return [part]
    rest = [msgspec.structs.replace(part, start=end, count=part.count - 1)] * (end < part.end)
    return [Part(part.start, end, "line", identifies=True), *rest]


def _with_last(text: str, part: Part) -> list[Part]:
    start = max(text.rfind("\n", part.start, part.end - 1) + 1, part.start)
    if part.children or part.end - start > MIN_LEAF_LENGTH:
        return [part]
    is_longer = start > part.start
    before = [msgspec.structs.replace(part, end=start, count=part.count - 1)] * is_longer
    return [*before, Part(start, part.end, "line", identifies=True)]
