"""Which records of a JSON list stand out: those with a rare value in a field that has few, those
without a value where the others have one, those at which the list leaves its order, and the first
of a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.passages.json_values import FIELD, RECORD, Value
from weft.passages.ordered import MIN_ORDERED, falls
from weft.passages.outliers import LOOK, MIN_COMPARED, has_few_values, max_rare, rare_groups
from weft.passages.sequence_breaks import sequence_breaks

OUTLIERS = 4
"""Most values that make records differ."""
MAX_LOOKED_AT, MAX_BEGINNING = 48_000, 2_000
"""Characters of all records in which fields with rare values are looked for, and of one of them:
clouds tell a state behind names and addresses. Of long lists it is the first 480 of each."""
MAX_COMPARED = 8_000
"""Most records of one list; more would take longer than everything else that is done with them."""


def outlier_records(text: str, records: list[Value]) -> frozenset[int]:
    """Positions of the records with a rare value in a field that has few, see `outliers`, of those
    without a value in a field that nearly all fill, of those at which a list of up to `LOOK` leaves
    its order, see `sequence_breaks`, and of the first one where a number or date falls from it on;
    the beginning of each is looked at."""
    # The text may be cut off in the last one.
    whole = [at for at, one in enumerate(records) if text[one.end - 1 : one.end] == "}"]
    if not MIN_ORDERED <= len(whole) <= MAX_COMPARED:
        return frozenset()
    fields = [_short_fields(text, records[at]) for at in whole[:LOOK]]
    names = _common(fields)
    falling = [name for name in names if falls(_column(fields, name))]
    filled = [
        name for name in names if len(whole) >= MIN_COMPARED and _is_filled(_column(fields, name))
    ]
    odd = frozenset(whole[at] for name in filled for at in _empty(_column(fields, name)))
    columns = [_column(fields, name) for name in names] if len(whole) <= LOOK else []
    odd = odd.union(whole[at] for at in sequence_breaks(columns)[:OUTLIERS])
    length = min(MAX_LOOKED_AT // len(whole), MAX_BEGINNING)
    if length > RECORD and len(whole) >= MIN_COMPARED:
        fields = [_short_fields(text, records[at], length) for at in whole[:LOOK]]
        names = _common(fields)
    few = [
        name
        for name in names
        if len(whole) >= MIN_COMPARED and has_few_values(_column(fields, name))
    ]
    if not few and not falling:  # most lists end here, so the other records need not be read
        return odd
    fields += [_short_fields(text, records[at]) for at in whole[LOOK:]]
    common = frozenset(_common(fields))
    is_ranked = any(name in common and falls(_column(fields, name)) for name in falling)
    few = [name for name in few if name in common]
    rare = rare_groups([[one[name] for name in few] for one in fields], OUTLIERS) if few else []
    outliers = odd.union(whole[at] for group in rare for at in group)
    return outliers.union(whole[:1]) if is_ranked else outliers


EMPTY = frozenset({"null", "None", '""', "[]", "{}"})
"""Values of a field without one."""


def _is_filled(column: Sequence[str]) -> bool:
    """Whether nearly all of these cells have a value, and so many different ones that `outliers`
    does not look at them."""
    return len(_empty(column)) <= max_rare(len(column)) and not has_few_values(column)


def _empty(column: Sequence[str]) -> list[int]:
    return [at for at, value in enumerate(column) if value in EMPTY]


def _column(fields: Sequence[Mapping[str, str]], name: str) -> list[str]:
    return [one[name] for one in fields]


def _short_fields(text: str, record: Value, length: int = RECORD) -> dict[str, str]:
    """The fields with a short value in the beginning of a record, by name."""
    return dict(FIELD.findall(text, record.start, min(record.end, record.start + length)))


def _common(fields: Sequence[Mapping[str, str]]) -> list[str]:
    """The names that all records have."""
    return [name for name in fields[0] if all(name in one for one in fields)]
