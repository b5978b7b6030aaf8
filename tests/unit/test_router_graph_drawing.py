"""A ChoiceGraph survives serialising, and is drawn safely."""

import msgspec

from weft.router.graph_drawing import mermaid
from weft.router.tree_builder import TreeBuilder
from weft_schemas.routing import ChoiceGraph, ChoiceNode, SelectableItem


def graph(*nodes: ChoiceNode) -> ChoiceGraph:
    return ChoiceGraph(nodes[0].id, nodes, 4, "alphabetical")


LEAF = ChoiceNode("b", "B", item="t1")


def test_it_survives_serialising() -> None:
    items = [SelectableItem(f"t{n}", f"tool {n}", "Does it.") for n in range(40)]
    made = TreeBuilder().build(items)
    assert msgspec.json.decode(msgspec.json.encode(made), type=ChoiceGraph) == made


def test_a_drawing_holds_every_node_and_edge() -> None:
    drawn = mermaid(graph(ChoiceNode("a", "A", ("b",)), LEAF))
    assert drawn == 'flowchart LR\n  n0["A"]\n  n0 --> n1\n  n1["B"]\n'


def test_a_label_cannot_break_out_of_a_drawing() -> None:
    label = 'x"]\nclick n0 "javascript:alert(1)"<script>'
    drawn = mermaid(graph(ChoiceNode("a", label, ("b",)), LEAF))
    assert len(drawn.splitlines()) == 4
    assert drawn.count('"') == 4
    assert "<" not in drawn


def test_a_large_graph_is_drawn_in_part_and_says_so() -> None:
    items = [SelectableItem(f"t{n}", f"tool {n}", f"word{n}") for n in range(3_000)]
    drawn = mermaid(TreeBuilder().build(items))
    assert "more nodes" in drawn
    assert len(drawn) < 100_000
