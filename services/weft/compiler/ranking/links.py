"""Where older results link what the user asks about with what was fetched last: the only row that
states the customer of the question and the device of the newest result."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import FOCUS_LOOK_BACK, FOCUS_TEXT, MAX_LINKS
from weft.compiler.ranking.named_parts import MAX_HEADS, places_of
from weft.compiler.ranking.values import values
from weft.readmodel.rows import ItemRow


def linking_parts(groups: Sequence[Group], named: Collection[str]) -> Mapping[int, frozenset[int]]:
    """The parts of the rows and records of older results that state an id of the newest results
    together with one that the user `named` and that these do not state, by sequence; only of the
    one row that does. `groups` are in order."""
    answered = [group for group in groups[-FOCUS_LOOK_BACK:] if len(group.rows) > 1]
    if not answered or not named:
        return {}
    newest = max(answered, key=lambda group: group.last)
    fetched = {
        value for row in newest.rows[1:] for value in filter(_is_id, values(row.whole[:FOCUS_TEXT]))
    }
    found: list[tuple[int, range]] = []
    for value in sorted(filter(_is_id, named)):
        if any(value in row.whole for row in newest.rows):
            continue
        links = [
            (row.sequence, parts)
            for group in answered
            if group is not newest
            for row in group.rows[1:]
            for parts in _stating(row, value, fetched - {value})
        ]
        if len(links) == 1:
            found += links
    if len(found) > MAX_LINKS:
        return {}
    parts_of: dict[int, frozenset[int]] = {}
    for sequence, parts in found:
        parts_of[sequence] = parts_of.get(sequence, frozenset()).union(parts)
    return parts_of


def _is_id(value: str) -> bool:
    return _ID.fullmatch(value) is not None


_ID = re.compile(r"(?!\d{4}-\d\d-\d\d)(?=.*\d)(?:.*[^\W\d].*|.*\d{5}.*)")
"""Letters and digits, or a long number, and no date: what people and programs call one thing."""


def _stating(row: ItemRow, value: str, others: Collection[str]) -> Iterator[range]:
    """The parts of each row or record of a result that states a value and one of the others."""
    outline = row.parts
    if outline is None or value not in row.whole:
        return
    text = row.readable
    places = list(places_of(value, text))
    for at in places if len(places) <= MAX_HEADS else ():
        leaf = max(bisect_right(outline.leaves, at, key=lambda one: one.start) - 1, 0)
        record = outline.record_at(leaf) or range(leaf, leaf + 1)
        start, end = outline.leaves[record[0]].start, outline.leaves[record[-1]].end
        if not values(text[start:end]).keys().isdisjoint(others):
            yield record
