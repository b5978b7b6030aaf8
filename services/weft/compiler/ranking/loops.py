"""Where a loop goes on. An agent that works through a list copies the arguments of each call from
the list's next entry: from the text right after what the call before was made from, or from the
next of the results that it read one after the other."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.ranking.values import values
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

AHEAD = int(os.environ.get("AHEAD", 400))
"""Characters after an entry that the next entry begins in."""


class Stretch(msgspec.Struct, frozen=True):
    """A part of an item's text, in characters."""

    sequence: int
    start: int
    end: int
    rank: int = 0


class _Source(msgspec.Struct, frozen=True):
    """Where the arguments of a call were copied from."""

    at: int
    """The group's position."""
    row: ItemRow
    start: int
    end: int


def next_entries(groups: Sequence[Group]) -> tuple[Stretch, ...]:
    """What the newest call's loop has not reached. Groups come in order."""
    calls = [at for at, group in enumerate(groups) if group.is_exchange]
    if not calls:
        return ()
    last = calls[-1]
    tool = _tool(groups[last])
    same = [at for at in calls[:-1] if _tool(groups[at]) == tool]
    if not same:
        return ()
    mine = _arguments(groups[last])
    before = _arguments(groups[same[-1]])
    found: list[Stretch] = []
    for source in _sources(groups, last, mine - before):
        earlier = [one for one in _sources(groups, same[-1], before - mine)]
        found += _inside(source, earlier)
        found += _among(groups, calls, source, last)
    return tuple(found)


def _inside(source: _Source, earlier: Sequence[_Source]) -> list[Stretch]:
    """The entry after this one in the same text, if the loop goes forward in it."""
    if any(one.row.sequence == source.row.sequence and one.end <= source.start + 1 or
           one.row.sequence == source.row.sequence and one.start < source.start for one in earlier):
        end = source.end + AHEAD
        return [Stretch(source.row.sequence, source.end, end)]
    return []


def _among(
    groups: Sequence[Group], calls: Sequence[int], source: _Source, last: int
) -> list[Stretch]:
    """The results after this one that the same tool gave."""
    if source.row.kind is not ItemKind.TOOL_RESULT:
        return []
    tool = _tool(groups[source.at])
    if tool == _tool(groups[last]):
        return []
    after = [at for at in calls if at > source.at and at < last and _tool(groups[at]) == tool]
    return [
        Stretch(row.sequence, 0, len(row.readable), rank)
        for rank, at in enumerate(after[:2])
        for row in groups[at].rows[1:]
    ]


def _sources(groups: Sequence[Group], before: int, copied: Collection[str]) -> list[_Source]:
    """The texts before a call that hold most of these values."""
    if not copied:
        return []
    best, found = 0, list[_Source]()
    for at in range(before - 1, -1, -1):
        for row in groups[at].rows:
            if row.kind is ItemKind.TOOL_CALL:
                continue
            held = copied & values(row.whole).keys()
            if len(held) < max(best, 1):
                continue
            if len(held) > best:
                best, found = len(held), []
            start, end = _window(row.readable, held)
            found.append(_Source(at, row, start, end))
    return found[:3]


def _window(text: str, held: Collection[str]) -> tuple[int, int]:
    """The shortest stretch that holds all of these values; of several, the first."""
    places: list[tuple[int, str]] = []
    for value in held:
        at = text.find(value)
        while at >= 0 and len(places) < 200:
            places.append((at, value))
            at = text.find(value, at + len(value))
    places.sort()
    counts: dict[str, int] = {}
    best = (0, len(text))
    left = 0
    for at, value in places:
        counts[value] = counts.get(value, 0) + 1
        while counts[places[left][1]] > 1:
            counts[places[left][1]] -= 1
            left += 1
        if len(counts) == len(held) and at + len(value) - places[left][0] < best[1] - best[0]:
            best = places[left][0], at + len(value)
    return best


def _tool(group: Group) -> str:
    return str(group.rows[0].metadata.get("tool_name"))


def _arguments(group: Group) -> frozenset[str]:
    return frozenset(values(group.rows[0].whole))
