"""Rankings joined by rank, and the optional one by meaning."""

import pytest

from weft.router.fusion import encoder_named, fused
from weft.router.router import Router
from weft_schemas.errors import ConfigurationError
from weft_schemas.routing import RouteRequest, SelectableItem


def test_what_both_rank_high_comes_first() -> None:
    assert fused([["a", "b", "c"], ["b", "d", "a"]]) == ["b", "a", "d", "c"]


def test_equal_ranks_are_told_apart_by_id() -> None:
    assert fused([["b"], ["a"]]) == ["a", "b"]


def test_one_ranking_stays_as_it_is() -> None:
    assert fused([["c", "a", "b"], []]) == ["c", "a", "b"]


def test_an_encoder_that_is_not_installed_says_how_to_install_it() -> None:
    with pytest.raises(ConfigurationError, match=r"'zz' is not installed.*extra `embeddings`"):
        encoder_named("zz")


class Letters:
    """Counts letters: texts with the same letters mean the same."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.casefold().count(letter)) for letter in "aeiourst"] for text in texts]


def test_meaning_finds_what_words_do_not() -> None:
    pytest.importorskip("numpy", reason="the extra `embeddings` is not installed")
    items = [SelectableItem("a", "star", "Rats."), SelectableItem("b", "ooo", "uuu iii")]
    router = Router(items, encoder=Letters())
    reply = router.route(RouteRequest("arts", "c", top_k=1))
    assert reply.cards[0].id == "a"
    assert router.answer(RouteRequest("\0", "c")).cards == ()  # nothing is asked
    router.update(items[1:])
    assert [card.id for card in router.route(RouteRequest("arts", "c")).cards] == ["b"]
