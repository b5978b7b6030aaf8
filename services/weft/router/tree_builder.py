"""TreeBuilder: makes a balanced ChoiceGraph from a catalogue, and gives the reason for its shape.

Every part is split again until it fits a node; the size of a cluster is bounded, so the depth grows
with the logarithm of the catalogue (plus one level per segment of a namespace).
"""

from __future__ import annotations

from weft.router import grouping
from weft.router.grouping import ItemGroup, ItemTraits
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import ChoiceGraph, ChoiceNode, SelectableItem

MAX_CHILDREN = 16
"""Most children of a node: few enough for a reader to survey, and for a search step to stay
cheap."""

_NAMESPACED = 0.6
"""From this share of items with a namespace on, namespaces are a structure and not an exception."""


class TreeBuilder:
    """Chooses a strategy for a catalogue and builds its graph."""

    def __init__(self, max_children: int = MAX_CHILDREN) -> None:
        if max_children < 2:
            raise InvalidInput(f"max_children is {max_children}; a node needs room for at least 2")
        self._most = max_children
        self._nodes: list[ChoiceNode] = []
        self._traits: list[ItemTraits] = []
        self._items: list[SelectableItem] = []

    def build(self, items: list[SelectableItem]) -> ChoiceGraph:
        """The graph over `items`, whose ids are unique. The same items give the same graph in any
        order."""
        self._items = sorted(items, key=lambda item: (item.namespace, item.name, item.id))
        self._traits = grouping.traits_of(self._items)
        self._nodes = []
        strategy, reason = self._choice()
        self._grow("n", "all", list(range(len(self._items))), strategy, 0)
        return ChoiceGraph("n", tuple(self._nodes), self._most, strategy, reason)

    def _choice(self) -> tuple[str, str]:
        total = len(self._items)
        named = [item.segments[0] for item in self._traits if item.segments]
        spaces = len(set(named))
        if total and len(named) >= _NAMESPACED * total and spaces > 1:
            return "namespace", (
                f"{len(named)} of {total} items have a namespace, {spaces} outermost ones"
            )
        lacking = f"{len(named)} of {total} items have a namespace, {spaces} outermost"
        everything = list(range(total))
        if total and len(grouping.by_words(self._traits, everything, 2)) > 1:
            return "jaccard", f"{lacking}: grouped by the words that they share"
        return "alphabetical", f"{lacking}, and their words tell nothing apart: sorted by name"

    def _grow(self, name: str, label: str, members: list[int], strategy: str, level: int) -> None:
        """Append the node `name` and everything below it."""
        if len(members) <= self._most:
            self._append_parent(name, label, members)
            return
        parts, strategy, level = self._split(members, strategy, level)
        names = [
            f"{name}.{place}" if len(part) > 1 else self._leaf(part[0])
            for place, (_, part) in enumerate(parts)
        ]
        self._nodes.append(ChoiceNode(name, label, tuple(names)))
        for child, (part_label, part) in zip(names, parts, strict=True):
            if len(part) == 1:
                self._append_leaf(part[0])
            else:
                self._grow(child, part_label, part, strategy, level)

    def _split(
        self, members: list[int], strategy: str, level: int
    ) -> tuple[list[ItemGroup], str, int]:
        """At least two parts, and the strategies for splitting them further."""
        if strategy == "namespace":
            deepest = max(len(self._traits[index].segments) for index in members)
            for segment in range(level, deepest):
                parts = grouping.by_namespace(self._traits, members, segment, self._most)
                if len(parts) > 1:
                    return parts, strategy, segment
        wanted = min(self._most, -(-len(members) // self._most))
        if strategy != "alphabetical":
            parts = grouping.by_words(self._traits, members, wanted)
            if len(parts) > 1:
                return parts, "jaccard", 0
        return grouping.by_alphabet(self._traits, members, wanted), "alphabetical", 0

    def _append_parent(self, name: str, label: str, members: list[int]) -> None:
        leaves = tuple(self._leaf(index) for index in members)
        self._nodes.append(ChoiceNode(name, label, leaves))
        for index in members:
            self._append_leaf(index)

    def _append_leaf(self, index: int) -> None:
        item = self._items[index]
        self._nodes.append(ChoiceNode(self._leaf(index), item.name[:80], item=item.id))

    def _leaf(self, index: int) -> str:
        return "i:" + self._items[index].id
