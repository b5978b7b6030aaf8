"""What the agent fetched right before the user spoke: their turn is most often about it."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.profiles import LAST_FETCHED_SHARE, RESULT_TRIES, WITHOUT_LAST_FETCHED
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.runs import MAX_SAVED, fitting_run, merged


def with_last_fetched(choice: Choice, shown: Shown) -> Shown:
    """With those of the calls between the two latest user turns that fit their share completely,
    newest first. Long results are left to the selection by parts."""
    room = int(max(choice.budget - WITHOUT_LAST_FETCHED, 0) * LAST_FETCHED_SHARE)
    rest = _complete(choice, shown, room) if room else []
    if not rest:
        return shown
    limit = min(choice.budget, choice.cost.exact(shown) + room)
    for _ in range(RESULT_TRIES):
        run = _run(choice, shown, rest, limit)
        shown = merged(shown, rest[:run])
        left = limit - choice.cost.exact(shown) + MAX_SAVED
        rest = [one for one in rest[run + 1 :] if choice.cost.block_tokens(one) <= left]
        if not rest:
            break
    return shown


def _complete(choice: Choice, shown: Shown, room: int) -> list[Shown]:
    """The calls that are not shown and not clearly too large, each with all of its parts, in the
    shortest form."""
    return [
        {row.sequence: choice.renditions[row.sequence].compact() for row in group.rows}
        for group in choice.last_fetched
        if group.key not in shown and group.whole_tokens <= room
    ]


def _run(choice: Choice, shown: Shown, complete: Sequence[Shown], limit: int) -> int:
    """How many of them, from the first on, fit beside what is shown."""
    return fitting_run(
        choice.cost, lambda count: merged(shown, complete[:count]), len(complete), limit
    )
