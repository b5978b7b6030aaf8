"""Shortens JSON to JSON. Around the records it keeps totals, pages, errors and whatever else is
said once. For the records it gives their number, what all of them have in common, and some of them
whole. A mark stands in place of whatever is left out, with the path by which to request it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat, zip_longest

import msgspec

from weft.firewall.columns import MAX_RARE
from weft.firewall.json_leaves import (
    MAX_DEPTH,
    MAX_LEAVES,
    LeafPath,
    PathStep,
    key_worth,
    value_worth,
)
from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.collection import (
    MORE,
    Collection,
    Cut,
    gap,
    head,
    is_told_by_ranges,
    lists_names,
    name_of,
    names_text,
    naming,
    plain_key,
    record,
    scalar,
)
from weft.firewall.verbatim_json import encoded

_WHOLE = (Cut(3_000, 100), Cut(800, 40), Cut(300, 20), Cut(90, 8))
_FIELDS = (8, 5, 4, 3, 2, 1)
CUTS = (*_WHOLE, *(Cut(90, 4, fields) for fields in _FIELDS))
"""From all of a record to one field of it: the first one with which enough records fit is used."""
_ENOUGH = 2
"""How many records show what a record looks like."""
_OUTLIERS = 3
"""How many records that differ must fit, for each collection."""
_RARE = 0.8
"""Share of the tokens up to which records that differ are shown whole if not all of them fit; the
rest names the others. It does not depend on how many there are: a further one never shows less."""
_KEPT = 12
"""How many records with a field that a rule keeps."""
_HEAD = 0.3
"""Share of the tokens for statements about the collections, all of them together."""
_RECORDS, _WITH_OUTLIERS = 0.6, 0.85
"""Share of the tokens for records, if not all of them fit and some differ from the others; the rest
names those that are not shown."""
_CHARS = 16
"""A token is rarely longer than this many characters."""
_LEAF = 10
"""About how many tokens a value with its key costs."""
_MARK = 14
"""About how many tokens the mark of a gap costs."""
_NAME = 6
"""About how many tokens a name costs."""
_ENVELOPE_KEY = re.compile(
    r"(?:^|_|[a-z](?=[A-Z]))(?:total|count|next|cursor|has_?more|more|page|pages|offset|limit"
    r"|truncated|remaining|status|success|ok|errors?|message|code|warnings?)(?:$|_|[A-Z])",
    re.IGNORECASE,
)
"""Names under which APIs say how the call went and what follows."""


def summarise_json(
    root: object,
    budget: Budget,
    keep: Sequence[LeafPath],
    unread: str,
    places: dict[LeafPath, Collection],
) -> str:
    """Valid JSON of at most `budget.limit` tokens; empty if not even `{}` fits. Values under `keep`
    come before all others and stay exact. `unread` comes first: it says what is missing of a text
    that was not read to its end. `places` are the collections in it."""
    if not isinstance(root, dict | list):
        return ""
    plan = _plan(root, budget, keep, unread, places)
    return _fitted(plan, budget) or _smallest(root, budget)


def _fitted(plan: _Plan, budget: Budget) -> str:
    """Uses the most generous cut with which the wanted parts fit: everything, or some records and
    the names of others."""
    differ = any(place.outliers for place in plan.places.values())
    share = (_WITH_OUTLIERS if differ else _RECORDS) if plan.has_names else 1.0
    if not any(map(lists_names, plan.places.values())):
        share = 1.0  # what little is left holds the ends of a sequence
    room = int(budget.limit * share)
    last = CUTS[-1] if plan.places else _WHOLE[-1]
    needed = sum(min(len(place.outliers), _OUTLIERS) for place in plan.places.values())
    for cut in CUTS:
        if not _enough_fits(plan, cut, budget) and cut is not last:
            continue
        cost = budget.count(_rendered(plan, cut, plan.first, {}, budget))
        if cost * len(plan.units) <= 2 * budget.limit * max(1, plan.first):
            text, count = _filled(plan, cut, budget.limit, budget)
            if count == len(plan.units):
                return text
        few = _with_few_outliers(plan, cut, budget) if cost <= room or cut is last else None
        shown = needed if few is None else few.outliers
        if (cost <= room and shown >= needed) or cut is last:
            return _shared(plan, few, cut, room, budget)
    return ""


def _shared(plan: _Plan, few: _Plan | None, cut: Cut, room: int, budget: Budget) -> str:
    """Some records and the names of others. If `few` has not all records that differ, the names of
    these come before everything else."""
    if few is not None:
        text, named = _with_rare_names(few, cut, budget)
        if text and named < MAX_RARE:
            return text
        plan = msgspec.structs.replace(few, rare_names=named, heads={}) if text else plan
    plan = _without_sequences(plan, cut)
    text, shown = _filled(plan, cut, room, budget)
    return (_with_names(plan, cut, shown, budget) if plan.has_names else "") or text


def _without_sequences(plan: _Plan, cut: Cut) -> _Plan:
    """The plan without records of which only numbers in sequence would be shown, except for those
    that differ, the first two and the last."""
    ends = {
        path: {0, 1, len(place.values) - 1, *place.outliers}
        for path, place in plan.places.items()
        if is_told_by_ranges(place, cut)
    }
    if not ends:
        return plan
    units = [
        (path, index)
        for path, index in plan.units
        if index is None or path not in ends or index in ends[path]
    ]
    return msgspec.structs.replace(plan, units=units)


def _with_few_outliers(plan: _Plan, cut: Cut, budget: Budget) -> _Plan | None:
    """The plan with as many of the records that differ as there is room for before their names;
    None if there is room for all of them."""
    outliers = {path: frozenset(place.outliers) for path, place in plan.places.items()}
    left = sum(map(len, outliers.values()))
    room = int(budget.limit * _RARE) - budget.count(_rendered(plan, cut, plan.early, {}, budget))
    wanted = set(plan.units[: plan.first])
    chosen: list[tuple[LeafPath, int | None]] = []
    others: list[tuple[LeafPath, int | None]] = []
    whole: dict[LeafPath, set[int]] = {path: set() for path in plan.places}
    for unit in plan.units[plan.early :]:
        path, index = unit
        differs = index is not None and index in outliers[path]
        if index is None or (unit not in wanted and not differs):
            others.append(unit)
            continue
        if room >= 0:  # what follows on one that does not fit need not be counted
            text = encoded(record(plan.places[path], index, cut, plan.is_kept))
            is_far_too_long = len(text) > _CHARS * budget.limit
            room -= _MARK + (budget.limit if is_far_too_long else budget.count(text))
        if room >= 0:
            chosen.append(unit)
            whole[path].add(index)
            left -= differs
        elif not differs:
            others.append(unit)
    if left == 0:
        return None
    early = plan.early + len(chosen)
    count = sum(len(outliers[path] & found) for path, found in whole.items())
    shown = {path: frozenset(found) for path, found in whole.items()}
    units = [*plan.units[: plan.early], *chosen, *others]
    return msgspec.structs.replace(
        plan, units=units, early=early, whole=shown, outliers=count, heads={}
    )


def _with_rare_names(plan: _Plan, cut: Cut, budget: Budget) -> tuple[str, int]:
    """The text with the first units and as many names of records with each rare value as fit, and
    their number."""

    def text(names: int) -> str:
        named = msgspec.structs.replace(plan, rare_names=names, heads={})
        return _rendered(named, cut, plan.early, {}, budget)

    groups = sum(len(x.outliers) for place in plan.places.values() for x in place.columns)
    return _most(text, MAX_RARE, budget.limit, _NAME * max(1, groups), budget)


def matches(path: LeafPath, pattern: LeafPath) -> bool:
    """Whether `path` is at or under `pattern`, in which `*` matches any step."""
    return len(path) >= len(pattern) and all(
        want in ("*", step) for step, want in zip(path, pattern, strict=False)
    )


class _Plan(msgspec.Struct):
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


def _plan(
    root: object,
    budget: Budget,
    keep: Sequence[LeafPath],
    unread: str,
    places: dict[LeafPath, Collection],
) -> _Plan:
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
    room = budget.limit if not places else budget.limit // (2 * _LEAF)
    early, late = frame[:room], frame[room : budget.limit]
    orders = [zip(repeat(path), place.order) for path, place in places.items()]
    rows = [unit for row in zip_longest(*orders) for unit in row if unit is not None]
    few = sum(_needed_of(place) for place in places.values())
    units: list[tuple[LeafPath, int | None]] = [(path, None) for path in early]
    units += rows[:few]
    first = len(units)
    units += [(path, None) for path in late]
    units += rows[few : few + budget.limit]
    has_names = any(naming(place) is not None for place in places.values())
    return _Plan(root, places, frame, units, len(early), first, is_kept, has_names, unread)


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


def _needed_of(place: Collection) -> int:
    # Of those that do not differ, one is enough beside those that do.
    wanted = 1 + min(len(place.outliers), _OUTLIERS) if place.outliers else _ENOUGH
    return min(len(place.values), wanted if place.exact_field is None else max(_KEPT, wanted))


def _enough_fits(plan: _Plan, cut: Cut, budget: Budget) -> bool:
    """Whether the first records of each collection are likely to fit, judged by a few of them."""
    cost = 0
    for place in plan.places.values():
        for index, _ in zip(place.order, range(_needed_of(place)), strict=False):
            text = encoded(record(place, index, cut, plan.is_kept))
            # The tokens of what is far too long are not counted.
            is_far_too_long = len(text) > _CHARS * budget.limit
            cost += budget.limit + 1 if is_far_too_long else budget.count(text)
            if cost > budget.limit:
                return False
    return True


def _filled(plan: _Plan, cut: Cut, limit: int, budget: Budget) -> tuple[str, int]:
    """The text with as many units as fit `limit` tokens, and their number."""
    return _most(
        lambda count: _rendered(plan, cut, count, {}, budget), len(plan.units), limit, _LEAF, budget
    )


def _with_names(plan: _Plan, cut: Cut, shown: int, budget: Budget) -> str:
    """The text with `shown` units, and as many names of other records as fit."""

    def text(names: int) -> str:
        return _rendered(plan, cut, shown, dict.fromkeys(plan.places, names), budget)

    return _most(text, budget.limit, budget.limit, _NAME, budget)[0]


def _most(
    text_of: Callable[[int], str], highest: int, limit: int, each: int, budget: Budget
) -> tuple[str, int]:
    """The text with the most parts, up to `highest`, that fit `limit` tokens, and their number;
    `each` is the estimated cost of a part."""
    low, high, best, most = 0, highest, "", 0
    guess = limit // each
    while low <= high:
        middle = min(max(guess, low), high)
        text = text_of(middle)
        cost = budget.count(text)
        if cost <= limit:
            best, most, low = text, middle, middle + 1
        else:
            high = middle - 1
        # The cost grows about evenly with the parts; halving keeps a wrong estimate from going far.
        near = middle + (limit - cost) // each
        guess = near if low < near < high else (low + high) // 2
    return best, most


def _smallest(root: object, budget: Budget) -> str:
    """A summary in very few tokens."""
    size = len(root) if isinstance(root, dict | list) else 0
    what = f"{'object' if isinstance(root, dict) else 'array'} of {size}"
    for value in ({MORE: what}, {}):
        text = encoded(value)
        if budget.fits(text):
            return text
    return ""


class _Node(msgspec.Struct):
    """Where the chosen units are."""

    children: dict[PathStep, _Node] = {}
    records: list[int] = []


def _rendered(plan: _Plan, cut: Cut, count: int, names: dict[LeafPath, int], budget: Budget) -> str:
    tree = _Node({}, [])
    for path, index in plan.units[:count]:
        node = tree
        for step in path:
            node = node.children.setdefault(step, _Node({}, []))
        if index is not None:
            node.records.append(index)
    build = _Build(plan, cut, names, budget)
    built = build.value(plan.root, tree, ())
    if plan.unread and isinstance(built, dict):
        built = {f"{MORE}{plan.unread}": "", **built}
    elif plan.unread and isinstance(built, list):
        built = [f"{MORE}{plan.unread}", *built]
    return encoded(built)


class _Build:
    """One rendering of the chosen units."""

    def __init__(self, plan: _Plan, cut: Cut, names: dict[LeafPath, int], budget: Budget) -> None:
        self._plan, self._cut, self._names, self._budget = plan, cut, names, budget

    def value(self, value: object, node: _Node | None, path: LeafPath) -> object:
        place = self._plan.places.get(path)
        if place is not None:
            return self._collection(place, node)
        if isinstance(value, dict):
            return self._object(value, node or _Node({}, []), path)
        if isinstance(value, list):
            return self._list(value, node or _Node({}, []), path)
        return scalar(value, path, self._cut, self._plan.is_kept)

    def _object(self, value: dict[str, object], node: _Node, path: LeafPath) -> dict[str, object]:
        built: dict[str, object] = {}
        missing: list[str] = []
        for key, held in value.items():
            child = node.children.get(key)
            if child is not None or (*path, key) in self._plan.places:
                built[plain_key(key)] = self.value(held, child, (*path, key))
            else:
                missing.append(plain_key(key))
        if missing:
            built[MORE] = f"{len(missing)} of {len(value)} keys: {names_text(missing)}"
        return built

    def _list(self, value: list[object], node: _Node, path: LeafPath) -> list[object]:
        built: list[object] = []
        left = 0
        for index, held in enumerate(value):
            child = node.children.get(index)
            if child is None and (*path, index) not in self._plan.places:
                left += 1
                continue
            built.append(self.value(held, child, (*path, index)))
        if left:
            built.append(f"{MORE}{left} of {len(value)} left out")
        return built

    def _collection(self, place: Collection, node: _Node | None) -> object:
        chosen = sorted(node.records) if node is not None else []
        whole = len(chosen) == len(place.values) and not self._drops_fields(place)
        heading = "" if whole else self._head(place)
        shown = [record(place, index, self._cut, self._plan.is_kept) for index in chosen]
        gaps = dict(self._gaps(place, chosen, heading))
        if isinstance(place.steps[0], str):
            return self._keyed(place, heading, dict(zip(chosen, shown, strict=True)), gaps)
        found: list[object] = [heading] if heading else []
        for at in range(len(chosen) + 1):
            if at in gaps:
                found.append(gaps[at])
            if at < len(chosen):
                found.append(shown[at])
        return found

    def _keyed(
        self, place: Collection, heading: str, shown: dict[int, object], gaps: dict[int, str]
    ) -> dict[str, object]:
        """The records of an object, by their keys; one mark for all that are missing."""
        built: dict[str, object] = {MORE: heading} if heading else {}
        built |= {plain_key(str(place.steps[index])): held for index, held in shown.items()}
        if gaps:
            left = len(place.steps) - len(shown)
            others = (i for i in range(min(gaps), len(place.steps)) if i not in shown)
            few = islice(others, max(1, self._names.get(place.path, 0)))
            named = [name_of(place, i) for i in few]
            built[f"{MORE} more"] = f"{left} of {len(place.steps)} keys: {names_text(named)}"
        return built

    def _drops_fields(self, place: Collection) -> bool:
        return self._cut.fields is not None and self._cut.fields < len(place.fields)

    def _head(self, place: Collection) -> str:
        known = self._plan.heads.get((place.path, self._cut.fields))
        if known is None:
            room = self._budget.limit * _HEAD / len(self._plan.places)
            known = head(
                place,
                self._cut,
                room,
                self._budget.count,
                self._plan.rare_names,
                self._plan.whole.get(place.path, frozenset()),
            )
            self._plan.heads[place.path, self._cut.fields] = known
        return known

    def _gaps(
        self, place: Collection, chosen: list[int], heading: str
    ) -> Iterator[tuple[int, str]]:
        """Marks of what is missing, each by the position that it precedes. The ends of a sequence
        stand in the heading, or in its gaps."""
        name = naming(place)
        names = self._names.get(place.path, 0) if name is not None else 0
        is_sequence = not lists_names(place)
        if is_sequence and f"; {name}: " in heading:
            names = 0
        before = 0
        for at, index in enumerate([*chosen, len(place.values)]):
            if index > before:
                if is_sequence:
                    ends = [before] if index - before == 1 else [before, index - 1]
                    named = [name_of(place, i) for i in ends] if names > 0 else []
                    names -= len(named) > 0
                    yield at, gap(place, before, index, named, True)
                    before = index + 1
                    continue
                named = [name_of(place, i) for i in range(before, min(index, before + names))]
                names -= len(named)
                yield at, gap(place, before, index, named)
            before = index + 1
