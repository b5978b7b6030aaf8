"""TreeBuilder: the strategy it chooses, the reason it gives, the balance it keeps."""

import math
import random

import pytest
from tests.choice_graphs import checked_depth

from weft.router.tree_builder import TreeBuilder
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import SelectableItem


def namespaced(count: int) -> list[SelectableItem]:
    spaces = ["billing.invoices", "billing.payments", "crm.contacts", "infra.logs"]
    return [
        SelectableItem(f"t{n}", f"tool_{n}", "Does it.", namespace=spaces[n % 4])
        for n in range(count)
    ]


def worded(count: int) -> list[SelectableItem]:
    words = ("invoice", "flight", "weather", "music", "photo", "stock", "recipe", "hotel")
    chance = random.Random(7)
    return [
        SelectableItem(f"t{n}", f"tool{n}", " ".join(chance.choices(words, k=4)))
        for n in range(count)
    ]


def alike(count: int) -> list[SelectableItem]:
    return [SelectableItem(f"t{n:05}", "same", "Same.") for n in range(count)]


@pytest.mark.parametrize(
    ("items", "strategy", "reason"),
    [
        (namespaced(60), "namespace", "60 of 60 items have a namespace, 3 outermost ones"),
        (worded(60), "jaccard", "grouped by the words that they share"),
        (alike(60), "alphabetical", "their words tell nothing apart"),
    ],
)
def test_it_chooses_and_says_why(items: list[SelectableItem], strategy: str, reason: str) -> None:
    graph = TreeBuilder().build(items)
    assert graph.strategy == strategy
    assert reason in graph.reason


@pytest.mark.parametrize("make", [namespaced, worded, alike])
@pytest.mark.parametrize(("count", "children"), [(0, 16), (1, 16), (17, 16), (500, 4), (2_000, 8)])
def test_every_graph_is_bounded_whole_and_balanced(make: type, count: int, children: int) -> None:
    items = make(count)
    graph = TreeBuilder(children).build(items)
    assert sorted(node.item for node in graph.nodes if node.item) == sorted(i.id for i in items)
    # A cluster has at most 1.5 times its share; namespaces add a level per segment.
    assert checked_depth(graph) <= 3 + math.log(max(count, 2)) / math.log(children / 1.5)


def test_one_huge_namespace_among_many_small_ones_stays_balanced() -> None:
    items = [SelectableItem(f"a{n}", f"tool{n}", "x", namespace=f"s{n}") for n in range(40)]
    items += [
        SelectableItem(f"b{n}", f"do thing {n}", f"word{n % 50}", namespace="zz")
        for n in range(2_000)
    ]
    assert checked_depth(TreeBuilder().build(items)) <= 6


def test_the_order_of_items_does_not_matter() -> None:
    items = worded(300)
    shuffled = random.Random(1).sample(items, len(items))
    assert TreeBuilder().build(items) == TreeBuilder().build(shuffled)


def test_a_node_needs_room_for_two() -> None:
    with pytest.raises(InvalidInput, match="max_children is 1"):
        TreeBuilder(1)


def test_labels_say_what_is_below() -> None:
    graph = TreeBuilder().build(namespaced(60))
    labels = {node.label for node in graph.nodes if node.children}
    assert {"all", "billing", "crm", "infra"} <= labels
