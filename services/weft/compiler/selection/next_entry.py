"""What a loop takes next. An agent that works through a list and no longer sees it makes up the
next entry, or begins again: so the list stands before the other calls of the loop."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence

from weft.compiler.profiles import NEXT_SHARE
from weft.compiler.ranking.loops import Stretch
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.wanted_parts import with_wanted_parts
from weft.readmodel.rows import ItemRow


def with_next_entry(choice: Choice, shown: Shown, kept: Container[int] = ()) -> Shown:
    """With the parts of items that the loop takes next, newest first, as many as fit. Items that a
    stable prompt has `kept` stay as they are."""
    ahead = choice.scores.ahead
    if not ahead:
        return shown

    def next_parts(row: ItemRow) -> Iterator[frozenset[int]]:
        return _parts_in(row, ahead.get(row.sequence, ()))

    return with_wanted_parts(choice, shown, next_parts, NEXT_SHARE, kept)


def _parts_in(row: ItemRow, stretches: Sequence[Stretch]) -> Iterator[frozenset[int]]:
    """What these stretches begin with: first a part of each, then one record after the other, each
    with all of its parts; nothing for an item that is ahead in full."""
    if row.parts is None:
        return
    leaves = row.parts.leaves
    first = {
        at: end
        for start, end in stretches
        if 0 < start < leaves[-1].end
        for at in [bisect_right(leaves, start, key=lambda leaf: leaf.end)]
    }
    if first:
        yield frozenset(first)
    for at, end in sorted(first.items()):
        while at < len(leaves) and leaves[at].end <= end and (record := row.parts.record_at(at)):
            yield frozenset(record)
            at = record.stop
