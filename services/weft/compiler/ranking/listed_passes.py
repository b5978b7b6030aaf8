"""Passes over a list: an agent reads what a list names one by one, with one tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import LATEST_PASSES, LOOK_BACK, MAX_COPIED_VALUES, MIN_PASS_CALLS
from weft.compiler.ranking.calls import own_arguments, tool_of


class Pass(msgspec.Struct, frozen=True):
    """Calls of one tool after each other, each about another thing of a list."""

    calls: tuple[int, ...]
    """Places of the groups."""
    own: tuple[frozenset[str], ...]
    """Of each call, the values that no other call of the pass has."""


def listed_passes(groups: Sequence[Group]) -> Iterator[Pass]:
    """The latest passes, newest first. `groups` are in order."""
    places = [at for at, group in enumerate(groups) if group.is_call][-LOOK_BACK:]
    for calls in _latest_runs(groups, places):
        own = own_arguments(groups, calls)
        are_few = all(0 < len(values) <= MAX_COPIED_VALUES for values in own)
        if are_few and _is_listed(groups, calls[0], own):
            yield Pass(calls, own)


def _latest_runs(groups: Sequence[Group], places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Calls of one tool after each other, if there are enough for a pass."""
    found = 0
    run: list[int] = []
    for at in (*reversed(places), None):
        if run and (at is None or tool_of(groups[at]) != tool_of(groups[run[-1]])):
            if len(run) >= MIN_PASS_CALLS:
                yield tuple(reversed(run))
                found += 1
            run = []
        if at is None or found == LATEST_PASSES:
            return
        run.append(at)


def _is_listed(groups: Sequence[Group], before: int, own: Sequence[frozenset[str]]) -> bool:
    """Whether one item before the pass names a value of each call, in their order."""
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
