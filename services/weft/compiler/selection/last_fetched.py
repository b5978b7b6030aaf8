"""What the agent fetched right before the user spoke: their turn is most often about it."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import LAST_FETCHED_SHARE, RESULT_TRIES, WITHOUT_LAST_FETCHED
from weft.compiler.rendering.cost import Shown
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.fill import fill
from weft.compiler.selection.runs import MAX_SAVED, fitting_run, merged
from weft.passages.landmarks import is_tree

_READ = 100_000
"""Characters of a result in which a page is looked for: a bound of work."""


def with_last_fetched(choice: Choice, shown: Shown) -> Shown:
    """With those of the calls between the two latest user turns that fit their share completely,
    newest first. Long results are left to the selection by parts."""
    if not choice.last_fetched:
        return shown
    used = choice.cost.exact(shown)
    shown = _with_newest(choice, shown, used)
    beyond = max(choice.budget - WITHOUT_LAST_FETCHED, 0) * LAST_FETCHED_SHARE
    limit = min(choice.budget, used + int(beyond))
    rest = _complete(choice, shown, choice.last_fetched, int(beyond))
    for _ in range(RESULT_TRIES):
        left = limit - choice.cost.exact(shown) + MAX_SAVED
        rest = [one for one in rest if choice.cost.block_tokens(one) <= left]
        if not rest:
            break
        run = _run(choice, shown, rest, limit)
        shown, rest = merged(shown, rest[:run]), rest[run + 1 :]
    return shown


def _with_newest(choice: Choice, shown: Shown, used: int) -> Shown:
    """With the newest call if it fits half of the budget, however small that is: an older one that
    fits instead of it says less. Of a page that does not fit, with its best parts: only what the
    newest one names can be clicked."""
    room = int(choice.budget * LAST_FETCHED_SHARE)
    newest, limit = choice.last_fetched[:1], min(choice.budget, used + room)
    if newest[0].key in shown:
        return shown
    complete = _complete(choice, shown, newest, room)
    if complete and choice.cost.exact(merged(shown, complete)) <= limit:
        return merged(shown, complete)
    is_page = any(is_tree(row.readable[:_READ]) for row in newest[0].rows[1:])
    return fill(choice, shown, newest, limit) if is_page else shown


def _complete(choice: Choice, shown: Shown, groups: Sequence[Group], room: int) -> list[Shown]:
    """The calls that are not shown and not clearly too large, each with all of its parts, in the
    shortest form."""
    return [
        {row.sequence: choice.renditions[row.sequence].compact() for row in group.rows}
        for group in groups
        if group.key not in shown and group.whole_tokens <= room
    ]


def _run(choice: Choice, shown: Shown, complete: Sequence[Shown], limit: int) -> int:
    """How many of them, from the first on, fit beside what is shown."""
    return fitting_run(
        choice.cost, lambda count: merged(shown, complete[:count]), len(complete), limit
    )
