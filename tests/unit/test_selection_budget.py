"""As many parts as fit, by what is really sent."""

import pytest
from tests.choosing import choice_of

from weft.compiler.selection.budget import fit_budget
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.offers import order_parts
from weft_schemas.items import ContextItem, ItemKind


def fitted(budget: int, *texts: str) -> tuple[int, int, Choice]:
    """How many items are shown, and in how many tokens."""
    items = [ContextItem(f"i{n}", ItemKind.AGENT_MSG, text) for n, text in enumerate(texts)]
    choice = choice_of(items, budget)
    additions = order_parts(
        choice.groups, choice.scores, choice.renditions, choice.objective, (), {}, budget
    )
    shown = fit_budget(choice.cost, additions, choice.renditions, {}, budget)
    return len(shown), choice.cost.exact(shown) if shown else 0, choice


@pytest.mark.parametrize("budget", [0, 15, 60, 100, 400, 1_500])
def test_what_is_fitted_never_exceeds_the_budget_and_leaves_little(budget: int) -> None:
    texts = [f"Sentence {n} has A{n:03d}Z. And another has B{n:03d}Y." for n in range(120)]
    _, used, _ = fitted(budget, *texts)
    assert used <= budget
    assert used > budget * 0.9 - 50


def test_everything_is_taken_where_all_fits() -> None:
    count, used, choice = fitted(10_000, "One is A1.", "Two is B2.")
    assert count == 2
    assert used == choice.cost.exact(
        {at: item_renditions.choose({0}) for at, item_renditions in choice.renditions.items()}
    )


def test_what_is_shown_already_stays_and_counts() -> None:
    items = [ContextItem(f"i{n}", ItemKind.AGENT_MSG, f"Order R{n}X left.") for n in range(40)]
    choice = choice_of(items, 200)
    base = {1: choice.renditions[1].choose({0})}
    rest = [group for group in choice.groups if group.key != 1]
    additions = order_parts(rest, choice.scores, choice.renditions, choice.objective, (), {}, 200)
    shown = fit_budget(choice.cost, additions, choice.renditions, base, 200)
    assert shown[1] == base[1]
    assert len(shown) > 5
    assert choice.cost.exact(shown) <= 200


def test_room_that_is_left_opens_no_item_from_far_down_the_order() -> None:
    """In a larger budget the items before it would take its room."""
    long = [f"Sentence {n} has A{n:03d}Z and much to say beside that." * 6 for n in range(60)]
    items = [ContextItem(f"i{n}", ItemKind.AGENT_MSG, text) for n, text in enumerate(long)]
    items.append(ContextItem("short", ItemKind.AGENT_MSG, "Yes."))
    choice = choice_of(items, 4_000)
    shortest = min(choice.renditions, key=lambda at: choice.renditions[at].row.size_of_whole)
    ordered = order_parts(
        choice.groups, choice.scores, choice.renditions, choice.objective, (), {}, 1_000
    )
    late = [one for one in ordered if one.sequence != shortest]
    late += [one for one in ordered if one.sequence == shortest]
    for budget in range(150, 400, 20):
        assert shortest not in fit_budget(choice.cost, late, choice.renditions, {}, budget)


@pytest.mark.parametrize(("sentences", "budget"), [(5, 130), (5, 235), (12, 270), (12, 515)])
def test_a_guess_that_is_too_large_is_not_the_last(sentences: int, budget: int) -> None:
    """What is sent differs from the sum of the blocks, so the room for these is guessed."""
    texts = [f"Sentence {n} has A{n:03d}Z and more. " * sentences for n in range(6)]
    items = [ContextItem(f"i{n}", ItemKind.USER_TURN, text) for n, text in enumerate(texts)]
    choice = choice_of(items, budget)
    additions = order_parts(
        choice.groups, choice.scores, choice.renditions, choice.objective, (), {}, budget
    )
    shown = fit_budget(choice.cost, additions, choice.renditions, {}, budget)
    assert 0.95 * budget < choice.cost.exact(shown) <= budget
