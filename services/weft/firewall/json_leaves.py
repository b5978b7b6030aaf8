"""The single values of a JSON value, each with its path and with how likely the next step is to
need it: identifiers before dates, dates before numbers, numbers before prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from weft.firewall.verbatim_json import VerbatimNumber

PathStep = str | int
LeafPath = tuple[PathStep, ...]

_FIRST = 120
"""How many elements of an array are read from its start."""
_LAST = 4
"""How many are read from its end."""
_ALIKE = 3
"""How many elements of a long array tell what they are like if nothing distinguishes any."""
_LATER, _LATEST = 0.004, 400
"""How much less an element is worth than the one before it, up to `_LATEST`."""
_DIFFERS = 0.5
"""How much more one is worth that differs from the others."""
MAX_LEAVES = 6_000
MAX_DEPTH = 40

_ID_KEY = re.compile(
    r"(?:^|_|\.|-)(?:id|ids|uuid|guid|sha|hash|handle|slug|key|code|ref|reference|number|no|num"
    r"|ticker|symbol|isbn|doi|sku)$|[a-z]I[dD]s?$|(?:Number|Code|Key|Ref|Slug|Symbol)$",
    re.IGNORECASE,
)
_NAME_KEY = re.compile(
    r"(?:^|_)(?:name|title|path|file|filename|url|uri|link|href|email|login|user|username|server"
    r"|tool|label|address|city|phone|host|branch|repo|query)s?$|(?:Name|Path|Url|URL|Title)$",
    re.IGNORECASE,
)
_ERROR_KEY = re.compile(
    r"(?:^|_)(?:error|errors|exception|message|reason|failure|fault|warning|detail)s?$|[a-z]Error$",
    re.IGNORECASE,
)
_TIME_KEY = re.compile(r"date|time|(?:^|_)at$|At$|year|month|day", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[\w.:@/+=#%&?~-]{3,120}\Z|[A-Z]{2,8}\Z"
    r"|[A-Za-z]+(?:[_-][A-Za-z0-9]+)+\Z"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_PLAIN = re.compile(r"[\w-]+\Z")


Scalar = str | int | float | bool | None
Holder = dict[str, object] | list[object]
FEW = 3
"""If the records of an array have at most this many different values, they count as sharing
them."""


class _Place(msgspec.Struct):
    """Leaves whose paths have the same names; the elements of an array are in one group."""

    pattern: LeafPath
    children: dict[PathStep, _Place]
    worth: float | None = None
    """Score by the names of the path; None until a leaf was found here."""
    values: set[Scalar] = set()
    """At most one more than `FEW`."""
    count: int = 0


class Leaf(msgspec.Struct, frozen=True):
    path: LeafPath
    value: Scalar
    worth: float
    """A leaf with a higher one is needed sooner."""


def leaves(
    root: object, outliers: Mapping[LeafPath, Sequence[int]] | None = None, most: int = 0
) -> list[Leaf]:
    """Leaves of `root` in order of appearance, at most `MAX_LEAVES` in all. Of long arrays, the
    first and last elements are read, together with `outliers`: by path, those that differ from the
    others. Of an array with an entry there and with more than `most` elements, only these are, or a
    few if there are none."""
    found: list[_Found] = []
    _gather(root, (), _Place((), {}), _Row(), found, _Read(outliers or {}, most))
    return [Leaf(path, value, _worth(value, row, place)) for path, value, place, row in found]


def named_values(root: object, most: int, longest: int) -> dict[str, str]:
    """The first `most` different values of at most `longest` characters, in order of appearance,
    each with its name (the path at which it first occurs). Booleans, nulls and anything under a
    path of more than `longest` characters are skipped."""
    found: dict[str, str] = {}
    if most > 0 and isinstance(root, dict | list):
        _name(root, "", 0, most, longest, found)
    return found


def _name(
    value: Holder, name: str, depth: int, most: int, longest: int, found: dict[str, str]
) -> None:
    """Add the values under `value`, whose name is `name`. Every small result goes through here; so
    types are compared rather than tested with isinstance, and only a new value gets a name."""
    if depth >= MAX_DEPTH or len(name) > longest:
        return
    for step, held in _members(value):
        kind = type(held)
        if kind is str or kind is int or kind is float or kind is VerbatimNumber:
            text = str(held)
            if text not in found and 0 < len(text) <= longest:
                found[text] = _below(name, step)
        elif kind is dict or kind is list:
            _name(held, _below(name, step), depth + 1, most, longest, found)  # type: ignore[arg-type]
        if len(found) >= most:
            return


def _members(value: Holder) -> Iterable[tuple[PathStep, object]]:
    if isinstance(value, dict):
        return value.items()
    if len(value) <= _FIRST + _LAST:
        return enumerate(value)
    return [(index, value[index]) for index in _looked_at(len(value))]


def _below(name: str, step: PathStep) -> str:
    if isinstance(step, int):
        return f"{name}[{step}]"
    return name + (_dotted(step) if name and len(step) <= _KEY else _named(step, name))


class _Row(msgspec.Struct, frozen=True):
    """An element of the outermost array; the default is outside any array."""

    rank: int = -1
    differs: bool = False


_Found = tuple[LeafPath, Scalar, _Place, _Row]


class _Read(msgspec.Struct, frozen=True):
    """Which elements of arrays are read, see `leaves`."""

    outliers: Mapping[LeafPath, Sequence[int]]
    most: int

    def rows(self, path: LeafPath, size: int) -> list[tuple[int, _Row]]:
        ranks = {index: rank for rank, index in enumerate(self.outliers.get(path, ()))}
        is_long = path in self.outliers and size > self.most
        read = _looked_at(size)
        if is_long:
            read = range(0 if ranks else min(size, _ALIKE))
        return [
            (index, _Row(ranks.get(index, index), index in ranks))
            for index in (sorted({*read, *ranks}) if ranks else read)
        ]


def _gather(
    value: object, path: LeafPath, place: _Place, row: _Row, found: list[_Found], read: _Read
) -> None:
    """Add the leaves under `value`. `MAX_DEPTH` bounds the recursion."""
    if len(found) >= MAX_LEAVES:
        return
    if isinstance(value, dict):
        if len(path) < MAX_DEPTH:
            for key, held in value.items():
                _gather(held, (*path, key), _child(place, key), row, found, read)
    elif isinstance(value, list):
        if len(path) < MAX_DEPTH and value:
            inner = _child(place, "*")
            for index, element in read.rows(path, len(value)):
                outermost = element if row.rank < 0 else row
                _gather(value[index], (*path, index), inner, outermost, found, read)
    elif value is None or isinstance(value, str | int | float):
        place.count += 1
        if len(place.values) <= FEW:
            place.values.add(value)
        found.append((path, value, place, row))


def _child(place: _Place, step: PathStep) -> _Place:
    child = place.children.get(step)
    if child is None:
        child = place.children[step] = _Place((*place.pattern, step), {})
    return child


def _worth(value: Scalar, row: _Row, place: _Place) -> float:
    if place.worth is None:
        place.worth = key_worth(place.pattern)
    worth = place.worth + value_worth(value) - min(max(row.rank, 0), _LATEST) * _LATER
    if row.differs:
        return worth + _DIFFERS
    # A value that many records share is stated once.
    shared = len(place.values) <= FEW and place.count > 2 * len(place.values)
    return worth - 1.2 if shared else worth


def _looked_at(size: int) -> Sequence[int]:
    if size <= _FIRST + _LAST:
        return range(size)
    return [*range(_FIRST), *range(size - _LAST, size)]


def key_worth(pattern: LeafPath) -> float:
    """Score by the names of the path: what kind of thing this is, and how deep it lies."""
    name = next((str(step) for step in reversed(pattern) if step != "*"), "")
    depth = sum(1 for step in pattern if step != "*")
    worth = -0.15 * max(0, depth - 1)
    if _ERROR_KEY.search(name):
        worth += 1.6
    if _ID_KEY.search(name):
        worth += 2.0
    elif _NAME_KEY.search(name):
        worth += 1.5
    elif _TIME_KEY.search(name):
        worth += 0.7
    return worth


def value_worth(value: object) -> float:
    """Score by the form of a value."""
    if isinstance(value, str):
        return _text_worth(value) if value else -0.8
    if value is None or isinstance(value, bool):
        return -0.8
    return 0.2 if isinstance(value, int | float) else 0.0


def _text_worth(value: str) -> float:
    if len(value) > 160 or value[0] == "(":
        return -1.2
    if _IDENTIFIER.match(value):
        return 1.2 if len(value) <= 48 else 0.4
    if _DATE.match(value):
        return 0.6
    return 0.5 if len(value) <= 48 else -0.2


def path_text(path: LeafPath) -> str:
    """`a.b[3].c`; a key that is not a plain word is written in brackets and quotes."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else _named(step, text)
    return text


_KEY = 64
"""Longest key that is cached, in characters."""


@lru_cache(maxsize=1_024)
def _dotted(key: str) -> str:
    """`_named` for what follows a prefix. The records of a result have the same keys."""
    return _named(key, ".")


def _named(key: str, before: str) -> str:
    """A key as it is written after `before`."""
    if key.isidentifier() or _PLAIN.match(key):
        return f".{key}" if before else key
    return f"[{msgspec.json.encode(key).decode()}]"
