"""The fields from which the newest calls took values: a later call probably takes the same field
of another record, or of a newer state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import COPYING_CALLS, FOCUS_LOOK_BACK, FOCUS_TEXT
from weft.compiler.ranking.focus import is_specific
from weft.compiler.ranking.value_weights import fields_in
from weft.compiler.ranking.values import values

_REMEMBERED = 512
"""Results of which the fields are cached."""


def copied_fields(groups: Sequence[Group]) -> frozenset[str]:
    """The names of the fields of results whose specific values the newest calls after them state,
    under whatever name. `groups` are in order."""
    recent = groups[-FOCUS_LOOK_BACK:]
    found: set[str] = set()
    for at in [at for at, group in enumerate(recent) if group.is_call][-COPYING_CALLS:]:
        taken = values(recent[at].rows[0].whole[:FOCUS_TEXT])
        rows = [row for group in recent[:at] for row in group.rows[1:]]
        read = (_specific_fields(row.whole[:FOCUS_TEXT]) for row in rows)
        found.update(name for fields in read for name, value in fields if value in taken)
    return frozenset(found)


@lru_cache(maxsize=_REMEMBERED)
def _specific_fields(text: str) -> tuple[tuple[str, str], ...]:
    named = ((name, value.strip("\\\"' ")) for name, value in fields_in(text))
    return tuple(one for one in named if is_specific(one[1]))
