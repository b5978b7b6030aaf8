"""A ChoiceGraph is checked, survives serialising, and is drawn safely."""

import msgspec
import pytest

from weft.router.graph import check_graph, depth_of, mermaid
from weft.router.tree_builder import TreeBuilder
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import ChoiceGraph, ChoiceNode, SelectableItem


def graph(*nodes: ChoiceNode, most: int = 4) -> ChoiceGraph:
    return ChoiceGraph(nodes[0].id, nodes, most, "alphabetical")


LEAF = ChoiceNode("b", "B", item="t1")


def test_a_whole_graph_passes() -> None:
    made = graph(ChoiceNode("a", "A", ("b",)), LEAF)
    assert check_graph(made) is made
    assert depth_of(made) == 1


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (graph(ChoiceNode("a", "A", ("b",))), "child 'b' does not come after it"),
        (graph(ChoiceNode("a", "A", ("a",))), "child 'a' does not come after it"),
        (
            graph(ChoiceNode("a", "A", ("b",)), ChoiceNode("b", "B", ("a",))),
            "node 'b': child 'a'",
        ),
        (graph(ChoiceNode("a", "A", ("b", "b")), LEAF, most=1), "2 children, the most is 1"),
        (graph(ChoiceNode("a", "A", ("b",), item="x"), LEAF), "children and an item"),
        (graph(LEAF, LEAF), "same id"),
        (ChoiceGraph("z", (LEAF,), 4, "alphabetical"), "root 'z'"),
    ],
)
def test_a_broken_graph_is_refused(broken: ChoiceGraph, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        check_graph(broken)


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
