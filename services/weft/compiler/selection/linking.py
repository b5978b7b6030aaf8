"""The rows that link what the user asks about with what was fetched last. Without them a model sees
both ids, and nothing that says which of the one is which of the other."""

from __future__ import annotations

from collections.abc import Container, Sequence

from weft.compiler.profiles import LINK_SHARE
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.wanted_parts import with_wanted_parts
from weft.readmodel.rows import ItemRow


def with_links(choice: Choice, shown: Shown, kept: Container[int] = ()) -> Shown:
    """With these rows and records, newest first, as many as fit their share. Items that a stable
    prompt has `kept` stay as they are."""
    links = choice.scores.links
    if not links:
        return shown

    def linking(row: ItemRow) -> Sequence[frozenset[int]]:
        return [links[row.sequence]] if row.sequence in links else []

    return with_wanted_parts(choice, shown, linking, LINK_SHARE, kept)
