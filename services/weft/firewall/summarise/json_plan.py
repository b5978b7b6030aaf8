"""The pieces of a JSON value that its summary can show, the most valuable first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat, zip_longest

import msgspec

from weft.firewall.json_leaves import (
    MAX_DEPTH,
    MAX_LEAVES,
    LeafPath,
    key_worth,
    value_worth,
)
from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.collection import (
    Collection,
    naming,
)

_ENOUGH = 2
"""How many records show what a record looks like."""
OUTLIERS = 3
"""How many records that differ must fit, for each collection."""
_KEPT = 12
"""How many records with a field that a rule keeps."""
LEAF_TOKENS = 10
"""About how many tokens a value with its key costs."""
_ENVELOPE_KEY = re.compile(
    r"(?:^|_|[a-z](?=[A-Z]))(?:total|count|next|cursor|has_?more|more|page|pages|offset|limit"
    r"|truncated|remaining|status|success|ok|errors?|message|code|warnings?)(?:$|_|[A-Z])",
    re.IGNORECASE,
)
"""Names under which APIs say how the call went and what follows."""


def matches(path: LeafPath, pattern: LeafPath) -> bool:
    """Whether `path` is at or under `pattern`, in which `*` matches any step."""
    return len(path) >= len(pattern) and all(
        want in ("*", step) for step, want in zip(path, pattern, strict=False)
    )


class Plan(msgspec.Struct):
    """The pieces of a value that can be shown, the most valuable first."""

    root: object
    places: dict[LeafPath, Collection]
    frame: list[LeafPath]
    """Single values around the records."""
    units: list[tuple[LeafPath, int | None]]
    """Single values and records; the index is that of the record."""
    early: int
    """How many single values come before all records."""
    first: int
    """How many units are wanted before any other: what is said once, and a few records of each
    collection."""
    is_kept: Callable[[LeafPath], bool]
    has_names: bool
    """Whether records that are not shown can be named."""
    unread: str
    """What the summary says of a text that was not read to its end; empty for any other."""
    heads: dict[tuple[LeafPath, int | None], str] = {}
    rare_names: int = 0
    """How many records with each rare value are named where not all of them are in `whole`."""
    whole: dict[LeafPath, frozenset[int]] = {}
    outliers: int = 0
    """How many of those in `whole` differ from the others."""


def plan_of(
    root: object,
    budget: Budget,
    keep: Sequence[LeafPath],
    unread: str,
    places: dict[LeafPath, Collection],
) -> Plan:
    """What is worth most first: what is said once, then records of each collection in turn."""

    def is_kept(path: LeafPath) -> bool:
        return any(matches(path, pattern) for pattern in keep)

    def worth(leaf: tuple[LeafPath, object]) -> float:
        path, value = leaf
        envelope_worth = 3.0 if _ENVELOPE_KEY.search(str(path[-1])) else 0.0
        rule_worth = 100.0 if is_kept(path) else 0.0
        return -(key_worth(path) + value_worth(value) + envelope_worth + rule_worth)

    leaves = sorted(islice(_frame(root, (), places), MAX_LEAVES), key=worth)
    frame = [path for path, _ in leaves]
    # Nothing with more values than there are tokens can fit.
    room = budget.limit if not places else budget.limit // (2 * LEAF_TOKENS)
    early, late = frame[:room], frame[room : budget.limit]
    orders = [zip(repeat(path), place.order) for path, place in places.items()]
    rows = [unit for row in zip_longest(*orders) for unit in row if unit is not None]
    few = sum(needed_of(place) for place in places.values())
    units: list[tuple[LeafPath, int | None]] = [(path, None) for path in early]
    units += rows[:few]
    first = len(units)
    units += [(path, None) for path in late]
    units += rows[few : few + budget.limit]
    has_names = any(naming(place) is not None for place in places.values())
    return Plan(root, places, frame, units, len(early), first, is_kept, has_names, unread)


def _frame(
    value: object, path: LeafPath, places: dict[LeafPath, Collection]
) -> Iterator[tuple[LeafPath, object]]:
    """Values outside all collections, including empty objects and lists."""
    if path in places:
        return
    if isinstance(value, dict | list) and value and len(path) < MAX_DEPTH:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for step, held in members:
            yield from _frame(held, (*path, step), places)
    elif path:
        yield path, value if not isinstance(value, dict | list) else ""


def needed_of(place: Collection) -> int:
    # Of those that do not differ, one is enough beside those that do.
    wanted = 1 + min(len(place.outliers), OUTLIERS) if place.outliers else _ENOUGH
    return min(len(place.values), wanted if place.exact_field is None else max(_KEPT, wanted))
