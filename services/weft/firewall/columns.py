"""What the records of a result have in common, field by field over every record: the values of
fields with few different ones, and their counts; the extremes of numbers and of values of one form;
and the records that differ from most others. Linear in the number of records."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain, islice, repeat, zip_longest
from typing import Any

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
_TIMES, _STATES = 4, 8
"""In a field of at most `_STATES` values, such as a status, one is rare, too, if the most common
one occurs `_TIMES` as often: 6 of 120 records that failed matter, and `max_rare` allows 3."""
MAX_RARE = 40
"""How many records with a rare value are known by their indices."""
NAMING = 1.0
"""How well the values of a field must name their records to be listed for those that are not shown;
the extremes of such a field say nothing."""
_FEW_NAMES = 3
"""Fewer names than this are not told of more records: one of 42 says nothing."""
_MOMENT = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?!\d)")
_FIRST = 20
"""How many values tell whether others may have their form."""
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
    rare: dict[str, tuple[int, ...]] = {}
    """The indices of the records that have a rare value, by this value; at most `MAX_RARE` each."""
    rarely_filled: tuple[int, ...] = ()
    """The indices of the few records with a value, if most have none."""
    rarely_empty: tuple[int, ...] = ()
    """The indices of the few records without one."""
    first: str = ""
    last: str = ""
    """The least and the greatest of all values, if they are texts that differ in digits only."""
    ascends: bool = False
    """Whether nearly all values differ, and each follows on the one before it, or each precedes it,
    as numbers of a sequence and moments do."""
    identifying: float = 0.0
    """How well its values name their records; above 0 only if nearly all of them differ."""

    @property
    def constant(self) -> bool:
        return self.counts is not None and len(self.counts) == 1 and self.filled == self.total

    @property
    def outliers(self) -> list[tuple[int, ...]]:
        """The records that differ from most others in this field, together with those alike."""
        return [one for one in (*self.rare.values(), self.rarely_filled, self.rarely_empty) if one]


def outlier_records(columns: Sequence[Column], most: int) -> list[int]:
    """The indices of at most so many records that differ from the others. One for each rare value
    comes first, then the second of each; those of the fields with the fewest values before."""
    by_size = sorted(columns, key=lambda column: len(column.counts or ()))
    alike = [group for column in by_size for group in column.outliers]
    ranked = chain.from_iterable(zip_longest(*alike))
    return list(islice(dict.fromkeys(index for index in ranked if index is not None), most))


def counts_text(
    column: Column,
    name_of: Callable[[int], str] | None = None,
    most: int = 0,
    told: Container[tuple[int, ...]] = frozenset(),
) -> str:
    """The values of a field with their counts; behind a rare one, the names of at most so many of
    the records that have it: `failed (6: O-12, O-40, O-47, … 3 more), paid (114)`. Groups of
    records in `told` are not named, nor large ones of which very few would be."""

    def counted(value: str, count: int, group: tuple[int, ...]) -> str:
        is_told = min(most, len(group)) >= min(_FEW_NAMES, count)
        if name_of is None or not group or group in told or not is_told:
            return f"{value} ({count})"
        named = ", ".join(map(name_of, group[:most]))
        more = count - min(most, len(group))
        return f"{value} ({count}: {named}{f', … {more} more' if more > 0 else ''})"

    none = column.total - column.filled
    known = column.counts
    if known is None:
        parts = [counted("some", column.filled, column.rarely_filled)]
    else:
        parts = [counted(value, n, column.rare.get(value, ())) for value, n in known.items()]
    return ", ".join(parts + [counted("none", none, column.rarely_empty)] * (none > 0))


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
    named = _identifying(name, filled, len(values), counts)
    first, last, ascends = _range(filled, kinds) if counts is None else ("", "", False)
    return Column(
        name,
        len(values),
        len(filled),
        counts,
        low,
        high,
        _rare(values, owners, counts),
        *_rarely(values, owners, len(filled), counts is None),
        first,
        last,
        ascends and named > 0,
        named,
    )


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
    alone, without = _rarely(values, owners, filled, True)
    found.append(Column(name, len(values), filled, rarely_filled=alone, rarely_empty=without))
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
    values: Sequence[Scalar], owners: Sequence[int], counts: dict[str, int] | None
) -> dict[str, tuple[int, ...]]:
    """The records with each rare value."""
    if len(values) < MIN_COMPARED or not counts:
        return {}
    few = max_rare(len(values))
    some = max(few, max(counts.values()) // _TIMES) if len(counts) <= _STATES else few
    for most in dict.fromkeys((some, few)):
        wanted = {value for value, count in counts.items() if count <= most}
        others = len(values) - sum(counts[value] for value in wanted)
        if wanted and others >= _COMMON * len(values):
            return _records_with(wanted, values, owners)
    return {}


def _records_with(
    wanted: set[str], values: Sequence[Scalar], owners: Sequence[int]
) -> dict[str, tuple[int, ...]]:
    found: dict[str, dict[int, None]] = {}
    # Nearly all values are texts that are not wanted.
    held = (
        (value, owner)
        for value, owner in zip(values, owners, strict=True)
        if not isinstance(value, str) or value in wanted
    )
    for value, owner in held:
        text = "" if value is None else value_text(value)
        if text in wanted:
            group = found.setdefault(text, {})
            if len(group) < MAX_RARE:
                group[owner] = None
    return {value: tuple(group) for value, group in found.items()}


def _rarely(
    values: Sequence[object], owners: Sequence[int], filled: int, is_alone: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The records that are the only ones to have a value here, if this is asked for, and those that
    are the only ones without one."""
    few = max_rare(len(values))
    empty = len(values) - filled
    if len(values) < MIN_COMPARED:
        return (), ()
    some = max(few, empty // _TIMES)
    alone = _owners_of(values, owners, True) if is_alone and 0 < filled <= some else ()
    return alone, _owners_of(values, owners, False) if 0 < empty <= few else ()


def _owners_of(values: Sequence[object], owners: Sequence[int], is_filled: bool) -> tuple[int, ...]:
    held = (
        owner
        for value, owner in zip(values, owners, strict=True)
        if (value not in (None, "", [], {})) is is_filled
    )
    return tuple(islice(dict.fromkeys(held), MAX_RARE))


def _range(filled: Sequence[Any], kinds: set[type]) -> tuple[str, str, bool]:
    """The least and the greatest of texts that are numbers behind the same beginning, or dates with
    the year first, and whether they ascend or descend; of numbers only the latter; nothing for
    others. Linear."""
    if len(filled) < MIN_COMPARED or not (kinds == {str} or kinds <= {int, float}):
        return "", "", False
    if kinds != {str}:
        return "", "", _is_ordered(filled)
    lengths = set(map(len, filled))
    start = filled[0].rstrip("0123456789")
    if max(lengths) > _MAX_VALUE_LENGTH or not len(start) < min(lengths):
        return "", "", False
    is_moment = len(lengths) == 1 and _MOMENT.match(filled[0]) is not None
    for texts in (filled[:_FIRST], filled):
        if not _are_alike(texts, "" if is_moment else start):
            return "", "", False
    if len(lengths) == 1:
        return min(filled), max(filled), _is_ordered(filled)
    numbers = [int(text[len(start) :]) for text in filled]
    least, greatest = (filled[numbers.index(one(numbers))] for one in (min, max))
    return least, greatest, _is_ordered(numbers)


def _are_alike(texts: Sequence[str], start: str) -> bool:
    """Whether texts differ in digits only; all begin with `start`, and only digits follow on it if
    it is not empty. A moment with its distance from UTC is compared with no other."""
    forms = _without_digits(texts)
    if len(forms) != len(texts) or forms.count(forms[0]) < len(forms) or b"+" in forms[0]:
        return False
    if not start:
        return _MOMENT.match(texts[0]) is not None or forms[0] == b""
    return forms[0] == _without_digits([start])[0] and all(
        map(str.startswith, texts, repeat(start))
    )


def _without_digits(texts: Sequence[str]) -> list[bytes]:
    joined = "\n".join(texts).encode("utf-8", "surrogatepass")
    return joined.translate(None, b"0123456789").split(b"\n")


def _is_ordered(values: Sequence[Any]) -> bool:
    return all(map(operator.lt, values, values[1:])) or all(map(operator.gt, values, values[1:]))


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
