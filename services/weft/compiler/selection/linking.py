"""The rows that link what the user asks about with what was fetched last. Without them a model sees
both ids, and nothing that says which of the one is which of the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container

from weft.compiler.profiles import LINK_SHARE
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.next_entry import with_parts


def with_links(choice: Choice, shown: Shown, kept: Container[int] = ()) -> Shown:
    """With these rows and records, newest first, as many as fit their share. Items that a stable
    prompt has `kept` stay as they are."""
    links = choice.scores.links
    if not links:
        return shown
    limit = min(choice.budget, choice.cost.exact(shown) + int(choice.budget * LINK_SHARE))
    for group in reversed(choice.groups):
        for row in group.rows:
            if row.sequence in kept or row.sequence not in links or row.parts is None:
                continue
            leaves = row.parts.leaves
            parts = frozenset(
                number
                for start, end in links[row.sequence]
                for number in range(
                    bisect_right(leaves, start, key=lambda leaf: leaf.end),
                    bisect_right(leaves, end, key=lambda leaf: leaf.end),
                )
            )
            more = with_parts(choice, shown, group, row, parts)
            if choice.cost.fits(more, limit):
                shown = more
    return shown
