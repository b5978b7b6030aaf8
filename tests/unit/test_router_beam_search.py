"""The search gives leaves in the order of the flat ranking, and no more of them than it may."""

from itertools import islice

from weft.router.beam_search import BeamSearch, Hit
from weft.router.bm25f import WordWeights, query_weights, score
from weft.router.tree import Tree
from weft.router.tree_builder import TreeBuilder
from weft_schemas.routing import SelectableItem

ITEMS = [
    SelectableItem(
        f"t{n:05}", f"tool {n % 7} {n % 11}", f"word{n % 13} thing{n % 5}", tags=(f"tag{n % 3}",)
    )
    for n in range(600)
]
TREE = Tree(TreeBuilder().build(ITEMS), ITEMS, {})
QUERY = query_weights("tool 3 word5 thing2", TREE.frequencies, len(ITEMS), {})


def flat(query: WordWeights) -> list[Hit]:
    hits = (Hit(-score(query, leaf.weights), i) for i, leaf in TREE.leaves.items())
    return sorted(hit for hit in hits if hit.rank < 0)


def test_it_gives_the_flat_ranking_in_order() -> None:
    assert list(BeamSearch(TREE.root, QUERY, len(ITEMS))) == flat(QUERY)


def test_the_first_few_cost_a_fraction() -> None:
    search = BeamSearch(TREE.root, QUERY, len(ITEMS))
    assert list(islice(search, 5)) == flat(QUERY)[:5]
    assert search.leaves_scored < len(ITEMS) / 2


def test_filters_exclusions_and_failures_apply_to_leaves() -> None:
    best = flat(QUERY)[0].id
    assert best not in [h.id for h in BeamSearch(TREE.root, QUERY, 600, excluded=frozenset({best}))]
    tagged = list(BeamSearch(TREE.root, QUERY, 600, [["@tag:tag1"]]))
    assert tagged
    assert all(int(hit.id[1:]) % 3 == 1 for hit in tagged)
    assert next(iter(BeamSearch(TREE.root, QUERY, 600, factors={best: 0.5}))).id != best


def test_at_ten_thousand_no_more_than_a_tenth_is_scored() -> None:
    many = [
        SelectableItem(f"t{n:05}", f"alpha {n}", f"beta gamma {n % 97} delta")
        for n in range(10_000)
    ]
    tree = Tree(TreeBuilder().build(many), many, {})
    query = query_weights("alpha beta gamma delta", tree.frequencies, len(many), {})
    search = BeamSearch(tree.root, query, len(many))
    found = list(islice(search, 2_000))
    assert search.leaves_scored <= 1_016  # the node in work is finished
    assert found == sorted(found)


def test_a_query_of_unknown_words_scores_nothing() -> None:
    search = BeamSearch(TREE.root, query_weights("zzz", TREE.frequencies, 600, {}), 600)
    assert list(search) == []
    assert search.leaves_scored == 0
