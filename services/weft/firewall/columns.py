"""What the records of a result have in common, field by field over every record: the values of
fields with few different ones, and their counts; the extremes of numbers; and the records that
differ from all others. Linear in the number of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, islice

import msgspec

from weft.firewall.json_leaves import key_worth, value_worth
from weft.firewall.verbatim_json import encoded, kinds_of
from weft.passages.outliers import MIN_COMPARED, max_rare

MAX_LISTED_VALUES = 16
"""A field with at most this many different values is described by listing them."""
_NUMBERS = 5
"""With more different numbers than this, their extremes say more."""
_MAX_VALUE_LENGTH = 48
"""Longest such value, in characters."""
_LOOK = 400
"""A field that has shown too many different values by this many is not counted further."""
_COMMON = 0.5
"""A rare value stands out if the other values together reach this share."""
_DEPTH = 4
_FIELDS = 60
"""How many fields are analysed."""

Scalar = str | int | float | bool | None


class Column(msgspec.Struct, frozen=True):
    """One field of many records. A field in a nested object or list is named by its path."""

    name: str
    total: int
    """Number of records, or of elements if the field lies in lists inside them."""
    filled: int
    """How many of them have a value here: not null, and no empty text, list or object."""
    counts: dict[str, int] | None = None
    """How often each value occurs, in order of first appearance; None if there are many."""
    low: int | float | None = None
    high: int | float | None = None
    """The extremes, if all values are numbers."""
    rare: tuple[int, ...] = ()
    """For each rare value, the index of the first record that has it."""
    also_rare: tuple[int, ...] = ()
    """The indices of more records with rare values, in order."""
    identifying: float = 0.0
    """How well its values name their records; above 0 only if nearly all of them differ."""

    @property
    def constant(self) -> bool:
        return self.counts is not None and len(self.counts) == 1 and self.filled == self.total


def outlier_records(columns: Sequence[Column], most: int) -> list[int]:
    """The indices of at most so many records that differ from the others: one for each rare value
    comes first."""
    first = (index for column in columns for index in column.rare)
    more = (index for column in columns for index in column.also_rare)
    return list(islice(dict.fromkeys(chain(first, more)), most))


def columns(records: Sequence[object]) -> list[Column]:
    """The fields of `records` in order of appearance; nested fields come after their parents."""
    found: list[Column] = []
    _of_records("", records, range(len(records)), found, 0)
    return found


def column(name: str, values: Sequence[Scalar], owners: Sequence[int]) -> Column:
    """The field with these values, one for each record in `owners`."""
    filled: list[Scalar] = [value for value in values if value is not None and value != ""]
    kinds = kinds_of(filled)
    counts = _counts(values, filled, kinds)
    low: int | float | None = None
    high: int | float | None = None
    if kinds and kinds <= {int, float}:
        numbers = [value for value in filled if isinstance(value, int | float)]
        low, high = min(numbers), max(numbers)
    rare, more = _rare(values, owners, counts, len(filled))
    named = _identifying(name, filled, len(values), counts)
    return Column(name, len(values), len(filled), counts, low, high, rare, more, named)


def _of_records(
    prefix: str, records: Iterable[object], owners: Iterable[int], found: list[Column], depth: int
) -> None:
    held: dict[str, list[object]] = {}
    placed: dict[str, list[int]] = {}
    owned = [
        (record, owner)
        for record, owner in zip(records, owners, strict=True)
        if isinstance(record, dict)
    ]
    for record, _ in owned:
        for key in record:
            if key not in held and len(held) < _FIELDS:
                held[key], placed[key] = [], []
    everyone = [owner for _, owner in owned]
    for key in held:
        values = [record.get(key) for record, _ in owned]
        _add(f"{prefix}{key}", values, everyone, found, depth)


def _add(
    name: str, values: list[object], owners: list[int], found: list[Column], depth: int
) -> None:
    kinds = kinds_of(values)
    if len(found) >= _FIELDS or depth > _DEPTH:
        return
    if dict not in kinds and list not in kinds:
        found.append(column(name, values, owners))  # type: ignore[arg-type]
        return
    filled = sum(1 for value in values if value not in (None, "", [], {}))
    found.append(Column(name, len(values), filled, rare=_rare_kind(values, owners, filled)))
    if dict in kinds:
        _of_records(f"{name}.", values, owners, found, depth + 1)
    if list in kinds:
        inner = [
            (element, owner)
            for value, owner in zip(values, owners, strict=True)
            if isinstance(value, list)
            for element in value
        ]
        elements = [element for element, _ in inner]
        places = [owner for _, owner in inner]
        if any(isinstance(element, dict) for element in elements):
            _of_records(f"{name}[].", elements, places, found, depth + 1)
        elif elements and not any(isinstance(element, list) for element in elements):
            found.append(column(f"{name}[]", elements, places))


def _counts(
    values: Sequence[Scalar], filled: list[Scalar], kinds: set[type]
) -> dict[str, int] | None:
    if not filled or len(Counter(map(repr, filled[:_LOOK]))) > MAX_LISTED_VALUES:
        return None
    counted = (
        Counter(map(value_text, filled)) if len(kinds) > 1 or bool in kinds else Counter(filled)
    )
    if len(counted) > MAX_LISTED_VALUES or (2 * len(counted) > len(values) and len(counted) > 1):
        return None
    if len(counted) > _NUMBERS and kinds <= {int, float}:
        return None
    counts = {value_text(value): count for value, count in counted.items()}
    return counts if all(len(value) <= _MAX_VALUE_LENGTH for value in counts) else None


def _rare(
    values: Sequence[Scalar], owners: Sequence[int], counts: dict[str, int] | None, filled: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The first record of each rare value, or every record with a value if nearly all have none;
    and more records with rare values."""
    few = max_rare(len(values))
    if len(values) < MIN_COMPARED:
        return (), ()
    found: list[int] = []
    more: list[int] = []
    if counts is not None:
        wanted = {value for value, count in counts.items() if count <= few}
        others = len(values) - sum(counts[value] for value in wanted)
        if others < _COMMON * len(values):
            return (), ()
        if wanted:
            found, more = _records_with(wanted, values, owners)
    elif 0 < filled <= few:
        found = [o for v, o in zip(values, owners, strict=True) if v is not None and v != ""]
    if 0 < len(values) - filled <= few:
        found += [o for v, o in zip(values, owners, strict=True) if v is None or v == ""]
    return tuple(dict.fromkeys(found)), tuple(more)


