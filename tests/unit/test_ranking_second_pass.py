"""What the second pass over a list takes next."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.session_view import ListView
from tests.unit.test_ranking_loops import ORDERS, call_and_result, order, read_orders, refund

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import MAX_OTHER_CALLS, MIN_PASS_CALLS, PLAN_MESSAGES
from weft.compiler.ranking.listed_passes import listed_passes
from weft.compiler.ranking.second_pass import second_pass
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

LISTED = ContextItem("l0", ItemKind.AGENT_MSG, f"Shall I refund {', '.join(ORDERS)}?")


def ahead(items: Sequence[ContextItem], budget: int = 2_000) -> list[str]:
    """The items that come next."""
    rows = ListView(items).recent(len(items))
    names = {row.sequence: row.id for row in rows}
    groups = dependency_closure(ListView(items), rows, Ledger())
    found = second_pass(groups, tuple(listed_passes(groups)), budget)
    return [names[sequence] for sequence in found]


def test_after_all_was_read_the_first_comes_again() -> None:
    assert ahead([LISTED, *read_orders()]) == ["r0"]


@pytest.mark.parametrize("handled", range(len(ORDERS) - 1))
def test_after_a_call_about_one_comes_the_next(handled: int) -> None:
    assert ahead([LISTED, *read_orders(), *refund(handled)]) == [f"r{handled + 1}"]


def test_after_the_last_comes_nothing() -> None:
    assert ahead([LISTED, *read_orders(), *refund(len(ORDERS) - 1)]) == []


def test_calls_about_something_else_do_not_move_it() -> None:
    other = call_and_result("get_rate", {"currency": "EUR"}, "1.08", 30)
    assert ahead([LISTED, *read_orders(), *refund(1), *other]) == ["r2"]


def test_after_many_calls_about_something_else_no_pass_begins() -> None:
    listed = call_and_result("list_orders", {"user": "ann"}, ", ".join(ORDERS), 40)
    items = [*listed, *read_orders()]
    for at in range(MAX_OTHER_CALLS + 1):
        assert ahead(items) == ["r0"]
        items += call_and_result(f"get_rate_{at}", {"currency": "EUR"}, "1.08", 30 + at)
    assert ahead(items) == []


def said(*numbers: int) -> ContextItem:
    """A message that names these orders."""
    named = " and then ".join(ORDERS[number] for number in numbers)
    return ContextItem("p0", ItemKind.AGENT_MSG, f"I will refund {named}. Shall I?")


def rates(count: int) -> list[ContextItem]:
    """Calls about something else, of one tool."""
    items: list[ContextItem] = []
    for number in range(count):
        banks = ", ".join(f'{{"bank": "B{number}{n}", "rate": {number}.{n}7}}' for n in range(6))
        arguments = {"day": f"2024-05-{number + 10}"}
        items += call_and_result("get_rate", arguments, f"[{banks}]", 30 + number)
    return items


def test_a_plan_says_where_a_pass_begins_however_many_calls_come_between() -> None:
    items = [LISTED, *read_orders(), said(4, 1, 3)]
    assert ahead(items) == ["r4"]
    assert ahead([*items, *rates(MAX_OTHER_CALLS + MIN_PASS_CALLS)]) == ["r4"]


def test_what_a_plan_leaves_out_is_not_taken_next() -> None:
    items = [LISTED, *read_orders(), said(1, 4, 3)]
    assert ahead([*items, *refund(1)]) == ["r4"]
    assert ahead([*items, *refund(1), *refund(4)]) == ["r3"]
    assert ahead([*items, *refund(3)]) == []


def test_a_report_of_what_was_done_is_no_plan() -> None:
    items = [LISTED, *read_orders(), *refund(0), *refund(1), said(0, 1)]
    assert ahead(items) == ["r2"]


def test_calls_about_what_a_plan_leaves_out_do_not_begin_it_again() -> None:
    items = [LISTED, *read_orders(), said(1, 4), *refund(1), *refund(0)]
    assert ahead(items) == ["r4"]
    assert ahead([*items, *refund(4), *refund(2)]) == []


def test_a_name_within_a_longer_one_is_not_named() -> None:
    plan = ContextItem("p9", ItemKind.AGENT_MSG, f"I begin with {ORDERS[3]}7 and {ORDERS[4]}7.")
    assert ahead([LISTED, *read_orders(), plan]) == ["r0"]


def test_a_plan_of_long_ago_is_none() -> None:
    listed = call_and_result("list_orders", {"user": "ann"}, ", ".join(ORDERS), 40)
    later = [ContextItem(f"m{n}", ItemKind.AGENT_MSG, "A moment.") for n in range(PLAN_MESSAGES)]
    items = [*listed, *read_orders(), said(4, 1)]
    assert ahead(items) == ["r4"]
    assert ahead([*items, *later]) == ["r0"]


def test_what_is_taken_next_comes_before_the_list_of_other_calls() -> None:
    items = [LISTED, *read_orders(), said(4, 1), *rates(12)]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=600)).pack
    assert "card_4774" in pack.prompt
    assert "2024-05-21" in pack.prompt


def test_reads_that_no_item_lists_in_this_order_are_no_pass() -> None:
    backwards = ContextItem("l0", ItemKind.AGENT_MSG, f"Shall I refund {', '.join(ORDERS[::-1])}?")
    assert ahead(read_orders()) == []
    assert ahead([backwards, *read_orders()]) == []


def test_a_few_reads_are_no_pass() -> None:
    items = [LISTED]
    for number in range(MIN_PASS_CALLS - 1):
        items += call_and_result("get_order", {"order_id": ORDERS[number]}, order(number), number)
    assert ahead(items) == []


def test_the_same_read_again_is_no_pass() -> None:
    items = [LISTED]
    for at in range(MIN_PASS_CALLS):
        items += call_and_result("get_order", {"order_id": ORDERS[0]}, order(0), at)
    assert ahead(items) == []


def test_a_result_that_is_large_for_the_budget_is_not_preferred() -> None:
    assert ahead([LISTED, *read_orders()], budget=200) == []


def test_a_small_prompt_states_the_whole_result_that_comes_next() -> None:
    items = [LISTED, *read_orders(), *refund(1)]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=500)).pack
    assert "card_2772" in pack.prompt
