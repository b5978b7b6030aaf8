"""Stage 2: what belongs together. A tool call and its results are one group, kept or dropped as
one; every other item is a group of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from weft.readmodel.rows import ItemRow, SessionView
from weft_schemas.compile import DroppedItem
from weft_schemas.items import ItemKind


class Group(msgspec.Struct, frozen=True):
    """Items that stand or fall together, in order of sequence."""

    rows: tuple[ItemRow, ...]
    key: int
    """Its identity within one compile: the sequence of its first item."""


def group_of(rows: Sequence[ItemRow]) -> Group:
    """A group of these rows, which come in order of sequence."""
    return Group(tuple(rows), rows[0].sequence)


class Closed(msgspec.Struct, frozen=True):
    groups: tuple[Group, ...]
    """In order of their first items."""
    dropped: tuple[DroppedItem, ...]
    total: int
    """Items after closure, those dropped here included."""
    added: int
    """Items that came because a call or a result needed them."""


def close(view: SessionView, rows: Iterable[ItemRow]) -> Closed:
    """Complete calls and results, form groups, and drop what cannot be complete: orphans, and
    groups that wait for an envelope."""
    given = {row.sequence: row for row in rows}
    complete = _completed(view, given)
    groups, orphans = _group([complete[sequence] for sequence in sorted(complete)])
    dropped = [_orphan(row) for row in orphans]
    ready = []
    for group in groups:
        waiting = [row for row in group.rows if row.pending or row.parked]
        if waiting:
            dropped += [_pending(row, waiting[0]) for row in group.rows]
        else:
            ready.append(group)
    return Closed(tuple(ready), tuple(dropped), len(complete), len(complete) - len(given))


def _completed(view: SessionView, given: dict[int, ItemRow]) -> dict[int, ItemRow]:
    complete = dict(given)
    held = {row.id for row in given.values() if row.kind is ItemKind.TOOL_CALL}
    wanted = {
        row.parent_id
        for row in given.values()
        if row.kind is ItemKind.TOOL_RESULT and row.parent_id and row.parent_id not in held
    }
    found = view.by_ids(sorted(wanted)) if wanted else ()
    calls = [row for row in found if row.kind is ItemKind.TOOL_CALL]
    complete.update((row.sequence, row) for row in calls)
    parents = sorted(held.union(row.id for row in calls))
    if parents:
        complete.update(
            (row.sequence, row)
            for row in view.children(parents)
            if row.kind is ItemKind.TOOL_RESULT
        )
    return complete


def _group(rows: Sequence[ItemRow]) -> tuple[list[Group], list[ItemRow]]:
    """Groups and orphans of rows that come in order of sequence."""
    results: dict[str, list[ItemRow]] = {}
    for row in rows:
        if row.kind is ItemKind.TOOL_RESULT:
            results.setdefault(row.parent_id or "", []).append(row)
    groups: list[Group] = []
    orphans: list[ItemRow] = []
    grouped: set[int] = set()
    for row in rows:
        if row.kind is ItemKind.TOOL_CALL:
            # A result that was stored before its call answers something else.
            answers = [
                result for result in results.get(row.id, ()) if result.sequence > row.sequence
            ]
            grouped.update(result.sequence for result in answers)
            if answers:
                groups.append(group_of((row, *answers)))
            else:
                orphans.append(row)
        elif row.kind is not ItemKind.TOOL_RESULT:
            groups.append(group_of((row,)))
    alone = (row for held in results.values() for row in held if row.sequence not in grouped)
    return groups, [*orphans, *sorted(alone, key=lambda row: row.sequence)]


def _orphan(row: ItemRow) -> DroppedItem:
    if row.pending or row.parked:
        return _pending(row, row)
    missing = "no result yet" if row.kind is ItemKind.TOOL_CALL else "its call is not in the log"
    return DroppedItem(row.id, "orphan", missing)


def _pending(row: ItemRow, waiting: ItemRow) -> DroppedItem:
    state = "parked" if waiting.parked else "waits for its envelope"
    if row is waiting:
        return DroppedItem(row.id, "pending", state)
    return DroppedItem(row.id, "pending", f"{waiting.id} {state}")
