"""Finds the lines or rows that differ from the others: those with a rare value in a field that has
few. Linear in the number of lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter

MIN_COMPARED = 10
"""The least number of lines among which one can stand out."""
_RARE, _COMMON = 0.02, 0.5
"""A value is rare if at most this share of the lines has it, and the values that are not rare reach
the other share."""
_SOME, _OF = 3, 15
"""A value of up to `_SOME` lines is rare, too, if there are `_OF` lines for each of them."""
_FEW, _EACH = 16, 4
"""A field with more different values than this, or with more than one for each of so many lines,
has no rare ones: most names of ten authors stand there once."""
LOOK = 400
"""A field that has shown too many values by this many lines is not counted further."""
_MOMENT = re.compile(r"\d{1,4}[-/](?:\d{1,2}[-/]\d|[A-Z])|\d{4}[-/]\d\d?\b|\d{1,2}:\d\d")
"""The beginning of a time or date: any of its values is rare at some time. `0/1` is none."""


def max_rare(count: int) -> int:
    """How many of so many lines may share a value that is rare: 1 of 10, 3 of 45, 2 % of many."""
    return max(1, min(_SOME, count // _OF), int(count * _RARE))


def rare_groups(cells: Sequence[Sequence[str]], most: int) -> list[list[int]]:
    """For at most so many rare values, the indices of the lines that have it. `cells` are the words
    or cells of each line. Fields with the fewest values come first, of each the rarest value, and a
    line is in one group at most."""
    if len(cells) < MIN_COMPARED:
        return []
    found = sorted(_fields(cells), key=lambda field: field[0])
    taken: set[int] = set()
    groups: list[list[int]] = []
    for _, column, rare in found:
        held: dict[str, list[int]] = {value: [] for value in rare}
        for index, value in enumerate(column):
            if value in held and index not in taken:
                held[value].append(index)
        for group in sorted(filter(None, held.values()), key=len):
            if len(groups) < most:
                groups.append(group)
                taken.update(group)
    return groups


def has_few_values(values: Sequence[str]) -> bool:
    """Whether a field with these first `LOOK` values may have few different ones in all lines."""
    return len(set(values)) <= _FEW


def _fields(cells: Sequence[Sequence[str]]) -> Iterator[tuple[int, list[str], list[str]]]:
    """The cells at one place in each line, counted from the start and, if lines have unequally
    many, from the end, where some of them are rare: how many different ones there are, all, and the
    rare ones."""
    least, most = min(map(len, cells)), max(map(len, cells))
    few = max_rare(len(cells))
    for place in range(0 if least == most else -least, least):
        if not has_few_values([line[place] for line in cells[:LOOK]]) or _MOMENT.match(
            cells[0][place]
        ):
            continue
        column = list(map(itemgetter(place), cells))
        if column.count(column[0]) == len(column):
            continue
        counts = Counter(column)
        rare = [value for value, count in counts.items() if count <= few]
        common = len(column) - sum(counts[value] for value in rare)
        is_small = len(counts) <= min(_FEW, len(column) // _EACH)
        if rare and is_small and common >= _COMMON * len(column):
            yield len(counts), column, rare
