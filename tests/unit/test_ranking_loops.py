"""Which entry a loop takes next."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import MAX_COPIED_VALUES, NEXT_ENTRY
from weft.compiler.ranking.loops import Stretch, loop_factor, next_entries
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

ORDERS = [f"ORD-{1000 + 137 * n}" for n in range(6)]


def call_and_result(
    name: str, arguments: dict[str, Any], result: str, at: int
) -> list[ContextItem]:
    written = ", ".join(f'"{key}": "{value}"' for key, value in arguments.items())
    call = ContextItem(
        f"c{at}",
        ItemKind.TOOL_CALL,
        f"{name}({{{written}}})",
        metadata={"tool_name": name, "arguments": arguments},
    )
    answer = ContextItem(
        f"r{at}", ItemKind.TOOL_RESULT, result, call.id, metadata={"tool_name": name}
    )
    return [call, answer]


def order(number: int) -> str:
    lines = ", ".join(
        f'{{"sku": "SKU-{number}{line}", "note": "packed on shelf {line} of hall {number}"}}'
        for line in range(4)
    )
    return (
        f'{{"order_id": "{ORDERS[number]}", "lines": [{lines}], "carrier": "DHL", '
        f'"refund_to": "card_{number}77{number}"}}'
    )


def read_orders() -> list[ContextItem]:
    items = [ContextItem("u0", ItemKind.USER_TURN, "Please refund all of my orders.")]
    for number, one in enumerate(ORDERS):
        items += call_and_result("get_order", {"order_id": one}, order(number), number)
    return [*items, ContextItem("u1", ItemKind.USER_TURN, "Yes, go on.")]


def refund(number: int) -> list[ContextItem]:
    arguments = {"order_id": ORDERS[number], "to": f"card_{number}77{number}"}
    return call_and_result("refund", arguments, '{"status": "refunded"}', 10 + number)


def ahead(items: list[ContextItem]) -> dict[str, Sequence[Stretch]]:
    """What comes next, by item."""
    rows = ListView(items).recent(len(items))
    names = {row.sequence: row.id for row in rows}
    found = next_entries(dependency_closure(ListView(items), rows, Ledger()))
    return {names[sequence]: stretches for sequence, stretches in found.items()}


def test_behind_the_record_that_was_just_handled_comes_the_next_one() -> None:
    assert ahead([*read_orders(), *refund(0), *refund(1)]) == {"r2": [(0, len(order(2)))]}


def test_a_plan_says_which_record_comes_next() -> None:
    named = f"I will refund {ORDERS[0]}, {ORDERS[2]} and {ORDERS[5]}."
    plan = ContextItem("p0", ItemKind.AGENT_MSG, named)
    items = [*read_orders(), plan, *refund(0), *refund(2)]
    assert ahead(items)["r5"] == [(0, len(order(5)))]
    assert ahead([*items, *refund(5)]) == {}


def test_a_loop_that_reached_the_end_goes_nowhere() -> None:
    assert ahead([*read_orders(), *refund(4), *refund(5)]) == {}


def test_a_call_that_writes_a_text_is_of_no_loop() -> None:
    items = [*read_orders(), *refund(0)]
    text = " ".join([ORDERS[1], *(f"line-{n}" for n in range(MAX_COPIED_VALUES))])
    items += call_and_result("refund", {"order_id": ORDERS[1], "reason": text}, "{}", 11)
    assert ahead(items) == {}


@pytest.mark.parametrize("count", [0, 1])
def test_one_call_is_no_loop(count: int) -> None:
    items = [ContextItem("u0", ItemKind.USER_TURN, "Hello")]
    assert ahead(items + refund(0) * count) == {}


def test_in_a_list_the_entry_behind_the_one_that_was_used_comes_next() -> None:
    listed = ", ".join(f'{{"order_id": "{one}", "state": "open"}}' for one in ORDERS)
    items = call_and_result("list_orders", {"user": "ann"}, f"[{listed}]", 0)
    for number in (1, 2):
        items += call_and_result("get_order", {"order_id": ORDERS[number]}, "{}", 1 + number)
    ((start, end),) = ahead(items)["r0"]
    text = f"[{listed}]"
    assert text[:start].endswith(ORDERS[2])
    assert ORDERS[3] in text[start:end]


def test_words_behind_the_last_entry_of_a_list_are_no_entry() -> None:
    named = f"These are open: {', '.join(ORDERS[:3])}. Which ones should I refund, Ms Lovelace?"
    items = [ContextItem("p0", ItemKind.AGENT_MSG, named)]
    for number in range(3):
        assert ("p0" in ahead(items)) == (number == 2)
        items += call_and_result("get_order", {"order_id": ORDERS[number]}, "{}", number)
    assert ahead(items) == {}


def test_who_goes_back_in_a_list_is_in_no_loop() -> None:
    listed = ", ".join(f'"{one}"' for one in ORDERS)
    items = call_and_result("list_orders", {"user": "ann"}, f"[{listed}]", 0)
    for number in (3, 1):
        items += call_and_result("get_order", {"order_id": ORDERS[number]}, "{}", 1 + number)
    assert ahead(items) == {}


def flights(number: int, there: str, back: str) -> str:
    legs = [(there, back), (back, there)]
    listed = ", ".join(f'{{"from": "{start}", "to": "{end}"}}' for start, end in legs)
    return f'{{"reservation_id": "R{number}", "flights": [{listed}]}}'


def search(start: str, end: str, at: int) -> list[ContextItem]:
    return call_and_result("search", {"from": start, "to": end}, "[]", at)


def test_in_the_next_of_several_results_the_entry_behind_the_first_comes_next() -> None:
    items = call_and_result("get_order", {"order_id": "A"}, '{"shelves": ["H1", "H2", "H3"]}', 0)
    items += call_and_result("get_order", {"order_id": "B"}, '{"shelves": ["K1", "K2", "K3"]}', 1)
    for at, shelf in enumerate(("H3", "K1")):
        items += call_and_result("look", {"shelf": shelf}, "{}", 2 + at)
    ((start, end),) = ahead(items)["r1"]
    assert "K2" in items[3].text[start:end]
    assert "K1" not in items[3].text[start:end]


def test_the_same_arguments_in_another_order_go_on_in_a_loop() -> None:
    items = call_and_result(
        "get_reservation", {"reservation_id": "R1"}, flights(1, "MCO", "BOS"), 0
    )
    items += call_and_result(
        "get_reservation", {"reservation_id": "R2"}, flights(2, "SEA", "CLT"), 1
    )
    items += [*search("MCO", "BOS", 2), *search("BOS", "MCO", 3)]
    assert ahead(items) == {"r1": [(0, len(items[3].text))]}


def test_only_parts_within_a_stretch_count_more() -> None:
    stretches = [(100, 200), (500, 600)]
    assert loop_factor(stretches, 150, 160) == loop_factor(stretches, 590, 700) == NEXT_ENTRY
    assert loop_factor(stretches, 0, 100) == loop_factor(stretches, 200, 500) == 1.0
    assert loop_factor((), 150, 160) == 1.0


@pytest.mark.parametrize("handled", [2, 3, 4])
def test_a_small_prompt_states_what_the_next_call_of_a_loop_takes(handled: int) -> None:
    items = read_orders()
    for number in range(handled):
        items += refund(number)
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=420)).pack

    assert ORDERS[handled] in pack.prompt
    assert f"card_{handled}77{handled}" in pack.prompt


def applicants(count: int) -> str:
    return json.dumps([applicant(number) for number in range(count)])


def applicant(number: int) -> dict[str, Any]:
    return {
        "id": f"APP-{100 + 37 * number}",
        "mail": f"someone.{number}@post.example",
        "skills": [f"skill-{number}-{at}" for at in range(12)],
        "degree": f"a long description of what applicant {number} studied " * 4,
    }


def test_a_loop_from_record_to_record_takes_the_next_record_not_the_rest_of_this_one() -> None:
    items = call_and_result("list", {"stage": "new"}, applicants(9), 0)
    for number in (1, 2):
        given = {"id": str(applicant(number)["id"])}
        items += call_and_result("move", given, "{}", 1 + number)
    ((start, end),) = ahead(items)["r0"]
    text = applicants(9)[start:end]
    assert json.loads(f"[{text.strip(', ')}]") == [applicant(3)]


def test_a_loop_within_a_record_stays_in_it() -> None:
    items = call_and_result("list", {"stage": "new"}, applicants(9), 0)
    for at in (3, 4):
        items += call_and_result("teach", {"skill": f"skill-2-{at}"}, "{}", 1 + at)
    ((start, end),) = ahead(items)["r0"]
    assert applicants(9)[start:end].startswith('", "skill-2-5"')
