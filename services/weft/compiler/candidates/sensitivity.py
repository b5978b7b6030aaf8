"""Stage 3: the sensitivity floor. Items at or above it are dropped, a call with its results,
or redacted before any later stage sees their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from weft.compiler.candidates.closure import Group, group_of
from weft.compiler.candidates.flags import Flags, apply_actions
from weft.compiler.candidates.tool_rules import with_call_sensitivity
from weft.compiler.ledger import Ledger
from weft.readmodel.rows import ItemRow
from weft.redaction import RedactionHook, redaction_hook
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, SensitivityAction


def withhold(
    groups: Sequence[Group], flags: Flags, policy: ContextPolicy, ledger: Ledger
) -> tuple[tuple[Group, ...], frozenset[int]]:
    """`with_call_sensitivity`, `apply_actions` and `apply_floor`: the remaining groups, and the
    redacted sequences."""
    groups = with_call_sensitivity(groups, policy.firewall)
    kept, flagged = apply_actions(groups, flags, policy.firewall, ledger)
    return apply_floor(kept, policy, ledger, flagged)


def apply_floor(
    groups: Iterable[Group],
    policy: ContextPolicy,
    ledger: Ledger,
    flagged: frozenset[int] = frozenset(),
) -> tuple[tuple[Group, ...], frozenset[int]]:
    """Groups without sensitive text, and the sequences with the redaction hook's text, including
    `flagged` ones of any level."""
    floor = policy.sensitivity_floor
    if policy.sensitivity_action is SensitivityAction.REDACT:
        return _redacted(groups, floor, redaction_hook(policy.redaction_hook), flagged)
    if flagged:
        groups, _ = _redacted(groups, None, redaction_hook(policy.redaction_hook), flagged)
    subject = frozenset(level for level in Sensitivity if level.reaches(floor))
    kept = []
    for group in groups:
        if subject.isdisjoint([row.sensitivity for row in group.rows]):
            kept.append(group)
            continue
        above = [row for row in group.rows if row.sensitivity.reaches(floor)]
        for row in above:
            ledger.drop([row], "sensitivity", f"{row.sensitivity.value}, floor {floor.value}")
        rest = [row for row in group.rows if not row.sensitivity.reaches(floor)]
        if group.rows[0].sensitivity.reaches(floor):
            if rest:
                ledger.drop(rest, "orphan", "its call is at or above the sensitivity floor")
        else:
            kept.append(group_of(rest, WITHHELD))
    return tuple(kept), flagged


WITHHELD = "withheld: at or above the sensitivity floor"
"""Replaces such a result in a prompt. Its call stays, since an agent might repeat it."""


def _redacted(
    groups: Iterable[Group],
    floor: Sensitivity | None,
    hook: RedactionHook,
    flagged: frozenset[int],
) -> tuple[tuple[Group, ...], frozenset[int]]:
    shown: list[Group] = []
    redacted: set[int] = set()
    for group in groups:
        rows = []
        for row in group.rows:
            is_sensitive = floor is not None and row.sensitivity.reaches(floor)
            if is_sensitive or row.sequence in flagged:
                redacted.add(row.sequence)
                row = redact(row, hook)
            rows.append(row)
        shown.append(msgspec.structs.replace(group, rows=tuple(rows)))
    return tuple(shown), frozenset(redacted)


def redact(row: ItemRow, hook: RedactionHook) -> ItemRow:
    """The row with the hook's text, and without any other form of its own."""
    text = hook(row.text, row.sensitivity, row)
    metadata = row.metadata
    if row.kind is ItemKind.TOOL_CALL and "arguments" in metadata:
        metadata = {**metadata, "arguments": {"redacted": text}}
    return msgspec.structs.replace(
        row, text=text, tokens=-1, metadata=metadata, envelope=None, summary="", summary_tokens=0,
        outline=b"", packed=b"", packed_tokens=0, stored=0,
    )  # fmt: skip
