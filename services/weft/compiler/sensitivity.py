"""Stage 3: the sensitivity floor. What reaches it is dropped with everything that needs it, or
redacted before any later stage sees its text."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.compiler.closure import Group, group_of
from weft.compiler.redaction import RedactionHook, redaction_hook
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import DroppedItem
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, SensitivityAction


class Cleared(msgspec.Struct, frozen=True):
    groups: tuple[Group, ...]
    dropped: tuple[DroppedItem, ...]
    redacted: frozenset[int]
    """Sequences whose text is the hook's."""


def apply_floor(groups: Iterable[Group], policy: ContextPolicy) -> Cleared:
    """Groups without sensitive text, and who was dropped for it."""
    floor = policy.sensitivity_floor
    if policy.sensitivity_action is SensitivityAction.REDACT:
        return _redacted(groups, floor, redaction_hook(policy.redaction_hook))
    subject = frozenset(level for level in Sensitivity if level.reaches(floor))
    kept, dropped = [], []
    for group in groups:
        if not subject.isdisjoint([row.sensitivity for row in group.rows]):
            dropped += [_drop(row, floor) for row in group.rows]
        else:
            kept.append(group)
    return Cleared(tuple(kept), tuple(dropped), frozenset())


def _drop(row: ItemRow, floor: Sensitivity) -> DroppedItem:
    if row.sensitivity.reaches(floor):
        return DroppedItem(row.id, "sensitivity", f"{row.sensitivity.value}, floor {floor.value}")
    return DroppedItem(row.id, "orphan", "its call or result is above the sensitivity floor")


def _redacted(groups: Iterable[Group], floor: Sensitivity, hook: RedactionHook) -> Cleared:
    shown: list[Group] = []
    redacted: set[int] = set()
    for group in groups:
        rows = []
        for row in group.rows:
            if row.sensitivity.reaches(floor):
                redacted.add(row.sequence)
                row = redact(row, hook)
            rows.append(row)
        shown.append(group_of(rows))
    return Cleared(tuple(shown), (), frozenset(redacted))


def redact(row: ItemRow, hook: RedactionHook) -> ItemRow:
    """The row with the hook's text, and without every other form of the old one."""
    text = hook(row.text, row.sensitivity, row)
    metadata = row.metadata
    if row.kind is ItemKind.TOOL_CALL and "arguments" in metadata:
        metadata = {**metadata, "arguments": {"redacted": text}}
    return msgspec.structs.replace(
        row, text=text, tokens=-1, metadata=metadata, envelope=None, summary="", summary_tokens=0
    )
