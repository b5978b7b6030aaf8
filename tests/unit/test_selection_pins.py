"""What stands in every prompt, as far as it fits."""

import json

import msgspec
import pytest
from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import PINS_SHARE
from weft.compiler.rendering.cost import Shown
from weft.compiler.renditions.rendition import WHOLE
from weft.compiler.selection.choice import Choice
from weft.compiler.selection.pins import note_pins, pinned_renditions
from weft.compiler.selection.select import pins_of, select
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

USER = ContextItem("u", ItemKind.USER_TURN, "Which of the two docks is free on Monday morning?")
RULES = [ContextItem(f"p{n}", ItemKind.POLICY, f"Rule {n}: " + "be kind. " * 20) for n in range(3)]
TASK = ContextItem("task", ItemKind.USER_TURN, "Please unload the ship. " * 60 + "Do it now.")


def pinned(items: list[ContextItem], budget: int) -> tuple[dict[str, str], Ledger, int]:
    """The views by item id, what is noted, and the tokens of what is shown."""
    choice, ledger = choice_of(items, budget), Ledger()
    shown: Shown = pinned_renditions(
        choice.pinned, choice.renditions, choice.cost, budget, PINS_SHARE
    )
    note_pins(choice, shown, ledger)
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
    shown = pinned_renditions(choice.pinned, choice.renditions, choice.cost, 500, PINS_SHARE)
    task = next(one for at, one in shown.items() if choice.cost.rows[at].id == "task")
    assert task.text.startswith("Please unload the ship.")
    assert task.text.endswith("Do it now.")
    assert " sentences …" in task.text


def test_what_the_publisher_pins_stands_too() -> None:
    note = ContextItem("n", ItemKind.AGENT_MSG, "Dock 4 is closed.", metadata={"pin": True})
    rest = [ContextItem(f"a{n}", ItemKind.AGENT_MSG, f"Step {n} is done.") for n in range(200)]
    views, _, _ = pinned([note, *rest, USER], 100)
    assert views == {"u": WHOLE, "n": WHOLE, "a199": WHOLE}


def test_a_pinned_result_takes_no_room_that_a_policy_had_in_a_smaller_budget() -> None:
    call = ContextItem("c", ItemKind.TOOL_CALL, metadata={"tool_name": "docks", "arguments": {}})
    docks = json.dumps(
        [{"id": f"dock {n}", "owner": "the harbour of the old town"} for n in range(9)]
    )
    result = ContextItem("r", ItemKind.TOOL_RESULT, docks, "c", metadata={"pin": True})
    rule = ContextItem("p", ItemKind.POLICY, "Be kind.")
    items, shown_before = [call, result, rule], set[str]()
    for budget in range(0, 300, 3):
        pack = compile_pack(ListView(items), CompileRequest(Phase.ROUTE, budget=budget)).pack
        shown = set(pack.stats.included_items)
        assert "p" in shown or "p" not in shown_before, budget
        shown_before = shown
    assert shown_before == {"c", "r", "p"}


def test_with_a_query_the_pins_take_no_more_than_half() -> None:
    plan = ContextItem("plan", ItemKind.AGENT_MSG, "Unload the ship at dock 4. " * 30)
    rest = [ContextItem(f"a{n}", ItemKind.AGENT_MSG, f"Step {n} is done.") for n in range(200)]
    choice = choice_of([*rest, plan, USER], 500)
    asked = msgspec.structs.replace(choice, has_query=True)

    def tokens(one: Choice) -> int:
        return one.cost.exact(pins_of(one))

    assert tokens(asked) <= 250 < tokens(choice) <= 350


PLAN = ContextItem(
    "plan",
    ItemKind.AGENT_MSG,
    " ".join(f"Step {n}: the crane lifts container {n:03} to yard {n}." for n in range(20)),
)
DONE = [ContextItem("c1", ItemKind.TOOL_CALL, "book()", metadata={"tool_name": "book"})]
DONE += [ContextItem("r1", ItemKind.TOOL_RESULT, "booked", "c1")]
LISTED = [ContextItem("c0", ItemKind.TOOL_CALL, "ships()", metadata={"tool_name": "ships"})]
LISTED += [
    ContextItem(
        "r0",
        ItemKind.TOOL_RESULT,
        "\n".join(f"ship {n} is {n}00 m long and waits at pier {n}" for n in range(90)),
        "c0",
    )
]


