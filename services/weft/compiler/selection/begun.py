"""What fills the room that is left at the end: the beginning of an item of which no part fits."""

from __future__ import annotations

from weft.compiler.profiles import BEGUN, LEAST_PIN
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import is_stub
from weft.compiler.renditions.shape import Shape
from weft.compiler.selection.budget import longest_beginning
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.fill import additions_to
from weft_schemas.items import ItemKind


def with_beginning(choice: Choice, shown: Shown) -> Shown:
    """With as much as fits of the beginning of the most valuable item of which nothing is shown, or
    a line about it."""
    if choice.budget - choice.cost.exact(shown) < LEAST_PIN:
        return shown
    additions, shapes = additions_to(choice, shown, choice.groups, choice.budget)
    untold = {
        one.sequence: one.group
        for one in additions
        if _is_untold(shown, one.sequence) and not _is_call(shapes[one.sequence])
    }
    for sequence, group in list(untold.items())[:BEGUN]:
        others = {
            row.sequence: shapes[row.sequence].choose(())
            for row in group.rows
            if row.sequence not in shown
        }
        more = longest_beginning(shown, others, shapes[sequence], choice.cost, choice.budget)
        if more is not None and _tells_more(more, shown, sequence):
            return {**shown, **more}
    return shown


def _is_untold(shown: Shown, sequence: int) -> bool:
    return sequence not in shown or is_stub(shown[sequence])


def _is_call(shape: Shape) -> bool:
    """Calls are not begun: each shown call tells all of its arguments."""
    return shape.row.kind is ItemKind.TOOL_CALL


def _tells_more(more: Shown, shown: Shown, sequence: int) -> bool:
    """A stub shows the line that says most, so a beginning has to be longer by half."""
    held = shown.get(sequence)
    return held is None or 2 * len(more[sequence].text) > 3 * len(held.text)
