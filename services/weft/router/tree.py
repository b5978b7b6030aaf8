"""The graph in the router's own form: every node knows for each term the greatest weight of any
leaf below it. So a node's score is never below that of its best leaf, and a leaf is added or
removed quickly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from weft.router.bm25f import WordWeights, item_weights
from weft.router.concepts import Concepts
from weft_schemas.routing import ChoiceGraph, ChoiceNode, SelectableItem

_DEEP_LABEL = "…"

LeafWords = tuple[frozenset[str], frozenset[str]]


class Node:
    """A leaf (has an item) or an interior node (has children)."""

    __slots__ = ("children", "first", "item", "label", "parent", "traits", "weights")

    def __init__(
        self, label: str, weights: WordWeights, item: SelectableItem | None = None
    ) -> None:
        self.label = label
        self.weights = weights
        self.item = item
        self.first = item.id if item else ""
        """The lowest id at or below it, which breaks ties between equal scores."""
        self.traits: LeafWords | None = None
        """For a leaf, computed when it is first compared: words of its name, and of all its
        text."""
        self.parent: Node | None = None
        self.children: list[Node] = []

    def adopt(self, child: Node) -> None:
        child.parent = self
        self.children.append(child)
        self.widen(child)

    def widen(self, below: Node) -> None:
        """Raise the bounds to those of a node that is new below this one."""
        self.first = min(self.first, below.first) if self.first else below.first
        mine = self.weights
        for term, weight in below.weights.items():
            if weight > mine.get(term, 0.0):
                mine[term] = weight


class Tree:
    """A catalogue's items under one root."""

    def __init__(
        self, graph: ChoiceGraph, items: Iterable[SelectableItem], concepts: Concepts
    ) -> None:
        self._concepts = concepts
        by_id = {item.id: item for item in items}
        self.max_children = graph.max_children
        self.strategy, self.reason = graph.strategy, graph.reason
        self.leaves: dict[str, Node] = {}
        self.frequencies: Counter[str] = Counter()
        self.root = self._grown(graph, by_id)

    def add(self, item: SelectableItem) -> None:
        """Add one item next to similar ones; an item with its id is replaced."""
        if item.id in self.leaves:
            self.remove(item.id)
        leaf = self._leaf(item)
        place = self.root
        while inner := [child for child in place.children if child.item is None]:
            place = max(inner, key=lambda child: (self._likeness(leaf, child), child.first))
        place.adopt(leaf)
        above = place.parent
        while above is not None:
            above.widen(leaf)
            above = above.parent
        self._split_where_full(place)

    def remove(self, item_id: str) -> None:
        """Remove one item; does nothing if there is none."""
        leaf = self.leaves.pop(item_id, None)
        if leaf is None:
            return
        for term in leaf.weights:
            self.frequencies[term] -= 1
            if not self.frequencies[term]:
                del self.frequencies[term]
        node: Node | None = leaf.parent
        gone = leaf
        while node is not None:
            if not gone.children:
                node.children.remove(gone)
            _narrow(node, leaf.weights)
            gone, node = node, node.parent

    def graph(self) -> ChoiceGraph:
        """Its present shape as a value."""
        nodes = tuple(_listed(self.root, "n"))
        return ChoiceGraph("n", nodes, self.max_children, self.strategy, self.reason)

    def _grown(self, graph: ChoiceGraph, items: dict[str, SelectableItem]) -> Node:
        """In a graph children come after their parents; so in reverse order every child precedes
        its parent."""
        made: dict[str, Node] = {}
        for entry in reversed(graph.nodes):
            if entry.item:
                made[entry.id] = self._leaf(items[entry.item])
                continue
            node = Node(entry.label, {})
            for child in entry.children:
                node.adopt(made.pop(child))
            made[entry.id] = node
        return made[graph.root]

    def _leaf(self, item: SelectableItem) -> Node:
        weights = item_weights(item, self._concepts)
        weights.update(dict.fromkeys(facets_of(item), 1.0))
        self.frequencies.update(weights.keys())
        leaf = Node(item.name[:80], weights, item)
        self.leaves[item.id] = leaf
        return leaf

    def _likeness(self, leaf: Node, node: Node) -> float:
        """Rare terms that both have, so that an item is placed among similar ones."""
        theirs = node.weights
        frequencies = self.frequencies
        return sum(
            weight / (1 + frequencies[term])
            for term, weight in leaf.weights.items()
            if term in theirs
        )

    def _split_where_full(self, node: Node) -> None:
        """A full node becomes two siblings, as in a B-tree, up to a new root."""
        while len(node.children) > self.max_children:
            parent = node.parent
            if parent is None:
                self.root = parent = Node("all", {})
                parent.adopt(node)
            left, right = _halves(node)
            node.children, node.weights, node.first = [], {}, ""
            sibling = Node(_DEEP_LABEL, {})
            for half, children in ((node, left), (sibling, right)):
                for child in children:
                    half.adopt(child)
                half.label = _span(children)
            parent.adopt(sibling)
            node = parent


def facets_of(item: SelectableItem) -> list[str]:
    """Filters as terms that no text contains: `@tag:x`, `@ns:a` and `@ns:a.b`."""
    spaces = item.namespace.split(".")
    return [f"@tag:{tag.casefold()}" for tag in item.tags] + [
        "@ns:" + ".".join(spaces[: depth + 1]).casefold() for depth in range(len(spaces))
    ]


def _narrow(node: Node, gone: WordWeights) -> None:
    """Lower the bounds that only the removed leaf reached."""
    node.first = min((child.first for child in node.children), default="")
    for term, weight in gone.items():
        if node.weights.get(term) == weight:
            most = max((child.weights.get(term, 0.0) for child in node.children), default=0.0)
            if most:
                node.weights[term] = most
            else:
                del node.weights[term]


def _halves(node: Node) -> tuple[list[Node], list[Node]]:
    """The children in two halves: those most similar to the first, and the rest."""
    seed = node.children[0].weights.keys()
    ranked = sorted(
        node.children,
        key=lambda child: (-len(seed & child.weights.keys()) / len(child.weights), child.first),
    )
    middle = len(ranked) // 2
    return ranked[:middle], ranked[middle:]


def _span(children: list[Node]) -> str:
    first, last = children[0].label[:24], children[-1].label[:24]
    return first if first == last else f"{first} … {last}"


def _listed(root: Node, root_name: str) -> Iterator[ChoiceNode]:
    stack = [(root_name, root)]
    while stack:
        name, node = stack.pop()
        if node.item is not None:
            yield ChoiceNode(name, node.label, item=node.item.id)
            continue
        names = [
            f"{name}.{place}" if child.item is None else f"i:{child.item.id}"
            for place, child in enumerate(node.children)
        ]
        yield ChoiceNode(name, node.label, tuple(names))
        stack.extend(reversed(list(zip(names, node.children, strict=True))))
