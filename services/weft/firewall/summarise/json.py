"""Shortens JSON to JSON. Around the records it keeps totals, pages, errors and whatever else is
said once. For the records it gives their number, what all of them have in common, and some of them
whole. A mark stands in place of whatever is left out, with the path by which to request it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from weft.firewall.columns import MAX_RARE
from weft.firewall.json_leaves import (
    LeafPath,
)
from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.collection import (
    MORE,
    Collection,
    Cut,
    is_told_by_ranges,
    lists_names,
    record,
)
from weft.firewall.summarise.json_plan import LEAF_TOKENS, OUTLIERS, Plan, needed_of, plan_of
from weft.firewall.summarise.json_rendering import rendered
from weft.firewall.verbatim_json import encoded

_WHOLE = (Cut(3_000, 100), Cut(800, 40), Cut(300, 20), Cut(90, 8))
_FIELDS = (8, 5, 4, 3, 2, 1)
CUTS = (*_WHOLE, *(Cut(90, 4, fields) for fields in _FIELDS))
"""From all of a record to one field of it: the first one with which enough records fit is used."""
_RARE = 0.8
"""Share of the tokens up to which records that differ are shown whole if not all of them fit; the
rest names the others. It does not depend on how many there are: a further one never shows less."""
_RECORDS, _WITH_OUTLIERS = 0.6, 0.85
"""Share of the tokens for records, if not all of them fit and some differ from the others; the rest
names those that are not shown."""
_CHARS = 16
"""A token is rarely longer than this many characters."""
_MARK = 14
"""About how many tokens the mark of a gap costs."""
_NAME = 6
"""About how many tokens a name costs."""


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
    plan = plan_of(root, budget, keep, unread, places)
    return _fitted(plan, budget) or _smallest(root, budget)


def _fitted(plan: Plan, budget: Budget) -> str:
    """Uses the most generous cut with which the wanted parts fit: everything, or some records and
    the names of others."""
    differ = any(place.outliers for place in plan.places.values())
    share = (_WITH_OUTLIERS if differ else _RECORDS) if plan.has_names else 1.0
    if not any(map(lists_names, plan.places.values())):
        share = 1.0  # what little is left holds the ends of a sequence
    room = int(budget.limit * share)
    last = CUTS[-1] if plan.places else _WHOLE[-1]
    needed = sum(min(len(place.outliers), OUTLIERS) for place in plan.places.values())
    for cut in CUTS:
        if not _enough_fits(plan, cut, budget) and cut is not last:
            continue
        cost = budget.count(rendered(plan, cut, plan.first, {}, budget))
        if cost * len(plan.units) <= 2 * budget.limit * max(1, plan.first):
            text, count = _filled(plan, cut, budget.limit, budget)
            if count == len(plan.units):
                return text
        few = _with_few_outliers(plan, cut, budget) if cost <= room or cut is last else None
        shown = needed if few is None else few.outliers
        if (cost <= room and shown >= needed) or cut is last:
            return _shared(plan, few, cut, room, budget)
    return ""


def _shared(plan: Plan, few: Plan | None, cut: Cut, room: int, budget: Budget) -> str:
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


def _without_sequences(plan: Plan, cut: Cut) -> Plan:
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


def _with_few_outliers(plan: Plan, cut: Cut, budget: Budget) -> Plan | None:
    """The plan with as many of the records that differ as there is room for before their names;
    None if there is room for all of them."""
    outliers = {path: frozenset(place.outliers) for path, place in plan.places.items()}
    left = sum(map(len, outliers.values()))
    room = int(budget.limit * _RARE) - budget.count(rendered(plan, cut, plan.early, {}, budget))
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


def _with_rare_names(plan: Plan, cut: Cut, budget: Budget) -> tuple[str, int]:
    """The text with the first units and as many names of records with each rare value as fit, and
    their number."""

    def text(names: int) -> str:
        named = msgspec.structs.replace(plan, rare_names=names, heads={})
        return rendered(named, cut, plan.early, {}, budget)

    groups = sum(len(x.outliers) for place in plan.places.values() for x in place.columns)
    return _most(text, MAX_RARE, budget.limit, _NAME * max(1, groups), budget)


def _enough_fits(plan: Plan, cut: Cut, budget: Budget) -> bool:
    """Whether the first records of each collection are likely to fit, judged by a few of them."""
    cost = 0
    for place in plan.places.values():
        for index, _ in zip(place.order, range(needed_of(place)), strict=False):
            text = encoded(record(place, index, cut, plan.is_kept))
            # The tokens of what is far too long are not counted.
            is_far_too_long = len(text) > _CHARS * budget.limit
            cost += budget.limit + 1 if is_far_too_long else budget.count(text)
            if cost > budget.limit:
                return False
    return True


def _filled(plan: Plan, cut: Cut, limit: int, budget: Budget) -> tuple[str, int]:
    """The text with as many units as fit `limit` tokens, and their number."""
    return _most(
        lambda count: rendered(plan, cut, count, {}, budget),
        len(plan.units),
        limit,
        LEAF_TOKENS,
        budget,
    )


def _with_names(plan: Plan, cut: Cut, shown: int, budget: Budget) -> str:
    """The text with `shown` units, and as many names of other records as fit."""

    def text(names: int) -> str:
        return rendered(plan, cut, shown, dict.fromkeys(plan.places, names), budget)

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
