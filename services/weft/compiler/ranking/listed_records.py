"""Which records of a list matter by name: those that what was said and done last names, and those
that calls have left aside since they took others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from weft.compiler.profiles import FEW, FEW_SHARE, MIN_PARTS
from weft.compiler.ranking.values import values

Parts = Sequence[tuple[int, str]]
"""Numbers and texts of parts."""


def named_records(
    parts: Parts, record_of: Mapping[int, int], stated: frozenset[str]
) -> frozenset[int]:
    """The parts of records that state one of these values, if few records of the list do.
    `record_of` gives the record of a part in a list."""
    named = _stating(_values_of_records(parts, record_of, stated))
    return frozenset(number for number, _ in parts if record_of.get(number) in named)


def passed_over(
    parts: Parts, record_of: Mapping[int, int], called: frozenset[str]
) -> frozenset[int]:
    """The parts of records that calls left aside: one or a few others state the values that later
    calls took. An agent that calls for most records works through the list."""
    records = _values_of_records(parts, record_of, called)
    taken = _stating(records)
    if not 0 < len(taken) <= max(1, len(records) * FEW_SHARE):
        return frozenset()
    left = records.keys() - taken
    return frozenset(number for number, _ in parts if record_of.get(number) in left)


def _values_of_records(
    parts: Parts, record_of: Mapping[int, int], wanted: frozenset[str]
) -> Mapping[int, set[str]]:
    """Which of the wanted values each record of a list states; of a short list, nothing."""
    found: dict[int, set[str]] = {}
    for number, text in parts if wanted else ():
        if number in record_of:
            found.setdefault(record_of[number], set()).update(wanted.intersection(values(text)))
    return found if len(found) >= MIN_PARTS else {}


def _stating(records: Mapping[int, set[str]]) -> frozenset[int]:
    """The records with a value that at most a few of them state: one that many do, such as the
    warehouse of all goods, names none."""
    most = max(FEW, len(records) * FEW_SHARE)
    counts = Counter(value for found in records.values() for value in found)
    return frozenset(
        record for record, found in records.items() if any(counts[value] <= most for value in found)
    )
