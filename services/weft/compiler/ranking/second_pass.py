"""Where a second pass over a list goes on. An agent often reads what a list names one by one, and
then acts on the same things in the same order, or in the order of a plan: after the last read comes
the first thing again, and after a call about one thing the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import LOOK_BACK, MAX_OTHER_CALLS, PASS_SHARE
from weft.compiler.ranking.calls import arguments_of, planned_order
from weft.compiler.ranking.listed_passes import Pass
from weft.compiler.ranking.loops import Stretch
from weft.readmodel.rows import ItemRow


def second_pass(
    groups: Sequence[Group], passes: Sequence[Pass], budget: int
) -> Mapping[int, Sequence[Stretch]]:
    """Sequence of an item → all of it, for the results of the first pass that the second one takes
    next. Empty without a first pass, or if they would take too much of the budget. `groups` are in
    order, `passes` are the latest, newest first."""
    if not passes:
        return {}
    first = passes[0]
    number = _next_number(groups, first)
    rows = () if number is None else groups[first.calls[number]].rows[1:]
    if sum(row.whole_tokens for row in rows) > budget * PASS_SHARE:
        return {}
    return {row.sequence: [(0, len(row.readable))] for row in rows}


def calls_ahead(
    groups: Sequence[Group],
    passes: Sequence[Pass],
    ahead: Mapping[int, Sequence[Stretch]],
    budget: int,
) -> Sequence[Group]:
    """The calls of passes of which a result is ahead in full: what the agent acts on next. They
    come before the list of its other calls."""
    places = [at for one in passes for at in one.calls] if ahead else []
    return [
        groups[at]
        for at in dict.fromkeys(places)
        if any(_is_ahead(row, ahead, budget) for row in groups[at].rows[1:])
    ]


def _is_ahead(row: ItemRow, ahead: Mapping[int, Sequence[Stretch]], budget: int) -> bool:
    everything = (0, len(row.readable))
    return row.whole_tokens <= budget * PASS_SHARE and everything in ahead.get(row.sequence, ())


def _next_number(groups: Sequence[Group], first: Pass) -> int | None:
    """The number of the thing that is acted on next; None behind the last."""
    calls = [at for at, group in enumerate(groups) if group.is_call][-LOOK_BACK:]
    later = [(at, arguments_of(groups[at])) for at in calls if at > first.calls[-1]]
    acted: dict[int, int] = {}
    for at, arguments in later:
        for number, held in enumerate(first.own):
            if held & arguments:
                acted.setdefault(number, at)
    planned = planned_order(groups, first.own, acted)
    order = planned or range(len(first.own))
    reached = _reached_number(first.own, order, [arguments for _, arguments in reversed(later)])
    if reached is not None:
        rest = order[order.index(reached) + 1 :]
        return rest[0] if rest else None
    if not planned and len(later) > MAX_OTHER_CALLS:
        return None
    return order[0]


def _reached_number(
    own: Sequence[frozenset[str]], order: Sequence[int], later: Sequence[frozenset[str]]
) -> int | None:
    """Which of the things the newest call about any of them was about, by its number."""
    for arguments in later:
        numbers = [number for number in order if own[number] & arguments]
        if numbers:
            return numbers[-1]
    return None
