"""BM25F: what an item and a query make of their words."""

from functools import partial

from weft.router import bm25f
from weft.router.bm25f import parameters_of, score
from weft.router.concepts import own_concepts
from weft_schemas.routing import SelectableItem

item_weights = partial(bm25f.item_weights, concepts=own_concepts())
query_weights = partial(bm25f.query_weights, concepts=own_concepts())


def test_a_word_in_the_name_counts_more_than_in_the_description() -> None:
    named = item_weights(SelectableItem("a", "invoice_search", "Looks for things."))
    described = item_weights(SelectableItem("b", "things", "Looks for an invoice."))
    assert named["invoic"] > described["invoic"]


def test_every_field_is_searched() -> None:
    item = SelectableItem(
        "a",
        "alpha",
        "bravo",
        tags=("charlie",),
        namespace="delta",
        examples=("echo",),
        args_schema={"properties": {"foxtrot": {"description": "golf", "enum": ["hotel", 1]}}},
    )
    found = item_weights(item)
    words = {"alpha", "bravo", "charli", "delta", "echo", "foxtrot", "golf", "hotel"}
    assert words <= found.keys()


def test_weights_are_bounded_however_often_a_word_is_repeated() -> None:
    stuffed = item_weights(SelectableItem("a", "x", "invoice " * 10_000))
    assert max(stuffed.values()) < 1.0


def test_a_rare_word_outweighs_a_common_one() -> None:
    weights = query_weights("invoice report", {"invoic": 2, "report": 80}, 100)
    assert weights["invoic"] > weights["report"]


def test_words_that_no_item_has_are_left_out() -> None:
    assert query_weights("zzz", {"invoic": 1}, 10) == {}


def test_a_related_word_is_found_through_its_concept() -> None:
    item = item_weights(SelectableItem("a", "wallet", "Holds cryptocurrency."))
    query = query_weights("the price of bitcoin", dict.fromkeys(item, 1), 100)
    assert score(query, item) > 0


def test_a_schema_of_any_form_has_parameters_or_none() -> None:
    assert parameters_of({"properties": {"a": {}, "b": 1}}) == ["a", "b"]
    assert parameters_of({"properties": ["a"]}) == []
    assert parameters_of({"$ref": "#"}) == []


def test_a_schema_that_means_harm_is_read_within_bounds() -> None:
    wide = {"properties": {f"p{n}": {"description": "word " * 10_000} for n in range(10_000)}}
    assert len(item_weights(SelectableItem("a", "a", args_schema=wide))) < 200
    odd = {"properties": {"a": 1, "b": {"description": {}, "enum": "x"}, "c": None}}
    assert item_weights(SelectableItem("a", "a", args_schema=odd))
