"""Offers are taken in the order of what they are still worth."""

from typing import NamedTuple

from weft.compiler.selection.greedy import best_first


class Offer(NamedTuple):
    sequence: int
    part: int
    value: str
    worth: float


def taken(offers: list[Offer]) -> list[tuple[int, int, float]]:
    """A value counts once."""
    stated: set[str] = set()
    order = []
    for offer, rate in best_first(offers, lambda one: 0.0 if one.value in stated else one.worth):
        stated.add(offer.value)
        order.append((offer.sequence, offer.part, rate))
    return order


def test_what_an_earlier_offer_has_given_puts_a_later_one_off() -> None:
    offers = [Offer(1, 0, "a", 3.0), Offer(2, 0, "a", 2.5), Offer(3, 0, "b", 1.0)]
    assert taken(offers) == [(1, 0, 3.0), (3, 0, 1.0), (2, 0, 0.0)]


def test_ties_go_to_the_newer_item_then_to_the_earlier_part() -> None:
    offers = [Offer(1, 0, "a", 1.0), Offer(2, 1, "b", 1.0), Offer(2, 0, "c", 1.0)]
    assert [place[:2] for place in taken(offers)] == [(2, 0), (2, 1), (1, 0)]


def test_nothing_is_offered() -> None:
    assert taken([]) == []
