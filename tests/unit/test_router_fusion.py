"""Rankings joined by rank."""

from weft.router.fusion import fused


def test_what_both_rank_high_comes_first() -> None:
    assert fused([["a", "b", "c"], ["b", "d", "a"]]) == ["b", "a", "d", "c"]


def test_equal_ranks_are_told_apart_by_id() -> None:
    assert fused([["b"], ["a"]]) == ["a", "b"]


def test_one_ranking_stays_as_it_is() -> None:
    assert fused([["c", "a", "b"], []]) == ["c", "a", "b"]
