"""Whatever the catalogue, the graph ranks as looking at everything does, and comes and goes of
items leave it as a fresh build would."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.choice_graphs import checked_depth

from weft import tokens
from weft.router.cards import CARD_TOKENS, card_of, line_of
from weft.router.router import Router
from weft.router.tree_builder import TreeBuilder
from weft_schemas.routing import RouteRequest, SelectableItem

WORDS = st.sampled_from(
    ["find", "send", "invoice", "payment", "flight", "hotel", "delete", "user", "検索", "поиск"]
)
PHRASES = st.lists(WORDS, max_size=8).map(" ".join)
CATALOGUES = st.lists(
    st.builds(
        SelectableItem,
        id=st.integers(0, 500).map("t{}".format),
        name=PHRASES,
        description=PHRASES,
        namespace=st.sampled_from(["", "a", "a.b", "c"]),
        tags=st.lists(WORDS, max_size=2).map(tuple),
    ),
    max_size=80,
    unique_by=lambda item: item.id,
)


@settings(max_examples=60)
@given(CATALOGUES, PHRASES, st.integers(2, 16))
def test_the_graph_finds_what_the_flat_ranking_finds(
    items: list[SelectableItem], query: str, children: int
) -> None:
    router = Router(items, max_children=children)
    reply = router.route(RouteRequest(query, "c"))
    assert [card.id for card in reply.cards] == [hit.id for hit in router.flat(query, 5)]


@settings(max_examples=60)
@given(CATALOGUES, CATALOGUES, PHRASES, st.integers(2, 16))
def test_a_router_that_was_updated_item_by_item_answers_as_a_new_one(
    older: list[SelectableItem], newer: list[SelectableItem], query: str, children: int
) -> None:
    router = Router(older, max_children=children)
    held, wanted = {item.id: item for item in older}, {item.id for item in newer}
    for item in newer:
        held[item.id] = item
        router.update(held.values())
    for item in older:
        if item.id not in wanted:
            del held[item.id]
            router.update(held.values())
    checked_depth(router.graph())
    fresh = Router(newer, max_children=children)
    request = RouteRequest(query, "c")
    assert router.route(request).cards == fresh.route(request).cards
    assert router.flat(query, 5) == fresh.flat(query, 5)


@settings(max_examples=60)
@given(CATALOGUES, st.integers(2, 16))
def test_every_graph_is_bounded_and_whole(items: list[SelectableItem], children: int) -> None:
    graph = TreeBuilder(children).build(items)
    checked_depth(graph)
    assert {node.item for node in graph.nodes if node.item} == {item.id for item in items}


@settings(max_examples=200)
@given(
    st.text(min_size=1, max_size=32),
    st.text(max_size=300),
    st.lists(st.text(max_size=60), max_size=6),
)
def test_every_card_is_one_line_within_its_cap(
    name: str, description: str, tags: list[str]
) -> None:
    item = SelectableItem("t1", name, description, tags=tuple(tags), side_effects=True)
    card = card_of(item, 1.0, "", "o200k_base")
    assert tokens.count(msgspec.json.encode(card).decode(), "o200k_base") <= CARD_TOKENS
    assert len(line_of(card).splitlines()) == 1
