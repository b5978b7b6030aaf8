"""Which records of a JSON list differ from the others: those with a rare value in a field that has
few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.passages.json_values import FIELD, RECORD, Value
from weft.passages.outliers import LOOK, MANY, has_few, rare_groups

OUTLIERS = 4
"""Most values that make records differ."""
MOST_COMPARED = 8_000
"""Records of one list; more would take longer than all else that is done with them."""


def differing_records(text: str, records: list[Value]) -> frozenset[int]:
    """Positions of the records with a rare value in a field that has few, see `outliers`; the
    beginning of each is looked at."""
    # The text may be cut off in the last one.
    whole = [at for at, one in enumerate(records) if text[one.end - 1 : one.end] == "}"]
    if not MANY <= len(whole) <= MOST_COMPARED:
        return frozenset()
    fields = [_short_fields(text, records[at]) for at in whole[:LOOK]]
    names = [name for name in _common(fields) if has_few([one[name] for one in fields])]
    if not names:  # most lists end here, so the other records need not be read
        return frozenset()
    fields += [_short_fields(text, records[at]) for at in whole[LOOK:]]
    names = [name for name in _common(fields) if name in names]
    cells = [[one[name] for name in names] for one in fields]
    return frozenset(whole[at] for group in rare_groups(cells, OUTLIERS) for at in group)


def _short_fields(text: str, record: Value) -> dict[str, str]:
    """The fields with a short value in the beginning of a record, by name."""
    return dict(FIELD.findall(text, record.start, min(record.end, record.start + RECORD)))


def _common(fields: Sequence[Mapping[str, str]]) -> list[str]:
    """The names that all records have."""
    return [name for name in fields[0] if all(name in one for one in fields)]
