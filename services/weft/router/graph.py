"""ChoiceGraph as a value: checked, measured and drawn. Children come after their parent and every
node has one parent, so there can be no cycle."""

from __future__ import annotations

from weft_schemas.errors import InvalidInput
from weft_schemas.routing import ChoiceGraph, ChoiceNode

_MOST_DRAWN = 400
"""Most nodes in a drawing: browsers fail with many more."""


def check_graph(graph: ChoiceGraph) -> ChoiceGraph:
    """The graph itself if it is bounded, acyclic and complete. Raises `InvalidInput` naming the
    node."""
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    if len(places) < len(graph.nodes):
        raise InvalidInput("choice graph: two nodes have the same id; name each once")
    if graph.root not in places:
        raise InvalidInput(f"choice graph: root {graph.root!r} is not one of its nodes; add it")
    for place, node in enumerate(graph.nodes):
        _check_node(node, place, places, graph.max_children)
    return graph


def _check_node(node: ChoiceNode, place: int, places: dict[str, int], most: int) -> None:
    if node.children and node.item:
        raise InvalidInput(f"choice node {node.id!r} has children and an item; give it one of them")
    if len(node.children) > most:
        raise InvalidInput(
            f"choice node {node.id!r} has {len(node.children)} children, the most is {most}; "
            "group them"
        )
    for child in node.children:
        if places.get(child, -1) <= place:
            raise InvalidInput(
                f"choice node {node.id!r}: child {child!r} does not come after it; "
                "list parents before children"
            )


def depth_of(graph: ChoiceGraph) -> int:
    """Steps from the root to the deepest leaf."""
    depths = {graph.root: 0}
    for node in graph.nodes:
        for child in node.children:
            depths[child] = max(depths.get(child, 0), depths[node.id] + 1)
    return max(depths.values())


def mermaid(graph: ChoiceGraph) -> str:
    """A Mermaid flowchart; of a large graph, the upper nodes and how many are left out."""
    shown = {graph.root: 0}
    lines = ["flowchart LR"]
    for node in _by_level(graph):
        if node.id not in shown:
            continue
        lines.append(f'  n{shown[node.id]}["{_plain(node.label)}"]')
        for child in node.children:
            if child in shown or len(shown) < _MOST_DRAWN:
                shown.setdefault(child, len(shown))
                lines.append(f"  n{shown[node.id]} --> n{shown[child]}")
    left_out = len(graph.nodes) - len(shown)
    if left_out:
        lines.append(f'  more["… and {left_out} more nodes"]')
    return "\n".join(lines) + "\n"


def _by_level(graph: ChoiceGraph) -> list[ChoiceNode]:
    nodes = {node.id: node for node in graph.nodes}
    level, ordered, seen = [graph.root], list[ChoiceNode](), {graph.root}
    while level:
        ordered += (nodes[name] for name in level)
        below = [child for name in level for child in nodes[name].children]
        level = [name for name in dict.fromkeys(below) if name not in seen]
        seen.update(level)
    return ordered


def _plain(label: str) -> str:
    """A label that cannot end its quotes or start a directive."""
    kept = "".join(letter if letter.isprintable() else " " for letter in label[:60])
    return kept.translate({ord('"'): "'", ord("<"): "‹", ord(">"): "›", ord("&"): "+"}).strip()  # noqa: RUF001
