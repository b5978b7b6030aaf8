"""Which results may no longer hold, because later calls changed what they show. A call that says
more than it returns has changed something; one that returns more than it says has read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from weft.compiler.candidates.closure import Group
from weft.compiler.ranking.values import values

CALL_TEXT = 400
"""Characters at the beginning of a call that are read for what it is about."""


def changed_since(groups: Sequence[Group], redacted: Collection[int]) -> Mapping[int, float]:
    """By the key of a call that read something, how much of that later calls have changed, above 0
    to 1: the text of those that name the same things, against the text of what was read. An agent
    that changes a line of a file needs the rest of what it read. Failed calls and masked ones never
    count."""
    changed: dict[str, int] = defaultdict(int)
    found: dict[int, float] = {}
    for group in reversed(groups):
        if not _is_answered(group) or group.key in redacted:
            continue
        about = _named(group)
        said, returned = (
            group.rows[0].size_of_whole,
            sum(row.size_of_whole for row in group.rows[1:]),
        )
        if returned <= said:
            changed.update((value, changed[value] + said) for value in about)
        elif total := sum(changed.get(value, 0) for value in about):
            found[group.key] = min(total / len(about) / returned, 1.0)
    return found


def _is_answered(group: Group) -> bool:
    results = group.rows[1:]
    return group.is_call and bool(results) and not any(row.failed for row in results)


def _named(group: Group) -> frozenset[str]:
    """The names and ids at the beginning of a call. Numbers are places or amounts."""
    found = values(group.rows[0].whole[:CALL_TEXT])
    return frozenset(value for value in found if not value.replace(".", "").isdigit())
