"""The records of a JSON value that holds many similar things: what all of them have in common, in
which order they are worth showing, and how to cut one so that it stays a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from weft.firewall.columns import (
    MAX_RARE,
    NAMING,
    Column,
    columns,
    counts_text,
    outlier_records,
    value_text,
)
from weft.firewall.json_leaves import MAX_DEPTH, LeafPath, PathStep, key_worth, value_worth
from weft.firewall.json_leaves import path_text as path_written
from weft.firewall.verbatim_json import kinds_of

MORE = "…"
"""The key, or the start of the string, that marks an omission."""
_FEW = 3
"""A list of at least this many objects, or lists of objects, is a collection."""
_MANY = 12
"""A list of at least this many other elements is a collection, and so is an object with this many
keys that is a mapping."""
_RANGES = 0.66
"""Share of a head's tokens up to which it tells between what texts its records lie."""
_LOOK = 20
"""How many records decide the value of fields."""
_NESTED = -0.6
"""Value of an object or list, compared with single values."""
_OUTLIER_FIELDS = 2
"""How many fields an outlier record shows at least, in addition to as many as the others do and to
those in which it differs."""
_KEYS, _KEYS_OF = 24, 4
"""How many keys of a nested object are shown, and how many of each element of a list."""
_MISSES = 5
"""After this many fields that do not fit, the rest is given up."""
_NAME = 90
"""Characters of a key that are shown."""
_NAMES = 12
"""How many names of left-out keys are listed."""
_NAMES_ROOM = 240
"""Characters of these names: long ones must not take the room that values need."""


class Cut(msgspec.Struct, frozen=True):
    """How much of a record is shown."""

    text: int
    """Characters of each string."""
    elements: int
    """Elements of each list."""
    fields: int | None = None
    """Fields of each record, the most valuable ones; all if None."""


class Collection(msgspec.Struct):
    """Elements of a list, or values of an object that maps names to similar things."""

    path: LeafPath
    steps: list[PathStep]
    values: list[object]
    columns: list[Column]
    fields: list[str]
    """Keys of its records, the most valuable first."""
    outliers: list[int]
    """Indices of records that differ from the others; these are shown with all their fields."""
    differ_in: frozenset[str]
    """Keys in which they differ."""
    exact_field: str | None
    """A field that a rule keeps exact."""

    @property
    def order(self) -> Iterator[int]:
        """All indices in the order in which they are shown: the first record, those that differ,
        the second, the last, and then the others from the start."""
        size = len(self.values)
        seen: set[int] = set()
        for index in (0, *self.outliers, 1, size - 1, *range(2, size)):
            if index not in seen and index < size:
                seen.add(index)
                yield index


def collections(root: object, keep: Sequence[LeafPath]) -> dict[LeafPath, Collection]:
    """The outermost collections of a value, by path."""
    found: dict[LeafPath, Collection] = {}
    _find(root, (), keep, found)
    return found


def _find(
    value: object, path: LeafPath, keep: Sequence[LeafPath], found: dict[LeafPath, Collection]
) -> None:
    if not isinstance(value, dict | list) or len(path) >= MAX_DEPTH:
        return
    steps: list[PathStep] = list(value) if isinstance(value, dict) else list(range(len(value)))
    values = list(value.values()) if isinstance(value, dict) else value
    if _is_collection(value, values):
        found[path] = _collection(path, steps, values, keep)
        return
    for step, held in zip(steps, values, strict=True):
        _find(held, (*path, step), keep, found)


def _is_collection(value: object, values: list[object]) -> bool:
    kinds = kinds_of(values)
    if isinstance(value, list):
        holders = kinds and kinds <= {dict, list}
        return len(values) >= (_FEW if holders else _MANY)
    if len(values) < _FEW or len(kinds) != 1:
        return False
    if kinds == {dict}:
        return len({tuple(held) for held in values if isinstance(held, dict)}) * 2 <= len(values)
    return len(values) > 3 * _MANY


def _collection(
    path: LeafPath, steps: list[PathStep], values: list[object], keep: Sequence[LeafPath]
) -> Collection:
    records = _records(values)
    record_columns = columns(records) if records is not None else []
    is_flat = records is values or records is None
    outliers = outlier_records(record_columns, MAX_RARE) if is_flat else []
    fields, exact_field = _fields(path, records or [], record_columns, keep)
    differ_in = frozenset(re.split(r"[.\[]", x.name)[0] for x in record_columns if x.outliers)
    return Collection(path, steps, values, record_columns, fields, outliers, differ_in, exact_field)


def _records(values: list[object]) -> list[object] | None:
    """The objects of a collection, or of the lists in it; scalars under an empty name."""
    if any(isinstance(held, dict) for held in values):
        return values
    if any(isinstance(held, list) for held in values):
        return [inner for held in values if isinstance(held, list) for inner in held]
    return [{"": held} for held in values]


