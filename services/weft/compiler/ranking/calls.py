"""What calls say: their tool, their arguments, and the order in which messages plan them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import PLAN_MESSAGES
from weft.compiler.ranking.relevance import MESSAGES
from weft.compiler.ranking.values import values


def tool_of(group: Group) -> str:
    """The name of the tool that a call names."""
    return str(group.rows[0].metadata.get("tool_name"))


def arguments_of(group: Group) -> frozenset[str]:
    """The values that a call states."""
    return frozenset(values(group.rows[0].whole))


def own_arguments(groups: Sequence[Group], calls: Sequence[int]) -> tuple[frozenset[str], ...]:
    """Of each of the calls at these places, the values that no other one has."""
    arguments = [arguments_of(groups[at]) for at in calls]
    times = Counter(value for one in arguments for value in one)
    return tuple(frozenset(value for value in one if times[value] == 1) for one in arguments)


def planned_order(
    groups: Sequence[Group], own: Sequence[frozenset[str]], acted: Mapping[int, int] | None = None
) -> Sequence[int]:
    """The numbers of the things, each with values of its own, that one of the latest messages
    names, in its order: of the last message that names several. A message that names only what was
    `acted` on before, at these places, is a report and no plan. Empty without a plan."""
    done = acted or {}
    places = [at for at, group in enumerate(groups) if group.rows[0].kind in MESSAGES]
    for at in reversed(places[-PLAN_MESSAGES:]):
        order = {value: place for place, value in enumerate(values(groups[at].rows[0].whole))}
        named = sorted(
            (min(found), number)
            for number, held in enumerate(own)
            if (found := [order[value] for value in held if value in order])
        )
        is_report = all(done.get(number, at) < at for _, number in named)
        if len(named) > 1 and not is_report:
            return [number for _, number in named]
    return ()
