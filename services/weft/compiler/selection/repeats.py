"""Repeated results: the same call with the same result later on. The earlier result becomes a
reference. Nothing else is left out because it is similar."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from weft.compiler.candidates.closure import Group
from weft.readmodel.rows import ItemRow

LEAST = 200
"""Characters of the shortest result that a reference replaces."""


def repeated(groups: Sequence[Group], redacted: Collection[int]) -> frozenset[int]:
    """Sequences of the results that a later group repeats exactly. Masked results never count as
    equal, because masks hide what differs."""
    newest: dict[tuple[str, int], list[ItemRow]] = {}
    found: set[int] = set()
    for group in reversed(groups):
        if not group.is_exchange or any(row.sequence in redacted for row in group.rows):
            continue
        asked = _asked(group)
        for row in group.rows[1:]:
            if row.size_of_whole < LEAST:
                continue
            alike = newest.setdefault((asked, row.size_of_whole), [])
            if any(later.whole == row.whole for later in alike):
                found.add(row.sequence)
            alike.append(row)
    return frozenset(found)


def _asked(group: Group) -> str:
    call = group.rows[0]
    arguments = call.metadata.get("arguments")
    if isinstance(arguments, dict):
        written = json.dumps(arguments, sort_keys=True, default=str)
        return f"{call.metadata.get('tool_name')} {written}"
    return call.text
