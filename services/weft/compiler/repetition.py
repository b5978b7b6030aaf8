"""Stage 6: which groups repeat a newer one. Texts of one kind are compared, calls only with calls
of the same tool and arguments, since the same answer to another question is another fact."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from weft.compiler.closure import Group
from weft.compiler.deduplication import find_duplicates
from weft_schemas.compile import DroppedItem
from weft_schemas.items import ItemKind


class Distinct(msgspec.Struct, frozen=True):
    groups: tuple[Group, ...]
    dropped: tuple[DroppedItem, ...]


def drop_repetitions(
    groups: Sequence[Group], pinned: frozenset[int], redacted: frozenset[int], threshold: float
) -> Distinct:
    """The newest of each set of near-duplicates. A pinned group is never dropped, and masks say
    nothing about what is behind them."""
    alike: dict[str, list[Group]] = {}
    for group in reversed(groups):
        if redacted.isdisjoint([row.sequence for row in group.rows]):
            alike.setdefault(_question(group), []).append(group)
    dropped: list[DroppedItem] = []
    gone: set[int] = set()
    for members in alike.values():
        members.sort(key=lambda group: group.key not in pinned)
        repeated = find_duplicates([_answer(group) for group in members], threshold)
        for index, other in repeated.items():
            if members[index].key not in pinned:
                gone.add(members[index].key)
                detail = f"repeats {members[other].rows[0].id}"
                dropped += [DroppedItem(row.id, "duplicate", detail) for row in members[index].rows]
    return Distinct(tuple(group for group in groups if group.key not in gone), tuple(dropped))


def _question(group: Group) -> str:
    """Groups with the same one may repeat each other."""
    row = group.rows[0]
    if row.kind is not ItemKind.TOOL_CALL:
        return row.kind.value
    arguments = row.metadata.get("arguments")
    asked = json.dumps(arguments, sort_keys=True, default=str) if arguments else row.text
    return f"{row.metadata.get('tool_name')} {asked}"


def _answer(group: Group) -> str:
    """The words compared: the text, or what the call gave."""
    rows = group.rows[1:] if group.rows[0].kind is ItemKind.TOOL_CALL else group.rows
    return " ".join(row.text for row in rows)
