"""What a step wants of a session, and which parts add most to a prompt."""

from dataclasses import dataclass

from tests.session_view import ListView

from weft.compiler.compile import _choice, _sheet
from weft.compiler.considering import consider
from weft.compiler.counting import counter
from weft.compiler.forms import parted, whole
from weft.compiler.selecting import Choice, fill, pins_of
from weft.compiler.wanted import NAMED, NUMBERS, OFTEN, USED, Wanted, _likelihoods
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, Phase

BUDGET = 400


@dataclass
class Made:
    choice: Choice
    wanted: Wanted


def session(steps: int) -> list[ContextItem]:
    """A call and its result per step; each call uses the id that the result before it stated."""
    items: list[ContextItem] = []
    for step in range(steps):
        metadata = {"tool_name": "get", "arguments": {"order_id": f"ORD{step}X"}}
        items.append(ContextItem(f"c{step}", ItemKind.TOOL_CALL, "get()", metadata=metadata))
        text = f'{{"order_id": "ORD{step + 1}X", "note": "N{step}Z", "dock": "D{step}Q"}}'
        items.append(ContextItem(f"r{step}", ItemKind.TOOL_RESULT, text, f"c{step}"))
    return items


def made(items: list[ContextItem], since: int = 0) -> Made:
    view, policy = ListView(items), ContextPolicy()
    request = CompileRequest(Phase.CALL, budget=BUDGET)
    considered = consider(view, request, 0, policy, None, BUDGET)
    count = counter(view.encoding)
    sheet = _sheet(view, request, policy, considered, BUDGET, count, None, b"")
    choice = _choice(view, request, considered, sheet, BUDGET)
    pinned = pins_of(choice).forms
    fresh = fill(choice, pinned, choice.groups, BUDGET)
    return Made(choice, Wanted(choice, pinned, fresh, since))


def test_all_items_state_all_that_is_wanted_and_none_state_nothing() -> None:
    one = made(session(20))
    rows = [row for group in one.choice.groups for row in group.rows]
    assert abs(one.wanted.share({row.sequence: whole(row) for row in rows}) - 1.0) < 1e-9
    assert one.wanted.share({}) == 0.0


def test_an_item_of_which_nothing_is_left_states_nothing() -> None:
    one = made(session(20))
    calls = [group.rows[0] for group in one.choice.groups]
    whole_calls = {row.sequence: whole(row) for row in calls}
    empty = {row.sequence: parted(row, whole(row)).choose(()) for row in calls}
    assert empty[calls[3].sequence].text == "get(…)"
    assert one.wanted.share(whole_calls) > 0.2 > one.wanted.share(empty)
    assert set(one.wanted._stated(empty)) == {f"item {row.sequence}" for row in calls}


def test_a_list_that_is_keyed_by_codes_does_not_state_the_one_that_a_call_used() -> None:
    metadata = {"tool_name": "find", "arguments": {"origin": "JFK"}}
    items = [
        ContextItem("listing", ItemKind.TOOL_CALL, "list()", metadata={"tool_name": "list"}),
        ContextItem(
            "listed", ItemKind.TOOL_RESULT, '{"JFK": "New York", "SEA": "Seattle"}', "listing"
        ),
        ContextItem("finding", ItemKind.TOOL_CALL, "find()", metadata=metadata),
        ContextItem("found", ItemKind.TOOL_RESULT, "nothing", "finding"),
    ]
    one = made([*session(20), *items])
    rows = {row.id: row for group in one.choice.groups for row in group.rows}
    listed, call = rows["listed"], rows["finding"]
    assert "JFK" not in one.wanted._stated({listed.sequence: whole(listed)})
    assert "JFK" in one.wanted._stated({call.sequence: whole(call)})


