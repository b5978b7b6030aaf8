"""Which results may no longer hold, because later calls changed what they show. A call that says
more than it returns has changed something; one that returns more than it says has read it.

A long query with a short answer is taken for a change, too. Of 358 calls of recorded sessions that
say more than they return, 65 are of tools that read elsewhere in their session; about 45 of these
are changes, by a shell or an editor, so leaving such tools out is wrong more often. To count only
what a call says beyond its result makes little of changes whose result repeats them, and states
.001 less of what the next step needs in two of four sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import CALL_TEXT
from weft.compiler.ranking.values import REMEMBERED, values

_failed = attrgetter("failed")


def changed_since(groups: Sequence[Group], redacted: Collection[int]) -> Mapping[int, float]:
    """By the key of a call that read something, how much of that later calls have changed, above 0
    to 1: the text of those that name the same things, against the text of what was read. An agent
    that changes a line of a file needs the rest of what it read. Failed calls and masked ones never
    count."""
    changed: dict[str, int] = defaultdict(int)
    found: dict[int, float] = {}
    for group in reversed(groups):
        call, results = group.rows[0], group.rows[1:]
        if not results or group.key in redacted or any(map(_failed, results)):
            continue
        about = _named(call.whole[:CALL_TEXT])
        said, returned = call.size_of_whole, sum([row.size_of_whole for row in results])
        if returned <= said:
            changed.update((value, changed[value] + said) for value in about)
        elif total := sum([changed[value] for value in about if value in changed]):
            found[group.key] = min(total / len(about) / returned, 1.0)
    return found


@lru_cache(maxsize=REMEMBERED)
def _named(text: str) -> frozenset[str]:
    """The names and ids in the beginning of a call. Numbers are places or amounts."""
    return frozenset(value for value in values(text) if not value.replace(".", "").isdigit())
