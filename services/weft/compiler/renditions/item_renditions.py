"""All ways in which a prompt may show an item, and what is shown of it in each."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from weft.compiler.profiles import DENSITY
from weft.compiler.renditions.error_parts import error_parts
from weft.compiler.renditions.rendition import (
    Rendition,
    beginning_rendition,
    compact_rendition,
    part_count,
    parts_rendition,
    whole_rendition,
)
from weft.passages.part import Part, leaf_count
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind


class ItemRenditions(msgspec.Struct, frozen=True):
    """All ways to show one item."""

    row: ItemRow
    redacted: bool
    fixed: Rendition | None
    """If there is no choice."""
    required: frozenset[int]
    """Parts that are shown whenever the item is."""
    is_limited: bool = False
    """`fixed` is the policy's, and applies even if there is room for more."""
    made: dict[frozenset[int] | None, Rendition] = msgspec.field(default_factory=dict)
    """Each rendition that was asked for, by its parts; the whole item under None. What an entry
    costs is remembered by its rendition."""

    def choose(self, chosen: Collection[int]) -> Rendition:
        """The rendition of these parts and the required ones."""
        if self.fixed is not None:
            return self.fixed
        if self.redacted:
            # A stub would tell the size of what is hidden.
            return whole_rendition(self.row, redacted=True)
        taken = self.required.union(chosen)
        made = self.made.get(taken)
        if made is None:
            is_all = len(taken) == part_count(self.row)
            made = self.made[taken] = (
                compact_rendition(self.row) if is_all else parts_rendition(self.row, taken)
            )
        return made

    def beginning(self, limit: int) -> Rendition:
        """Its first `limit` tokens or so, or the whole of a short item."""
        is_short = self.row.whole_tokens <= limit or self.fixed is not None or self.redacted
        return self.whole() if is_short else beginning_rendition(self.row, limit)

    def compact(self) -> Rendition:
        """All of its parts."""
        return self.choose(range(part_count(self.row, self.redacted)))

    def whole(self) -> Rendition:
        """The whole item, as far as the policy allows."""
        if self.fixed is not None or self.redacted:
            return self.fixed or whole_rendition(self.row, redacted=True)
        made = self.made.get(None)
        if made is None:
            made = self.made[None] = whole_rendition(self.row)
        return made


def required_parts(row: ItemRow) -> frozenset[int]:
    """Parts that are shown whenever the item is: a call's arguments (the beginning of long ones),
    the only part of an item, and what tells of a failed result how and why it failed."""
    outline = row.parts
    if row.kind is ItemKind.TOOL_CALL:
        return frozenset({0}) if outline is None else frozenset(_arguments(outline.root))
    if row.kind is ItemKind.TOOL_RESULT and row.failed:
        return frozenset({0} if outline is None else error_parts(row.readable, outline))
    return frozenset()


def _arguments(root: Part) -> list[int]:
    """The first leaf of each argument."""
    found, number = [], 0
    for child in root.children:
        found.append(number)
        number += leaf_count(child)
    return found


def density_of(row: ItemRow) -> float:
    """Tokens per character."""
    size, tokens = row.size_of_whole, row.whole_tokens
    return tokens / size if size and tokens > 0 else DENSITY
