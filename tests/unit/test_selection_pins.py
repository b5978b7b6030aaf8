"""What stands in every prompt, as far as it fits."""

from collections.abc import Mapping

from tests.session_view import ListView

from weft.compiler.forms import Form
from weft.compiler.pinning import Pins, pin
from weft_schemas.items import ContextItem, ItemKind

USER = ContextItem("u", ItemKind.USER_TURN, "Which of the two docks is free on Monday morning?")
RULES = [ContextItem(f"p{n}", ItemKind.POLICY, f"Rule {n}: " + "be kind. " * 20) for n in range(3)]


def size(forms: Mapping[int, Form]) -> int:
    return sum(len(form.text) // 4 for form in forms.values())


def pinned(items: list[ContextItem], budget: int) -> Pins:
    view = ListView(items)
    rows = view.span(0, len(items))
    return pin(rows, frozenset(), size, budget, "cl100k_base", lambda f, most: size(f) <= most)


def test_more_budget_never_loses_one_and_never_shortens_what_was_whole() -> None:
    before: Pins | None = None
    for budget in range(0, 400, 7):
        made = pinned([*RULES, USER], budget)
        assert size(made.forms) <= budget
        if before is not None:
            assert before.forms.keys() <= made.forms.keys()
        before = made
    assert before is not None
    assert before.notes == ()


def test_the_user_turn_goes_before_policies() -> None:
    made = pinned([*RULES, USER], 12)
    assert list(made.forms) == [7]
    assert made.notes[:3] == tuple(f"policy p{n} does not fit the budget" for n in range(3))


def test_policies_take_half_and_are_shortened_beyond() -> None:
    made = pinned([*RULES, USER], 150)
    assert len(made.forms) == 4
    assert any("is shortened to fit the budget" in note for note in made.notes)
