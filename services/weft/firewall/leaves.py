"""The single values of a JSON value, each with its path, and how much the next step is likely to
need each: identifiers before dates before numbers before prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

Step = str | int
Path = tuple[Step, ...]

_FIRST = 120
"""Elements of one array that are looked at from its start."""
_LAST = 4
"""And from its end."""
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
FEW = 3
"""Different values up to which the records of an array count as sharing them."""


class _Column(msgspec.Struct):
    """The leaves that lie under the same names."""

    worth: float
    values: set[Scalar]
    """At most one more than `FEW`."""
    count: int = 0


class Leaf(msgspec.Struct, frozen=True):
    path: Path
    value: Scalar
    worth: float
    """Higher is needed sooner."""


def leaves(root: object) -> list[Leaf]:
    """Leaves of `root` in order of appearance; long arrays by their first and last elements, at
    most `MAX_LEAVES` in all."""
    columns: dict[Path, _Column] = {}
    found: list[tuple[Path, Scalar, _Column]] = []
    for path, value in _walk(root):
        pattern = tuple("*" if isinstance(step, int) else step for step in path)
        column = columns.get(pattern)
        if column is None:
            column = columns[pattern] = _Column(key_worth(pattern), set())
        column.count += 1
        if len(column.values) <= FEW:
            column.values.add(value)
        found.append((path, value, column))
        if len(found) >= MAX_LEAVES:
            break
    return [Leaf(path, value, _worth(path, value, column)) for path, value, column in found]


def _worth(path: Path, value: Scalar, column: _Column) -> float:
    row = next((step for step in path if isinstance(step, int)), 0)
    worth = column.worth + value_worth(value) - min(row, 400) * 0.004
    # What many records share is told once for all of them.
    shared = len(column.values) <= FEW and column.count > 2 * len(column.values)
    return worth - 1.2 if shared else worth


def first_leaves(root: object, limit: int) -> list[tuple[Path, Scalar]]:
    """The first `limit` leaves, without their worth."""
    return list(islice(_walk(root), limit))


def _walk(root: object) -> Iterator[tuple[Path, Scalar]]:
    stack: list[tuple[Path, object]] = [((), root)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            if len(path) < MAX_DEPTH:
                stack += [((*path, str(key)), held) for key, held in reversed(value.items())]
        elif isinstance(value, list):
            if len(path) < MAX_DEPTH:
                stack += [((*path, index), value[index]) for index in reversed(_looked_at(value))]
        elif value is None or isinstance(value, str | int | float | bool):
            yield path, value


def _looked_at(array: list[object]) -> list[int]:
    size = len(array)
    if size <= _FIRST + _LAST:
        return list(range(size))
    return [*range(_FIRST), *range(size - _LAST, size)]


def key_worth(pattern: Path) -> float:
    """Worth by the names on the way: what kind of thing this is, and how deep it lies."""
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
    """Worth by the look of a value."""
    if value is None or value == "" or isinstance(value, bool):
        return -0.8
    if isinstance(value, int | float):
        return 0.2
    if not isinstance(value, str):
        return 0.0
    if len(value) > 160 or value[0] == "(":
        return -1.2
    if _IDENTIFIER.match(value):
        return 1.2 if len(value) <= 48 else 0.4
    if _DATE.match(value):
        return 0.6
    return 0.5 if len(value) <= 48 else -0.2


def written(path: Path) -> str:
    """`a.b[3].c`; a key that is no plain word stands in brackets and quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier() or _PLAIN.match(step):
            text += f".{step}" if text else step
        else:
            text += f"[{msgspec.json.encode(step).decode()}]"
    return text
