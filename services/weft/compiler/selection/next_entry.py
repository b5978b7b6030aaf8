"""What a loop takes next. An agent that works through a list and no longer sees it makes up the
next entry, or begins again: so the list stands before the other calls of the loop."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import NEXT_SHARE
from weft.compiler.ranking.loops import Stretch
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import is_stub, shown_parts
from weft.compiler.selection.choice import Choice
from weft.readmodel.rows import ItemRow


def with_next_entry(choice: Choice, shown: Shown, kept: Container[int] = ()) -> Shown:
    """With the parts of items that the loop takes next, newest first, as many as fit. Items that a
    stable prompt has `kept` stay as they are."""
    ahead = choice.scores.ahead
    if not ahead:
        return shown
    limit = min(choice.budget, choice.cost.exact(shown) + int(choice.budget * NEXT_SHARE))
    for group in reversed(choice.groups):
        for row in group.rows:
            if row.sequence in kept:
                continue
            for parts in _parts_in(row, ahead.get(row.sequence, ())):
                more = with_parts(choice, shown, group, row, parts)
                if not choice.cost.fits(more, limit):
                    break
                shown = more
    return shown


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


def with_parts(
    choice: Choice, shown: Shown, group: Group, row: ItemRow, parts: frozenset[int]
) -> Shown:
    """With these parts of an item beside what is shown of it."""
    before = shown.get(row.sequence)
    held = frozenset[int]() if before is None or is_stub(before) else shown_parts(row, before)
    if parts <= held:
        return shown
    least = {one.sequence: choice.renditions[one.sequence].choose(()) for one in group.rows}
    chosen = choice.renditions[row.sequence].choose(held | parts)
    return {**least, **shown, row.sequence: chosen}
