"""The ledger of a compile: each stage writes here what it dropped, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from weft.readmodel.rows import ItemRow
from weft_schemas.compile import DroppedItem


class Ledger:
    """The items considered, and those dropped with the first reason for each."""

    def __init__(self) -> None:
        self.total = 0
        """Candidates after dependency closure."""
        self.closures = 0
        """How many of these came because a call or a result needed them."""
        self.repeats = 0
        """Results that are shown as a reference to a later, equal one."""
        self.notes: list[str] = []
        """Plain sentences for readers of the stats."""
        self._dropped: dict[str, DroppedItem] = {}

    def drop(self, rows: Iterable[ItemRow], reason: str, detail: str = "") -> None:
        """These items are not in the prompt."""
        for row in rows:
            self._dropped.setdefault(row.id, DroppedItem(row.id, reason, detail))

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)

    @property
    def dropped(self) -> tuple[DroppedItem, ...]:
        return tuple(self._dropped.values())

    @property
    def reasons(self) -> dict[str, int]:
        return dict(Counter(drop.reason for drop in self._dropped.values()))