def _fields(
    path: LeafPath, records: list[object], columns: list[Column], keep: Sequence[LeafPath]
) -> tuple[list[str], str | None]:
    """Keys of records, the most valuable first; before them those that a rule keeps."""
    worth: dict[str, float] = {}
    for record in records[:_LOOK]:
        for key, held in record.items() if isinstance(record, dict) else ():
            value = value_worth(held) if not isinstance(held, dict | list) else _NESTED
            worth[key] = max(worth.get(key, value), value)
    for key in worth:
        worth[key] += key_worth((key,))
    for column in columns:
        if column.name in worth:
            worth[column.name] += 1.0 if column.identifying > 0 else 0.0
            worth[column.name] -= 3.0 if column.constant else 0.0
    exact_fields = [
        key for key in worth if any(_reaches((*path, 0, key), pattern) for pattern in keep)
    ]
    for key in exact_fields:
        worth[key] += 100.0
    return sorted(worth, key=lambda key: -worth[key]), exact_fields[0] if exact_fields else None


def _reaches(path: LeafPath, pattern: LeafPath) -> bool:
    """Whether `pattern` is at, under or above `path`; `*` matches any step."""
    return all(want in ("*", step) for step, want in zip(path, pattern, strict=False)) and bool(
        pattern
    )


def head(
    collection: Collection,
    cut: Cut,
    room: float,
    cost_of: Callable[[str], int],
    names: int = 0,
    whole: frozenset[int] = frozenset(),
) -> str:
    """One line about the whole collection: its size, the values of its fields with their counts and
    extremes, and which fields its records show. It costs at most `room`, not counting the names of
    at most so many records with each rare value; they are told where not all of these records are
    among `whole`."""
    size = len(collection.values)
    keys = names_text([plain_key(name) for name in _names(collection)])
    start = f"{MORE}{size} x {{{keys}}}" if keys else f"{MORE}{size} values"
    if cut.fields is not None and cut.fields < len(collection.fields):
        but = ", those that differ with more" if collection.outliers else ""
        start += f"; shown with {cut.fields} of {len(collection.fields)} fields{but}"
    misses, named = 0, start
    told: set[tuple[int, ...]] = set()
    for column, statement in _statements(collection.columns):
        longer = f"{start}; {statement}"
        is_range = column is not None and column.first != "" and not column.outliers
        if cost_of(longer) > room * (_RANGES if is_range else 1):
            misses += 1
            if misses > _MISSES:
                break
            continue
        start = longer
        if column is not None and names and column.outliers:
            told |= {group for group in column.outliers if whole.issuperset(group)}
            counts = counts_text(column, lambda index: name_of(collection, index), names, told)
            statement = f"{column.name or 'values'}: {counts}"
            told |= set(column.outliers)
        named += f"; {statement}"
    return named


def _names(collection: Collection) -> list[str]:
    first = _records(collection.values) or []
    keys = dict.fromkeys(key for record in first[:50] if isinstance(record, dict) for key in record)
    return [key for key in keys if key]


def _statements(columns: list[Column]) -> list[tuple[Column | None, str]]:
    """Statements about fields, the most informative first; the first one may be about several."""
    shared = [f"{x.name}={next(iter(x.counts))}" for x in columns if x.constant and x.counts]
    parts: list[tuple[int, Column | None, str]] = []
    if shared:
        parts.append((1, None, f"in all: {', '.join(shared)}"))
    for column in columns:
        said = _statement(column)
        if said is not None:
            parts.append((said[0], column, said[1]))

    def rank(part: tuple[int, Column | None, str]) -> tuple[int, float]:
        # Of ranges, that of what names the records comes first.
        return part[0], -part[1].identifying if part[0] == _RANGE and part[1] else 0.0

    return [(column, part) for _, column, part in sorted(parts, key=rank)]


_RANGE = 4
"""Rank of a statement that tells between what values all of a field lie."""


def _statement(column: Column) -> tuple[int, str] | None:
    """What is said of one field, after its rank: what is rare comes first. None if nothing is."""
    name = column.name or "values"
    none = column.total - column.filled
    missing = f", none ({none})" if none else ""
    if column.counts is not None and not column.constant:
        return 0 if column.outliers else 2, f"{name}: {counts_text(column)}"
    if column.constant or (column.identifying > NAMING and not column.ascends):
        return None
    if column.low is not None and column.high is not None:
        return 3, f"{name}: {value_text(column.low)}..{value_text(column.high)}{missing}"
    if none and column.outliers:
        return 0, f"{name}: {counts_text(column)}"
    if column.first != column.last:
        return _RANGE, f"{name}: {column.first}..{column.last}{missing}"
    return None


def record(
    collection: Collection, index: int, cut: Cut, is_kept: Callable[[LeafPath], bool]
) -> object:
    """One element as it is shown."""
    fields: frozenset[str] | None = None
    if cut.fields is not None:
        few = cut.fields <= 2 or index not in collection.outliers
        fields = frozenset(collection.fields[: cut.fields]) if few else None
    if cut.fields is not None and cut.fields <= 2 and index in collection.outliers:
        fields = frozenset(collection.fields[: cut.fields + _OUTLIER_FIELDS])
        fields |= collection.differ_in
    path = (*collection.path, collection.steps[index])
    return _cut(collection.values[index], path, cut, fields, is_kept)


