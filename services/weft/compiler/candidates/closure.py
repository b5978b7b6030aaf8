"""Stage 2: dependency closure. A tool call and its results are one group, kept or dropped together;
any other item is a group of its own.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import attrgetter

import msgspec

from weft.compiler.ledger import Ledger
from weft.readmodel.rows import ItemRow
from weft.readmodel.view import SessionView
from weft_schemas.items import ItemKind

NEARBY = 32
"""Items on each side of a call that are searched for results tied to it only by `call_id`."""


class Group(msgspec.Struct, frozen=True, dict=True):
    """Items that are shown or dropped together: a call before its results, in order of
    sequence."""

    rows: tuple[ItemRow, ...]
    key: int
    """Its identity within one compile: the sequence of its first row."""
    last: int
    """Sequence of its newest item."""
    waits: str = ""
    """For a call without a shown result: what is known of the result."""

    @property
    def is_call(self) -> bool:
        """Whether it is a call, with its results if there are any."""
        return self.rows[0].kind is ItemKind.TOOL_CALL

    @property
    def whole_tokens(self) -> int:
        """Of all its items, as far as they are known."""
        return sum(max(row.whole_tokens, 0) for row in self.rows)

    @cached_property
    def call_signature(self) -> str:
        """What its call asks: the same for the same arguments, in whatever order."""
        call = self.rows[0]
        arguments = call.metadata.get("arguments")
        if isinstance(arguments, dict):
            written = json.dumps(arguments, sort_keys=True, default=str)
            return f"{call.metadata.get('tool_name')} {written}"
        return call.text


def group_of(rows: Sequence[ItemRow], waits: str = "") -> Group:
    """A group of these rows."""
    return Group(tuple(rows), rows[0].sequence, max(row.sequence for row in rows), waits)


NO_RESULT = "no result is in the log yet"
NOT_READY = "its result is not worked on yet"
GIVEN_UP = "its result could not be worked on"


def dependency_closure(
    view: SessionView, rows: Iterable[ItemRow], ledger: Ledger
) -> tuple[Group, ...]:
    """Groups in order of their first items: calls with their results, and results with their calls.
    Drops results whose call is not in the log, and items that wait for their envelope."""
    by_sequence = {row.sequence: row for row in rows}
    complete = _completed(view, by_sequence)
    ledger.total, ledger.closures = len(complete), len(complete) - len(by_sequence)
    groups: list[Group] = []
    answers = _answers(complete.values())
    for row in complete.values():
        if row.kind is ItemKind.TOOL_CALL:
            groups.append(_call_with_results(row, answers.pop(row.sequence, []), ledger))
        elif row.kind is not ItemKind.TOOL_RESULT and _is_open(row, ledger):
            groups.append(group_of([row]))
    for row in answers.get(0, ()):
        if _is_open(row, ledger):
            ledger.drop([row], "orphan", _orphan_reason(view, row))
    return tuple(sorted(groups, key=lambda group: group.key))


def _orphan_reason(view: SessionView, result: ItemRow) -> str:
    """Why no call has this result."""
    name = _call_id(result)
    parents = view.by_ids([result.parent_id]) if result.parent_id else []
    if parents:
        return f"its parent {result.parent_id!r:.80} is a {parents[0].kind.value} and no call"
    if result.parent_id:
        return f"its call {result.parent_id!r:.80} is not in the log"
    if name:
        return (
            f"no call with its call_id {name!r:.80} is within {NEARBY} items; name the call in "
            "`parent_id`"
        )
    return "it names no call; give `parent_id`, or the `call_id` that its call has"


def _is_open(row: ItemRow, ledger: Ledger) -> bool:
    """Whether it has a text to show; if not, that is noted."""
    if row.pending or row.parked:
        ledger.drop([row], "pending", "parked" if row.parked else "waits for its envelope")
        return False
    return True


def _call_with_results(call: ItemRow, results: Sequence[ItemRow], ledger: Ledger) -> Group:
    ready = [row for row in results if _is_open(row, ledger)]
    waits = "" if ready else NO_RESULT
    if len(ready) < len(results):
        waits = GIVEN_UP if all(row.parked for row in results if row not in ready) else NOT_READY
    return group_of([call, *ready], waits)


def _completed(view: SessionView, rows: dict[int, ItemRow]) -> dict[int, ItemRow]:
    """The rows, with the calls of their results and the results of their calls."""
    complete = dict(rows)
    ids = {row.id for row in rows.values()}
    call_ids = {
        row.parent_id
        for row in rows.values()
        if row.kind is ItemKind.TOOL_RESULT and row.parent_id and row.parent_id not in ids
    }
    found = view.by_ids(sorted(call_ids)) if call_ids else ()
    complete.update((row.sequence, row) for row in found if row.kind is ItemKind.TOOL_CALL)
    calls = sorted(row.id for row in complete.values() if row.kind is ItemKind.TOOL_CALL)
    if calls:
        complete.update(
            (row.sequence, row) for row in view.children(calls) if row.kind is ItemKind.TOOL_RESULT
        )
    _add_nearby(view, complete)
    return {sequence: complete[sequence] for sequence in sorted(complete)}


def _add_nearby(view: SessionView, complete: dict[int, ItemRow]) -> None:
    """Add calls and results that are tied only by their `call_id`."""
    answers = _answers(complete.values())
    orphans = {row.sequence for row in answers.get(0, ())}
    alone = [
        row
        for row in complete.values()
        if _call_id(row)
        and (
            (row.kind is ItemKind.TOOL_CALL and row.sequence not in answers)
            or row.sequence in orphans
        )
    ]
    held = {row.ordinal for row in complete.values()}
    places = {
        at
        for row in alone
        for at in range(max(row.ordinal - NEARBY, 0), row.ordinal + NEARBY + 1)
        if at not in held
    }
    if not places:
        return
    ids = {_call_id(row) for row in alone}
    for row in view.places(places):
        if row.kind in (ItemKind.TOOL_CALL, ItemKind.TOOL_RESULT) and _call_id(row) in ids:
            complete[row.sequence] = row


def _answers(rows: Iterable[ItemRow]) -> dict[int, list[ItemRow]]:
    """Results by the sequence of their call; 0 for those without one. A call may have several: that
    a job was started, and how it ended."""
    held = list(rows)
    calls = {row.id: row for row in held if row.kind is ItemKind.TOOL_CALL}
    found: dict[int, list[ItemRow]] = {}
    unnamed: list[ItemRow] = []
    for row in held:
        if row.kind is ItemKind.TOOL_RESULT:
            call = calls.get(row.parent_id or "")
            if call is None:
                unnamed.append(row)
            else:
                found.setdefault(call.sequence, []).append(row)
    named = _by_call_id(calls.values()) if unnamed else {}
    waiting = {
        name: [call for call in alike if call.sequence not in found]
        for name, alike in named.items()
    }
    for row in unnamed:
        alike = waiting.get(_call_id(row), [])
        if alike:
            call = alike.pop(_nearest(alike, row))
        else:
            answered = named.get(_call_id(row), [])
            call = answered[_nearest(answered, row)] if answered else None
        found.setdefault(call.sequence if call else 0, []).append(row)
    return found


def _by_call_id(calls: Iterable[ItemRow]) -> dict[str, list[ItemRow]]:
    """The calls that have a `call_id` by it, in order."""
    found: dict[str, list[ItemRow]] = {}
    for call in sorted(calls, key=attrgetter("ordinal")):
        if name := _call_id(call):
            found.setdefault(name, []).append(call)
    return found


def _nearest(calls: Sequence[ItemRow], result: ItemRow) -> int:
    """The place of the nearest call before the result, or else of the first one after it."""
    return max(bisect_left(calls, result.ordinal, key=attrgetter("ordinal")) - 1, 0)


def _call_id(row: ItemRow) -> str:
    named = row.metadata.get("call_id")
    return named if isinstance(named, str) else ""