def test_a_pin_that_was_cut_is_whole_where_the_exchange_leaves_room() -> None:
    items = [ContextItem("u0", ItemKind.USER_TURN, "Unload it."), *LISTED, PLAN, USER, *DONE]
    choice, ledger = choice_of(items, 500), Ledger()
    place = next(at for at, row in choice.cost.rows.items() if row.id == "plan")
    assert pins_of(choice)[place].view != WHOLE
    shown = select(choice, ledger).shown
    assert shown[place].view == WHOLE
    assert ledger.notes == []
    assert choice.cost.exact(shown) <= 500


def test_a_short_policy_that_was_cut_is_whole_there_too_and_a_long_one_is_not() -> None:
    task = ContextItem("u0", ItemKind.USER_TURN, "Unload the ship that came last. " * 22)
    for times, is_whole in ((18, True), (25, False)):
        rules = ContextItem("rules", ItemKind.POLICY, "Never unload at night. " * times)
        choice = choice_of([task, rules, *LISTED, USER, *DONE], 500)
        place = next(at for at, row in choice.cost.rows.items() if row.id == "rules")
        assert pins_of(choice)[place].view != WHOLE
        assert (select(choice, Ledger()).shown[place].view == WHOLE) is is_whole


def test_for_a_query_a_cut_pin_leaves_its_room_to_what_answers() -> None:
    items = [ContextItem("u0", ItemKind.USER_TURN, "Unload it."), *LISTED, PLAN, USER, *DONE]
    choice, ledger = msgspec.structs.replace(choice_of(items, 500), has_query=True), Ledger()
    place = next(at for at, row in choice.cost.rows.items() if row.id == "plan")
    assert select(choice, ledger)[1][place].view != WHOLE
    assert ledger.notes == ["agent_msg plan is shortened to fit the budget"]


def test_the_latest_turn_is_whole_before_others_get_more_than_a_little() -> None:
    wish = ContextItem(
        "u1",
        ItemKind.USER_TURN,
        " ".join(f"Put container {n:03} on pier {n}, not in the yard." for n in range(9)),
    )
    choice = choice_of([*RULES, TASK, PLAN, wish, *DONE], 400)
    place = next(at for at, row in choice.cost.rows.items() if row.id == "u1")
    assert choice.cost.exact({place: choice.renditions[place].whole()}) < 320
    assert pins_of(choice)[place].view == WHOLE


@pytest.mark.parametrize("length", range(50, 120, 10))
def test_the_latest_turn_takes_no_room_that_the_newest_result_needs(length: int) -> None:
    ask = ContextItem("u", ItemKind.USER_TURN, "\n\n".join(["Ships wait at dock two."] * 40))
    call = ContextItem("c", ItemKind.TOOL_CALL, metadata={"tool_name": "look", "arguments": {}})
    result = ContextItem("r", ItemKind.TOOL_RESULT, "free " * length + "on Monday", "c")
    budget = 320
    choice = choice_of([ask, call, result], budget)
    shown = select(choice, Ledger()).shown
    assert {choice.cost.rows[at].id: one.view for at, one in shown.items()}["r"] == WHOLE


@pytest.mark.parametrize("length", [28, 30])
def test_nor_room_that_the_outcome_of_the_newest_call_needs(length: int) -> None:
    plan = ContextItem("a", ItemKind.AGENT_MSG, "There are two docks. " * 12)
    ask = ContextItem("u", ItemKind.USER_TURN, "\n\n".join(["Ships wait at dock two."] * length))
    dates = ", ".join(f"November {day}" for day in range(1, 12))
    named = {"tool_name": "look", "arguments": {"on": dates}}
    call = ContextItem("c", ItemKind.TOOL_CALL, metadata=named)
    result = ContextItem("r", ItemKind.TOOL_RESULT, "free on Monday\n" * 200, "c")
    choice = choice_of([plan, ask, call, result], 300)
    shown = select(choice, Ledger()).shown
    assert {"u", "c", "r"} <= {choice.cost.rows[at].id for at in shown}


