"""Where a loop goes on. An agent that works through a list takes the arguments of its next call
from the next entry: from the text after the entry of its last call or, if it read the entries one
by one, from the next result."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    LOOK_BACK,
    LOOP_SOURCES,
    MAX_COPIED_VALUES,
    NEXT_ENTRY,
    NEXT_ENTRY_WINDOW,
)
from weft.compiler.ranking.calls import (
    arguments_of,
    own_arguments,
    planned_order,
    tool_of,
)
from weft.compiler.ranking.values import values
from weft.passages.part import LISTED
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

Stretch = tuple[int, int]
"""A piece of an item's readable text, in characters; the end is exclusive."""


class _Source(msgspec.Struct, frozen=True):
    """What the arguments of a call were copied from."""

    at: int
    """The group's position."""
    row: ItemRow
    start: int
    end: int


def next_entries(groups: Sequence[Group]) -> Mapping[int, Sequence[Stretch]]:
    """Sequence of an item → what the loop takes next, if the newest call is one of a loop: a call
    before it used the same tool. `groups` are in order. Empty if there is no loop."""
    calls = [at for at, group in enumerate(groups) if group.is_call]
    alike = [at for at in calls if tool_of(groups[at]) == tool_of(groups[calls[-1]])][-2:]
    if len(alike) < 2:
        return {}
    before, last = alike
    old, new = arguments_of(groups[before]), arguments_of(groups[last])
    if max(len(old), len(new)) > MAX_COPIED_VALUES:
        return {}
    # Arguments in another order are new ones, too.
    reached = _sources(groups, before, old - new or old)
    found: dict[int, list[Stretch]] = {}
    for source in _sources(groups, last, new - old or new):
        before_it = [one for one in reached if _goes_on(groups, one, source)]
        if before_it and _goes_beyond(source, behind := _behind(before_it, source)):
            found.setdefault(source.row.sequence, []).append(behind)
        for row in _next_results(groups, [at for at in calls if source.at < at < last], source):
            found.setdefault(row.sequence, []).append((0, len(row.readable)))
    return found


def _behind(before: Sequence[_Source], source: _Source) -> Stretch:
    """Where the next entry is expected: in the records behind the one that was taken, if the loop
    goes from record to record, else in the text."""
    record = _record(source.row, source.end - 1)
    in_record = any(
        one.row is source.row and _record(one.row, one.end - 1) == record for one in before
    )
    if record is None or in_record:
        return source.end, source.end + NEXT_ENTRY_WINDOW
    end = record[1] + NEXT_ENTRY_WINDOW
    last = _record(source.row, end)
    return record[1], end if last is None else last[1]


def _record(row: ItemRow, place: int) -> Stretch | None:
    """The record of a list around a place in the item's text; None outside of records."""
    if row.parts is None:
        return None
    leaves = row.parts.leaves
    at = bisect_right(leaves, place, key=lambda leaf: leaf.start) - 1
    record = row.parts.record_at(at)
    if not record or (leaves[at].unit in LISTED and leaves[at].count > 1):
        return None  # small records that share a part have no bounds
    return leaves[record[0]].start, leaves[record[-1]].end


def _goes_beyond(source: _Source, behind: Stretch) -> bool:
    """Whether the text behind a source states a value like the one that was taken from it; behind
    the last entry of a list there may be words only."""
    text = source.row.readable
    taken, others = values(text[source.start : source.end]), values(text[slice(*behind)])
    return max(others.values(), default=0.0) >= max(taken.values(), default=1.0)


def loop_factor(ahead: Sequence[Stretch], start: int, end: int) -> float:
    """The factor for the score of a part of an item; `ahead` are the item's stretches."""
    return NEXT_ENTRY if any(start < last and end > first for first, last in ahead) else 1.0


def _goes_on(groups: Sequence[Group], before: _Source, source: _Source) -> bool:
    """Whether a loop that came from one entry to another takes the entry after it: both are of one
    item, or of two results of the same tool."""
    if before.row is source.row:
        return before.end < source.end
    rows = before.row, source.row
    are_results = all(row.kind is ItemKind.TOOL_RESULT for row in rows)
    return (
        are_results
        and before.at < source.at
        and tool_of(groups[before.at]) == tool_of(groups[source.at])
    )


def _next_results(
    groups: Sequence[Group], calls: Sequence[int], source: _Source
) -> Sequence[ItemRow]:
    """The results of the next call of the tool that the source is a result of: next in the latest
    plan that names it, else the next that was made."""
    if source.row.kind is not ItemKind.TOOL_RESULT:
        return ()
    tool = tool_of(groups[source.at])
    alike = [source.at, *(at for at in calls if tool_of(groups[at]) == tool)]
    if any(len(arguments_of(groups[at])) > MAX_COPIED_VALUES for at in alike):
        return groups[alike[1]].rows[1:] if len(alike) > 1 else ()
    planned = planned_order(groups, own_arguments(groups, alike))
    order = planned if 0 in planned else range(len(alike))
    rest = order[order.index(0) + 1 :]
    return groups[alike[rest[0]]].rows[1:] if rest else ()


def _sources(groups: Sequence[Group], before: int, copied: Collection[str]) -> list[_Source]:
    """The items before a group that state most of these values, newest first."""
    most, held_by = 1, list[tuple[int, ItemRow, list[str]]]()
    for at in range(before - 1, max(before - LOOK_BACK, 0) - 1, -1):
        for row in groups[at].rows:
            if row.kind is ItemKind.TOOL_CALL:
                continue
            held = sorted(value for value in copied if value in row.whole)
            if len(held) > most:
                most, held_by = len(held), []
            if len(held) == most:
                held_by.append((at, row, held))
    found = (
        _Source(at, row, *window)
        for at, row, held in held_by
        if (window := _window(row.readable, held)) is not None
    )
    return list(islice(found, LOOP_SOURCES))


def _window(text: str, held: Sequence[str]) -> tuple[int, int] | None:
    """The shortest stretch that states all of these values, the first of several; None without
    one."""
    places = sorted(place for value in held for place in _places(text, value))
    best: tuple[int, int] | None = None
    inside: Counter[str] = Counter()
    left = 0
    for at, value in places:
        inside[value] += 1
        while inside[places[left][1]] > 1:
            inside[places[left][1]] -= 1
            left += 1
        start, end = places[left][0], at + len(value)
        if len(inside) == len(held) and (best is None or end - start < best[1] - best[0]):
            best = start, end
    return best


MAX_PLACES = 64
"""Places of one value in one text: a value that stands everywhere says nothing about where."""


def _places(text: str, value: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    at = text.find(value)
    while at >= 0 and len(found) < MAX_PLACES:
        found.append((at, value))
        at = text.find(value, at + len(value))
    return found