def test_a_value_that_is_asked_for_is_wanted_more_than_another() -> None:
    one = made(session(20))
    last = one.choice.groups[-1]
    offers = one.wanted._offers(last, last.rows[1], _shape(one, last.rows[1].sequence))
    held = {value: weight for offer in offers for value, weight in offer.wanted.items()}
    assert held["ORD20X"] > 2 * held.get("N19Z", 0.0)
    assert held["ORD20X"] > 2 * held.get("D19Q", 0.0)


def test_what_the_last_calls_used_is_wanted_more_than_what_earlier_ones_did() -> None:
    likely = _likelihoods(made(session(20)).choice)
    assert likely["ORD19X"] == likely["ORD17X"] == USED * likely["ORD16X"]


def test_what_several_calls_used_is_wanted_more() -> None:
    items = session(20)
    again = {"tool_name": "get", "arguments": {"order_id": "ORD3X"}}
    items[20] = ContextItem("c10", ItemKind.TOOL_CALL, "get()", metadata=again)
    likely = _likelihoods(made(items).choice)
    assert likely["ORD3X"] == OFTEN * likely["ORD4X"]


def test_a_number_is_wanted_less_than_an_identifier_or_a_date() -> None:
    items = session(4)
    text = '{"count": 4711, "price": "1,024.50", "ref": "K4711", "day": "2026-03-01"}'
    items[7] = ContextItem("r3", ItemKind.TOOL_RESULT, text, "c3")
    likely = _likelihoods(made(items).choice)
    assert likely["4711"] == likely["1,024.50"] == NUMBERS * likely["K4711"]
    assert likely["2026-03-01"] == likely["K4711"]


def test_an_amount_that_was_just_named_is_wanted_more_than_other_numbers() -> None:
    said = [
        "The older offer was $512 for 3100 kg.",
        "The total is $348 for 4200 kg.",
        "Yes, do so.",
    ]
    kinds = [ItemKind.AGENT_MSG, ItemKind.AGENT_MSG, ItemKind.USER_TURN]
    talk = [ContextItem(f"t{at}", kinds[at], text) for at, text in enumerate(said)]
    likely = _likelihoods(made([*session(4), *talk]).choice)
    assert likely["$348"] == likely["4200"] == NAMED
    assert (likely["$512"], likely["3100"]) == (1.0, NUMBERS)


def test_an_argument_of_several_words_is_one_value_and_such_a_result_is_none() -> None:
    items = session(4)
    again = {"tool_name": "set", "arguments": {"title": "the latest of all news"}}
    items.append(ContextItem("c9", ItemKind.TOOL_CALL, "set()", metadata=again))
    items.append(ContextItem("r9", ItemKind.TOOL_RESULT, '{"said": "not a value of it"}', "c9"))
    stated = made(items).wanted._stated(
        {row.sequence: whole(row) for group in made(items).choice.groups for row in group.rows}
    )
    assert "the latest of all news" in stated
    assert "not a value of it" not in stated


def test_what_is_new_is_wanted_more() -> None:
    items = session(20)
    newest = made(items, since=len(items) - 2)
    before = made(items)
    rows = {row.sequence: whole(row) for row in newest.choice.groups[-1].rows}
    assert newest.wanted.share(rows) > before.wanted.share(rows)


def test_parts_come_best_first_down_to_the_least_and_none_that_stands_already() -> None:
    one = made(session(20))
    groups = one.choice.groups
    additions, shapes = one.wanted.order({}, groups, 0.0)
    assert {addition.sequence for addition in additions} <= shapes.keys()
    some, _ = one.wanted.order({}, groups, 0.0005)
    assert 0 < len(some) < len(additions)
    assert additions[: len(some)] == some
    rows = [row for group in groups for row in group.rows]
    assert one.wanted.order({row.sequence: whole(row) for row in rows}, [], 0.0) == ([], {})


def _shape(one: Made, sequence: int):  # type: ignore[no-untyped-def]
    return one.wanted.order({}, one.choice.groups, 0.0)[1][sequence]
