"""What holds for every ChoiceGraph."""

from weft_schemas.routing import ChoiceGraph


def checked_depth(graph: ChoiceGraph) -> int:
    """Steps from the root to the deepest leaf. Asserts that the graph is bounded and complete, and
    that each node comes after its one parent, so that there is no cycle."""
    depths = {graph.root: 0}
    for node in graph.nodes:
        assert len(node.children) <= graph.max_children
        assert not (node.children and node.item)
        for child in node.children:
            assert child not in depths
            depths[child] = depths[node.id] + 1
    assert sorted(depths) == sorted(node.id for node in graph.nodes)
    return max(depths.values())
