"""A ChoiceGraph as a drawing."""

from __future__ import annotations

from weft_schemas.routing import ChoiceGraph, ChoiceNode

_MAX_DRAWN = 400
"""Most nodes in a drawing: browsers fail with many more."""


def mermaid(graph: ChoiceGraph) -> str:
    """A Mermaid flowchart; of a large graph, the upper nodes and how many are left out."""
    shown = {graph.root: 0}
    lines = ["flowchart LR"]
    for node in _by_level(graph):
        if node.id not in shown:
            continue
        lines.append(f'  n{shown[node.id]}["{_safe_label(node.label)}"]')
        for child in node.children:
            if child in shown or len(shown) < _MAX_DRAWN:
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


def _safe_label(label: str) -> str:
    """A label that cannot end its quotes or start a directive."""
    printable = "".join(letter if letter.isprintable() else " " for letter in label[:60])
    return printable.translate({ord('"'): "'", ord("<"): "‹", ord(">"): "›", ord("&"): "+"}).strip()  # noqa: RUF001