@pytest.mark.parametrize("length", range(60, 120, 10))
def test_an_empty_result_that_came_last_does_not_hide_the_one_before(length: int) -> None:
    ask = ContextItem("u", ItemKind.USER_TURN, "\n\n".join(["Ships wait at dock two."] * 40))
    named = {"tool_name": "look", "arguments": {}}
    calls = [ContextItem(f"c{n}", ItemKind.TOOL_CALL, metadata=named) for n in (1, 2)]
    result = ContextItem("r1", ItemKind.TOOL_RESULT, "free " * length + "on Monday", "c1")
    empty = ContextItem("r2", ItemKind.TOOL_RESULT, "", "c2")
    choice = choice_of([ask, *calls, result, empty], 360)
    shown = select(choice, Ledger()).shown
    assert {choice.cost.rows[at].id: one.view for at, one in shown.items()}["r1"] == WHOLE


@pytest.mark.parametrize("author", [None, "someone with a long name"])
@pytest.mark.parametrize("budget", range(60, 150, 3))
def test_pins_never_take_more_than_the_budget(budget: int, author: str | None) -> None:
    metadata = {"author": author} if author else {}
    ask = ContextItem("u", ItemKind.USER_TURN, "ship " * 24)
    said = ContextItem("a", ItemKind.AGENT_MSG, "I look at the docks now. " * 9, metadata=metadata)
    choice = choice_of([ask, said], budget)
    shown = select(choice, Ledger()).shown
    assert not shown or choice.cost.exact(shown) <= budget


@pytest.mark.parametrize("length", range(4, 16))
def test_what_the_agent_said_last_takes_nothing_of_the_share_of_pins(length: int) -> None:
    plan = ContextItem("a", ItemKind.AGENT_MSG, "\n\n".join(["Ships wait at dock two."] * 18))
    ask = ContextItem("u", ItemKind.USER_TURN, "Go on.")
    said = ContextItem("s", ItemKind.AGENT_MSG, "I look at the other docks now. " * length)
    items = [plan, ask, said]
    limit = 2 * (tokens_of(items[:2]) + 25)  # a mark, and what explains it
    choice = choice_of(items, limit)
    shown = pinned_renditions(choice.pinned, choice.renditions, choice.cost, limit, PINS_SHARE)
    assert {choice.cost.rows[at].id: one.view for at, one in shown.items()}["a"] == WHOLE


def tokens_of(items: list[ContextItem]) -> int:
    choice = choice_of(items, 9_000)
    return choice.cost.exact(select(choice, Ledger()).shown)


def test_pins_give_way_to_the_outcome_of_the_newest_result() -> None:
    words = "The accounts of October are due on Friday, with all of the overtime. " * 3
    call = ContextItem("c", ItemKind.TOOL_CALL, "change", metadata={"tool_name": "change"})
    items = [
        ContextItem("p", ItemKind.POLICY, words),
        ContextItem("task", ItemKind.USER_TURN, f"Check them. {words}"),
        ContextItem("said", ItemKind.AGENT_MSG, f"Shall I change them? {words}"),
        ContextItem("yes", ItemKind.USER_TURN, f"Yes. {words}"),
        call,
        ContextItem("r", ItemKind.TOOL_RESULT, "ERROR: row 8 is locked by rule R-14", call.id),
    ]
    choice, ledger = choice_of(items, 160), Ledger()
    shown = select(choice, ledger).shown
    texts = {choice.cost.rows[at].id: one.text for at, one in shown.items()}
    assert texts["r"] == items[-1].text
    assert texts["yes"].startswith("Yes. The accounts of October")
    assert choice.cost.exact(shown) <= 160