def _records_with(
    wanted: Collection[str], values: Sequence[Scalar], owners: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The first record of each wanted value, and the next ones."""
    seen: set[str] = set()
    first: list[int] = []
    more: list[int] = []
    for value, owner in zip(values, owners, strict=True):
        text = "" if value is None else value_text(value)
        if text in wanted:
            (more if text in seen else first).append(owner)
            seen.add(text)
    return first, more[:MAX_LISTED_VALUES]


def _rare_kind(values: list[object], owners: list[int], filled: int) -> tuple[int, ...]:
    """The records that are the only ones to have a value here, or the only ones without one."""
    few = max_rare(len(values))
    if len(values) < MIN_COMPARED or few < filled < len(values) - few:
        return ()
    alone = filled <= few
    return tuple(
        owner
        for value, owner in zip(values, owners, strict=True)
        if (value not in (None, "", [], {})) is alone
    )


def _identifying(
    name: str, filled: list[Scalar], total: int, counts: dict[str, int] | None
) -> float:
    sample = filled[:_LOOK]
    if counts is not None or not sample or len(filled) < 0.9 * total:
        return 0.0
    if len(set(sample)) < 0.9 * len(sample) or any(len(str(value)) > 120 for value in sample):
        return 0.0
    steps = name.replace("[]", "").split(".")
    worth = key_worth(tuple(steps)) + sum(map(value_worth, sample[:8])) / len(sample[:8])
    return max(0.01, worth)


def value_text(value: object) -> str:
    """A value as a reader of the result sees it."""
    if isinstance(value, str):
        return value
    return encoded(value)