def _cut(
    value: object,
    path: LeafPath,
    cut: Cut,
    fields: frozenset[str] | None,
    is_kept: Callable[[LeafPath], bool],
) -> object:
    if isinstance(value, dict | list) and value and len(path) >= MAX_DEPTH:
        return f"{MORE}{len(value)} more below"
    if isinstance(value, dict):
        keys = [key for key in value if fields is None or key in fields]
        most = max(_KEYS, _KEYS_OF * cut.elements)
        built = {
            plain_key(key): _cut(value[key], (*path, key), cut, None, is_kept)
            for key in keys[:most]
        }
        if len(keys) > most:
            names = names_text([plain_key(key) for key in keys[most:]])
            built[MORE] = f"{len(keys) - most} of {len(keys)} keys: {names}"
        return built
    if isinstance(value, list):
        shown = [
            _cut(held, (*path, index), cut, fields, is_kept)
            for index, held in enumerate(value[: cut.elements])
        ]
        rest = len(value) - len(shown)
        if rest > 0:
            shown.append(
                f"{MORE}{rest} of {len(value)} more at {_slice(path, len(shown), len(value))}"
            )
        return shown
    return scalar(value, path, cut, is_kept)


def scalar(value: object, path: LeafPath, cut: Cut, is_kept: Callable[[LeafPath], bool]) -> object:
    """A value, or the start of a long string with how much is missing."""
    if not isinstance(value, str) or len(value) <= cut.text + 20 or is_kept(path):
        return value
    return f"{value[: cut.text]}{MORE}+{len(value) - cut.text} chars"


def gap(
    collection: Collection,
    start: int,
    end: int,
    named: Sequence[str] = (),
    are_ends: bool = False,
) -> str:
    """The text that replaces elements `start` to `end` (exclusive); `named` lists the first of them
    by the field `naming`, or the first and the last one."""
    size = len(collection.values)
    if isinstance(collection.steps[start], str):
        where = f"{MORE}{end - start} of {size} more keys"
    else:
        where = f"{MORE}{end - start} of {size} more at {_slice(collection.path, start, end)}"
    if not named:
        return where
    if are_ends:
        return f"{where}, {naming(collection)}: {'..'.join(named)}"
    rest = f" +{end - start - len(named)}" if len(named) < end - start else ""
    return f"{where}, {naming(collection)}: {', '.join(named)}{rest}"


def naming(collection: Collection) -> str | None:
    """The field that distinguishes the elements; None if there is none."""
    if isinstance(collection.steps[0], str):
        return "such as"
    return collection.exact_field or _identifying(collection)


def lists_names(collection: Collection) -> bool:
    """Whether names tell more of the elements that are not shown than their number does: those in a
    sequence are told by its ends."""
    if isinstance(collection.steps[0], str) or collection.exact_field is not None:
        return True
    name = _identifying(collection)
    return name is not None and not any(x.ascends for x in collection.columns if x.name == name)


def is_told_by_ranges(collection: Collection, cut: Cut) -> bool:
    """Whether all fields that records are shown with are numbers or moments in sequence, and no
    rule keeps one of them."""
    if collection.exact_field or cut.fields is None or isinstance(collection.steps[0], str):
        return False
    ascending = {column.name for column in collection.columns if column.ascends}
    return ascending.issuperset(collection.fields[: cut.fields])


def _identifying(collection: Collection) -> str | None:
    best = max(collection.columns, key=lambda column: column.identifying, default=None)
    if best is None or best.identifying < NAMING or "[]" in best.name:
        return None
    return best.name or None


def name_of(collection: Collection, index: int) -> str:
    """The name of element `index` in that field; its place if there is none."""
    step = collection.steps[index]
    if isinstance(step, str):
        return plain_key(step)
    name, value = naming(collection), collection.values[index]
    if name is None:
        return f"[{index}]"
    for held in value if isinstance(value, list) else (value,):
        found: object = held
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found is not None:
            return value_text(found)
    return "none"


def _slice(path: LeafPath, start: int, end: int) -> str:
    return f"{path_written(path)}[{start}:{end}]"


def plain_key(key: str) -> str:
    return key if len(key) <= _NAME else f"{key[:_NAME]}{MORE}"


def names_text(names: list[str]) -> str:
    """As many names as fit, and how many more there are."""
    shown: list[str] = []
    room = _NAMES_ROOM
    for name in names[:_NAMES]:
        room -= len(name)
        if room < 0 and shown:
            break
        shown.append(name)
    rest = len(names) - len(shown)
    names_shown = ",".join(shown)
    return f"{names_shown} +{rest}" if rest > 0 else names_shown
