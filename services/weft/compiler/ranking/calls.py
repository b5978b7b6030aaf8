"""What calls say: their tool, their arguments, and the order in which messages plan them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import LOOK_BACK, PLAN_MESSAGES
from weft.compiler.ranking.relevance import MESSAGES
from weft.compiler.ranking.values import values


def tool_of(group: Group) -> str:
    """The name of the tool that an exchange calls."""
    return str(group.rows[0].metadata.get("tool_name"))


def arguments_of(group: Group) -> frozenset[str]:
    """The values that a call states."""
    return frozenset(values(group.rows[0].whole))


def own_arguments(groups: Sequence[Group], calls: Sequence[int]) -> tuple[frozenset[str], ...]:
    """Of each of the calls at these places, the values that no other one has."""
    arguments = [arguments_of(groups[at]) for at in calls]
    times = Counter(value for one in arguments for value in one)
    return tuple(frozenset(value for value in one if times[value] == 1) for one in arguments)


def planned_order(groups: Sequence[Group], own: Sequence[frozenset[str]]) -> Sequence[int]:
    """The numbers of the things, each with values of its own, that one of the latest messages
    names, in its order: of the last message that names several. Empty without one."""
    messages = [group.rows[0] for group in groups[-LOOK_BACK:] if group.rows[0].kind in MESSAGES]
    for row in reversed(messages[-PLAN_MESSAGES:]):
        text = row.whole
        named = sorted(
            (min(places), number)
            for number, found in enumerate(own)
            if (places := [at for value in found if (at := text.find(value)) >= 0])
        )
        if len(named) > 1:
            return [number for _, number in named]
    return ()
