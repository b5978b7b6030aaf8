"""Which of the calls that are left out are named in the marks: those that failed for good, then the
newest, as many as there is room for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice

import msgspec

from weft.compiler.profiles import MIN_NAMED_CALL, NAMED_CALL, NAMED_SHARE, WITHOUT_NAMES
from weft.compiler.rendering.cost import Shown
from weft.compiler.rendering.named_calls import NamedCall, named_calls
from weft.compiler.selection.budget import nearest_that_fits
from weft.compiler.selection.choice import Choice


def room_for_names(choice: Choice) -> int:
    """Tokens that are taken from the least important content for names; none if the budget is
    small, or if no call follows."""
    if not choice.names_calls:
        return 0
    calls = sum(group.is_call for group in choice.groups) + len(choice.older_calls)
    return min(_most_room(choice.budget), calls * NAMED_CALL)


def most_names(budget: int) -> int:
    """More calls than there is room to name."""
    return _most_room(budget) // MIN_NAMED_CALL


def _most_room(budget: int) -> int:
    return int(max(budget - WITHOUT_NAMES, 0) * NAMED_SHARE)


def with_named_calls(choice: Choice, calls: Mapping[int, NamedCall]) -> Choice:
    """The choice with marks that name these calls, by sequence, where they are left out."""
    return msgspec.structs.replace(choice, cost=choice.cost.with_named_calls(calls))


def with_names(
    choice: Choice,
    shown: Shown,
    kept: Collection[int] = (),
    after: int = 0,
    room: int | None = None,
) -> Choice:
    """The choice with marks that name the `kept` calls and, of those that came after the item
    `after`, those that failed for good and the newest for which there is room: `room` tokens, or
    the usual share. Before an answer, names take no room from content, only what is left of the
    budget."""
    first = {one.key for one in choice.unresolved}
    told = (*choice.groups, *choice.older_calls) if choice.names_calls else choice.unresolved
    left = [one for one in told if one.key not in shown and one.key > after]
    newest = sorted(left, key=lambda one: (one.key not in first, -one.key))
    if room is None:
        room = room_for_names(choice) if choice.names_calls else choice.budget
    offered = named_calls(newest, choice.withheld, most=room)
    before = named_calls([one for one in choice.groups if one.key in kept], choice.withheld)
    size = choice.cost.size(shown)
    # Sizes of messages are only approximate.
    limit = min(choice.budget + size - choice.cost.exact(shown), size + room)

    def with_newest(count: int) -> Choice:
        return with_named_calls(choice, {**before, **dict(islice(offered.items(), count))})

    count = nearest_that_fits(
        len(offered),
        lambda count: with_newest(count).cost.size(shown) <= limit,
        room // NAMED_CALL,
    )
    while count and not with_newest(count).cost.fits(shown, choice.budget):
        count = count * 3 // 4
    return with_newest(count)
