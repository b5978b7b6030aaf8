"""The changes from one version of a catalogue to the next."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft_schemas.routing import SelectableItem


class CatalogueDiff(msgspec.Struct, frozen=True):
    """The changes in a newer version, by id."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: dict[str, tuple[str, ...]]
    """Id → names of the fields that differ."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def difference(older: Iterable[SelectableItem], newer: Iterable[SelectableItem]) -> CatalogueDiff:
    """From one version to the next, in order of id."""
    before = {item.id: item for item in older}
    after = {item.id: item for item in newer}
    return CatalogueDiff(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed={
            item_id: _changed_fields(before[item_id], after[item_id])
            for item_id in sorted(before.keys() & after.keys())
            if before[item_id] != after[item_id]
        },
    )


def _changed_fields(before: SelectableItem, after: SelectableItem) -> tuple[str, ...]:
    return tuple(
        field
        for field in SelectableItem.__struct_fields__
        if getattr(before, field) != getattr(after, field)
    )
