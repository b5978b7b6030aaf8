"""Tells, by place among a pack's entries, which results answer which call, which calls are one
turn, and where a turn is placed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind


def is_verbatim(entry: PackEntry) -> bool:
    """Whether a call is shown as the model made it: its tool and every argument."""
    return (
        entry.kind is ItemKind.TOOL_CALL
        and entry.view == "whole"
        and entry.arguments is not None
        and bool(entry.tool_name and entry.tool_name.strip())
    )


def results_by_call(entries: Sequence[PackEntry]) -> dict[int, list[int]]:
    """Place of each answered call → places of its results, in any order."""
    calls = [place for place, entry in enumerate(entries) if entry.kind is ItemKind.TOOL_CALL]
    by_item = {entries[place].item_id: place for place in calls}
    by_call_id: dict[str, list[int]] = {}
    for place in calls:
        by_call_id.setdefault(entries[place].call_id or "", []).append(place)
    found: dict[int, list[int]] = {}
    late: list[int] = []
    for place, entry in enumerate(entries):
        if entry.kind is ItemKind.TOOL_RESULT:
            call = by_item.get(entry.parent_id or "")
            if call is None:
                call = _waiting(by_call_id, entry, place, found)
            if call is None:
                late.append(place)
            else:
                found.setdefault(call, []).append(place)
    for place in late:
        call = _other(by_call_id, entries[place], place, found)
        if call is not None:
            found.setdefault(call, []).append(place)
    return {call: sorted(found[call]) for call in found}


def _waiting(
    by_call_id: Mapping[str, Sequence[int]],
    result: PackEntry,
    place: int,
    found: Mapping[int, Sequence[int]],
) -> int | None:
    """The nearest earlier call with the result's call id and no result yet."""
    same = by_call_id.get(result.call_id, ()) if result.call_id else ()
    before = same[: bisect_left(same, place)]
    return next((call for call in reversed(before) if call not in found), None)


def _other(
    by_call_id: Mapping[str, Sequence[int]],
    result: PackEntry,
    place: int,
    found: Mapping[int, Sequence[int]],
) -> int | None:
    """For a result that no earlier call waits for: the next call with its call id and no result
    (its result was logged first), otherwise the previous one (which has several results)."""
    same = by_call_id.get(result.call_id, ()) if result.call_id else ()
    at = bisect_left(same, place)
    after = next((call for call in same[at:] if call not in found), None)
    return same[at - 1] if after is None and at else after


def placed_calls(
    entries: Sequence[PackEntry], results: Mapping[int, Sequence[int]]
) -> dict[int, list[list[int]]]:
    """Place → calls to put there: those of a turn that can be real ones as one group, then each of
    the others by itself, never inside the turn that it belongs to."""
    placed: dict[int, list[list[int]]] = {}
    for turn in _turns(entries):
        real = [call for call in turn if is_verbatim(entries[call])]
        at = max((_last(call, results) for call in real), default=0)
        if real:
            placed.setdefault(at, []).append(real)
        for call in turn:
            if call not in real:
                placed.setdefault(max(at, _last(call, results)), []).append([call])
    return placed


def _last(call: int, results: Mapping[int, Sequence[int]]) -> int:
    return max([call, *results.get(call, ())])


def _turns(entries: Sequence[PackEntry]) -> list[list[int]]:
    """Calls by turn: those with the same turn_id, or without any in one unbroken run."""
    turns: list[list[int]] = []
    current: list[int] = []
    turn_id: str | None = None
    for place, entry in enumerate(entries):
        if entry.kind is ItemKind.TOOL_CALL:
            same = entry.turn_id == turn_id and (
                turn_id is not None or (bool(current) and current[-1] == place - 1)
            )
            if current and same and entries[current[0]].author == entry.author:
                current.append(place)
            else:
                current = [place]
                turns.append(current)
                turn_id = entry.turn_id
        elif entry.kind in _ENDS_TURN and entry.turn_id != turn_id:
            current = []
    return turns


_ENDS_TURN = frozenset({ItemKind.USER_TURN, ItemKind.AGENT_MSG})
"""After these, the same turn_id means another turn (some publishers count from 1 again)."""
