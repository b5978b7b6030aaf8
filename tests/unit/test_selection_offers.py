"""Stage 7: the parts worth most for their tokens, each value once, as many as fit."""

from tests.session_view import ListView

from weft.compiler.candidates.closure import Group, close
from weft.compiler.fitting import Forms, fit
from weft.compiler.packing import Addition, Wants, order_parts
from weft_schemas.items import ContextItem, ItemKind

VALUES = Wants(atomic=10, values=10.0, cheap=1.0)
TEXTS = Wants(atomic=700, values=0.0, cheap=0.3)


def groups(*texts: str) -> tuple[Group, ...]:
    items = [ContextItem(f"i{n}", ItemKind.AGENT_MSG, text) for n, text in enumerate(texts)]
    view = ListView(items)
    return close(view, view.span(0, len(items))).groups


def ordered(
    made_of: tuple[Group, ...],
    wants: Wants,
    scores: dict[int, float] | None = None,
    budget: float = 1_000,
) -> list[str]:
    """The parts' texts, best first."""
    held = scores or {group.key: 1.0 for group in made_of}
    additions, shapes = order_parts(made_of, held, (), wants, (), {}, int(budget))
    return [shapes[one.sequence].parts[one.part].text for one in additions]


def test_a_new_value_comes_first_and_its_repetition_last() -> None:
    made_of = groups("Your order is R77X1.", "It is a fine day.", "As I said, it is R77X1.")
    assert ordered(made_of, VALUES)[0].endswith("R77X1.")
    assert ordered(made_of, VALUES)[1] == "It is a fine day."


def test_of_equals_the_newer_comes_first() -> None:
    assert ordered(groups("A day in May", "A day in Mai"), TEXTS)[0] == "A day in Mai"


def test_a_better_score_buys_a_longer_text() -> None:
    made_of = groups("short", "a text that is quite a bit longer than the other one is, by far")
    keys = [group.key for group in made_of]
    assert ordered(made_of, TEXTS, dict(zip(keys, (1.0, 3.0), strict=True)))[0].startswith("a text")


def size(forms: Forms) -> int:
    """Characters, and ten for each item."""
    return sum(len(form.text) + 10 for form in forms.values())


def fitted(budget: int, *texts: str) -> tuple[Forms, list[Addition]]:
    made_of = groups(*texts)
    scores = {group.key: 1.0 for group in made_of}
    additions, shapes = order_parts(made_of, scores, (), VALUES, (), {}, budget)
    return fit(additions, shapes, {}, size, budget), additions


def test_what_is_fitted_never_exceeds_the_budget_and_leaves_little() -> None:
    texts = [f"Sentence {n} has A{n:03d}Z. And another has B{n:03d}Y." for n in range(60)]
    for budget in (0, 15, 100, 400, 1_500):
        forms, _ = fitted(budget, *texts)
        assert size(forms) <= budget
        assert size(forms) > budget * 0.8 - 40


def test_everything_is_taken_where_all_fits() -> None:
    forms, additions = fitted(10_000, "One is A1.", "Two is B2.")
    assert len(additions) == len(forms) == 2
