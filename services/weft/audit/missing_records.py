"""What a recorded compile showed and the log no longer holds. All that answers from the log asks
here first, so that none presents a part of it as the whole."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from weft.compiler.rendering.memory import LABELS, frozen_header
from weft.readmodel.rows import ItemRow
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, ManifestEntry
from weft_schemas.errors import InvalidInput


class MissingRecords(msgspec.Struct, frozen=True):
    """What is no longer in the log."""

    tombstone: int = 0
    """Sequence of the event that erased the session, 0 if none did."""
    trimmed: int = 0
    """Where a trimmed log begins; 0 for one that was not trimmed."""
    aged: int = 0
    """Where a log begins whose older events left it by age; 0 if none did."""

    @property
    def begins(self) -> int:
        """The first sequence of which sessions have all; 0 if the log is whole."""
        return max(self.trimmed, self.aged)

    @property
    def cut(self) -> str:
        """Where the log begins and why, in words; empty if it is whole."""
        if not self.begins:
            return ""
        if self.trimmed == self.begins:
            return f"the log was trimmed and begins at {self.trimmed}"
        return f"events before {self.aged} left the log by age"

    @property
    def cause(self) -> str:
        """In a word, why records of a compile are missing."""
        if not self.begins:
            return "deleted"
        return "trimmed" if self.trimmed == self.begins else "aged"


def why_gone(sequence: int, gone: MissingRecords) -> str:
    """Why an item's event is no longer in the log."""
    if sequence < gone.begins:
        # What both took away was trimmed first: a snapshot holds it for certain.
        cut = gone if sequence >= gone.trimmed else MissingRecords(trimmed=gone.trimmed)
        return f"{cut.cut}; look into a snapshot"
    return "the log does not hold it any more: somebody deleted it"


def row_of(one: ManifestEntry, rows: Mapping[int, ItemRow], gone: MissingRecords) -> ItemRow:
    """The row of an item that a manifest names, of the rows by sequence. Raises `InvalidInput` with
    the reason why there is none."""
    row = rows.get(one.sequence)
    if row is None or row.id != one.item_id:
        raise InvalidInput(
            f"item {one.item_id!r} (event {one.sequence}): {why_gone(one.sequence, gone)}"
        )
    return row


def missing_calls(audit: CompileAudit, view: SessionView, gone: MissingRecords) -> list[str]:
    """The calls that marks of a compile name and the log does not hold, each with the reason."""
    named = {at for one in audit.manifest for at in one.named}
    return [
        f"the call that a mark names (event {at}): {why_gone(at, gone)}"
        for at in sorted(named - {row.sequence for row in view.rows(named)})
    ]


def missing_of(audit: CompileAudit, view: SessionView, gone: MissingRecords) -> list[str]:
    """What a recorded compile showed or named that the log does not hold any more, each with the
    reason. `view` is at its sequence."""
    rows = {row.sequence: row for row in view.rows(one.sequence for one in audit.manifest)}
    found: list[str] = []
    for one in audit.manifest:
        if one.item_id:
            try:
                row_of(one, rows, gone)
            except InvalidInput as fault:
                found.append(str(fault))
    found += missing_calls(audit, view, gone)
    # A header can differ for other reasons, too; in a whole log they are no loss.
    if gone.begins and not _has_header(audit, view):
        found.append(f"what was remembered then: {gone.cut}; look into a snapshot")
    return found


def _has_header(audit: CompileAudit, view: SessionView) -> bool:
    """Whether the facts and episodes that it showed can be shown again."""
    _, policy = view.policy() if audit.request.policy is None else (0, audit.request.policy)
    shown = [one for one in audit.manifest if one.view.partition(" ")[0] in LABELS]
    return not shown or frozen_header(view, audit, policy) is not None
