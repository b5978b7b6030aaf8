"""The chosen pieces of a JSON value as JSON, with a mark in place of whatever is left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from weft.firewall.json_leaves import (
    LeafPath,
    PathStep,
)
from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.collection import (
    MORE,
    Collection,
    Cut,
    gap,
    head,
    lists_names,
    name_of,
    names_text,
    naming,
    plain_key,
    record,
    scalar,
)
from weft.firewall.summarise.json_plan import Plan
from weft.firewall.verbatim_json import encoded

_HEAD = 0.3
"""Share of the tokens for statements about the collections, all of them together."""


class _Node(msgspec.Struct):
    """Where the chosen units are."""

    children: dict[PathStep, _Node] = {}
    records: list[int] = []


def rendered(plan: Plan, cut: Cut, count: int, names: dict[LeafPath, int], budget: Budget) -> str:
    """JSON of the first `count` units; `names` says how many records of a collection are named in
    its gaps."""
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

    def __init__(self, plan: Plan, cut: Cut, names: dict[LeafPath, int], budget: Budget) -> None:
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
