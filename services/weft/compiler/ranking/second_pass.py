"""Where a second pass over a list goes on. An agent often reads what a list names one by one, and
then acts on the same things in the same order: after the last read comes the first thing again, and
after a call about one thing the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import (
    LEAST_PASS,
    LOOK_BACK,
    MOST_ASIDE,
    MOST_COPIED,
    PASS_SHARE,
)
from weft.compiler.ranking.loops import Stretch, arguments_of, tool_of


def second_pass(groups: Sequence[Group], budget: int) -> Mapping[int, Sequence[Stretch]]:
    """Sequence of an item → all of it, for the results of the first pass that the second one takes
    next. Empty without a first pass, or if they would take too much of the budget. `groups` are in
    order."""
    calls = [at for at, group in enumerate(groups) if group.is_exchange][-LOOK_BACK:]
    run = _newest_run(groups, calls)
    own = _own_arguments(groups, run)
    if not run or not all(0 < len(values) <= MOST_COPIED for values in own):
        return {}
    if not _is_listed(groups, run[0], own):
        return {}
    later = [arguments_of(groups[at]) for at in reversed(calls) if at > run[-1]]
    place = _reached(own, later) + 1
    if place == 0 and len(later) > MOST_ASIDE:
        return {}
    rows = groups[run[place]].rows[1:] if place < len(run) else ()
    if sum(row.whole_tokens for row in rows) > budget * PASS_SHARE:
        return {}
    return {row.sequence: [(0, len(row.readable))] for row in rows}


def _newest_run(groups: Sequence[Group], calls: Sequence[int]) -> list[int]:
    """The newest calls of one tool after each other, if there are enough for a pass."""
    run: list[int] = []
    for at in reversed(calls):
        if run and tool_of(groups[at]) != tool_of(groups[run[-1]]):
            if len(run) >= LEAST_PASS:
                break
            run = []
        run.append(at)
    return run[::-1] if len(run) >= LEAST_PASS else []


def _own_arguments(groups: Sequence[Group], run: Sequence[int]) -> list[frozenset[str]]:
    """Of each call, the values that no other call of the run has."""
    arguments = [arguments_of(groups[at]) for at in run]
    times = Counter(value for one in arguments for value in one)
    return [frozenset(value for value in one if times[value] == 1) for one in arguments]


def _is_listed(groups: Sequence[Group], before: int, own: Sequence[frozenset[str]]) -> bool:
    """Whether one item before the run names a value of each call, in their order."""
    first = max(before - LOOK_BACK, 0)
    return any(
        _names_in_order(row.whole, own) for group in groups[first:before] for row in group.rows
    )


def _names_in_order(text: str, own: Sequence[frozenset[str]]) -> bool:
    end = 0
    for values in own:
        places = [(at, value) for value in values if (at := text.find(value, end)) >= 0]
        if not places:
            return False
        at, value = min(places)
        end = at + len(value)
    return True


def _reached(own: Sequence[frozenset[str]], later: Sequence[frozenset[str]]) -> int:
    """The place in the run of the thing that the newest call about one of them was about; -1 if
    there is no such call."""
    for arguments in later:
        places = [place for place, values in enumerate(own) if values & arguments]
        if places:
            return places[-1]
    return -1
