"""What stands in every prompt, as far as it fits."""

import msgspec
from tests.choosing import choice_of

from weft.compiler.ledger import Ledger
from weft.compiler.profiles import PINS_SHARE
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import WHOLE
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.pins import pin
from weft.compiler.selection.select import pins_of
from weft_schemas.items import ContextItem, ItemKind

USER = ContextItem("u", ItemKind.USER_TURN, "Which of the two docks is free on Monday morning?")
RULES = [ContextItem(f"p{n}", ItemKind.POLICY, f"Rule {n}: " + "be kind. " * 20) for n in range(3)]
TASK = ContextItem("task", ItemKind.USER_TURN, "Please unload the ship. " * 60 + "Do it now.")


def pinned(items: list[ContextItem], budget: int) -> tuple[dict[str, str], Ledger, int]:
    """The views by item id, what is noted, and the tokens of what is shown."""
    choice, ledger = choice_of(items, budget), Ledger()
    shown: Shown = pin(choice.pinned, choice.shapes, choice.cost, budget, PINS_SHARE, ledger)
    views = {choice.cost.rows[at].id: one.view for at, one in shown.items()}
    return views, ledger, choice.cost.exact(shown) if shown else 0


def test_more_budget_never_loses_one_and_never_shortens_what_was_whole() -> None:
    before: dict[str, str] = {}
    for budget in range(0, 600, 11):
        views, _, used = pinned([*RULES, USER], budget)
        assert used <= budget
        assert before.keys() <= views.keys()
        assert all(views[name] == WHOLE for name, view in before.items() if view == WHOLE)
        before = views
    assert before == dict.fromkeys(["u", "p0", "p1", "p2"], WHOLE)


def test_the_user_turn_goes_before_policies() -> None:
    made = (pinned([*RULES, USER], budget) for budget in range(0, 300, 5))
    views, ledger, _ = next(one for one in made if one[0])
    assert "u" in views
    assert set(views) < {"u", "p0", "p1", "p2"}
    left = {f"p{n}" for n in range(3)} - views.keys()
    assert {f"policy {name} does not fit the budget" for name in left} <= set(ledger.notes)


def test_pins_take_half_and_are_shortened_beyond() -> None:
    views, ledger, used = pinned([*RULES, USER], 200)
    assert len(views) == 4
    assert used <= 200
    assert any("is shortened to fit the budget" in note for note in ledger.notes)


def test_a_long_task_is_cut_with_its_beginning_and_its_end() -> None:
    items = [TASK, *(ContextItem(f"a{n}", ItemKind.AGENT_MSG, "Yes.") for n in range(3)), USER]
    choice = choice_of(items, 500)
    shown = pin(choice.pinned, choice.shapes, choice.cost, 500, PINS_SHARE, Ledger())
    task = next(one for at, one in shown.items() if choice.cost.rows[at].id == "task")
    assert task.text.startswith("Please unload the ship.")
    assert task.text.endswith("Do it now.")
    assert " sentences …" in task.text


def test_what_the_publisher_pins_stands_too() -> None:
    note = ContextItem("n", ItemKind.AGENT_MSG, "Dock 4 is closed.", metadata={"pin": True})
    rest = [ContextItem(f"a{n}", ItemKind.AGENT_MSG, f"Step {n} is done.") for n in range(200)]
    views, _, _ = pinned([note, *rest, USER], 100)
    assert views == {"u": WHOLE, "n": WHOLE, "a199": WHOLE}


def test_with_a_query_the_pins_take_no_more_than_half() -> None:
    plan = ContextItem("plan", ItemKind.AGENT_MSG, "Unload the ship at dock 4. " * 30)
    rest = [ContextItem(f"a{n}", ItemKind.AGENT_MSG, f"Step {n} is done.") for n in range(200)]
    choice = choice_of([*rest, plan, USER], 500)
    asked = msgspec.structs.replace(choice, has_query=True)

    def tokens(one: Choice) -> int:
        return one.cost.exact(pins_of(one, Ledger()))

    assert tokens(asked) <= 250 < tokens(choice) <= 350
