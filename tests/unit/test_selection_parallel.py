"""Results of calls that were made together share the room."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.profiles import MAX_CALLS_TOGETHER
from weft.compiler.rendering import cost
from weft.compiler.selection.current_turn import with_current_turn
from weft.compiler.selection.parallel import called_together, odd_one
from weft.compiler.selection.select import pins_of
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

TASK = ContextItem("u1", ItemKind.USER_TURN, "Which shops have the parts, and what do they cost?")


def call(number: int) -> ContextItem:
    metadata = {"tool_name": "stock", "arguments": {"shop": number}}
    return ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=metadata)


def result(number: int, records: int) -> ContextItem:
    listed = [
        {"sku": f"BT-{number}{at:02}", "shop": f"Shop {number}", "price": 10.5 + at, "left": at}
        for at in range(records)
    ]
    return ContextItem(f"r{number}", ItemKind.TOOL_RESULT, json.dumps(listed), f"c{number}")


def shown(items: list[ContextItem], budget: int, phase: Phase = Phase.CALL) -> dict[str, int]:
    """How many records are shown of each result."""
    pack = compile_pack(ListView(items), CompileRequest(phase, budget=budget)).pack
    assert pack.stats.prompt_tokens <= budget
    return {
        entry.item_id: entry.text.count("sku")
        for entry in pack.entries
        if entry.kind is ItemKind.TOOL_RESULT
    }


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_of_two_large_results_both_are_shown(phase: Phase) -> None:
    items = [TASK, call(1), call(2), result(1, 60), result(2, 50)]
    found = shown(items, 1_600, phase)
    assert found["r1"] > 14
    assert found["r2"] > 14


def test_what_a_short_result_does_not_need_goes_to_the_long_one() -> None:
    items = [TASK, call(1), call(2), result(1, 60), result(2, 4)]
    alone = shown([TASK, call(1), result(1, 60)], 1_600)
    found = shown(items, 1_600)
    assert found["r2"] == 4
    assert found["r1"] >= alone["r1"] - 12


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_beside_a_newest_result_that_takes_its_half_the_others_have_room(phase: Phase) -> None:
    said = "Shop 7 has all of them. " + "I can ask the shops of the neighbouring towns, too. " * 8
    before = [TASK, call(7), result(7, 12), ContextItem("a", ItemKind.AGENT_MSG, said)]
    asked = ContextItem("u2", ItemKind.USER_TURN, "Yes. And what about shop 1 and shop 2?")
    notes = "Called them: " + "the owner is out until Friday, ask again then. " * 20
    newest = ContextItem("r2", ItemKind.TOOL_RESULT, notes, "c2")
    items = [*before, asked, call(1), call(2), result(1, 9), newest]
    pack = compile_pack(ListView(items), CompileRequest(phase, budget=800)).pack
    of = {entry.item_id: entry.text for entry in pack.entries}
    assert notes.strip() in of["r2"]
    assert of["r1"].count("sku") == 9


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_the_newest_result_comes_first_whichever_call_it_answers(phase: Phase) -> None:
    """No mark stands behind the last item, so nobody would know that it is left out."""
    results = [result(3, 20), result(2, 20), result(1, 4)]
    items = [TASK, call(1), call(2), call(3), *results]
    pack = compile_pack(ListView(items), CompileRequest(phase, budget=500)).pack
    of = {entry.item_id: entry.text for entry in pack.entries}
    assert of["r1"].count("sku") == 4


def test_a_result_that_comes_late_is_no_sibling_of_a_call_made_after_another_result() -> None:
    together = called_together(
        choice_of(
            [TASK, call(1), call(2), result(2, 2), call(3), result(3, 2), result(1, 2)], 9
        ).current_turn
    )
    assert [group.rows[0].id for group in together] == ["c1", "c2"]


def test_calls_after_each_other_do_not_share() -> None:
    items = [TASK, call(1), result(1, 60), call(2), result(2, 25)]
    assert shown(items, 1_600)["r2"] == 25


def test_many_calls_made_together_are_not_fitted_one_by_one() -> None:
    """Each fit counts what is sent, so hundreds would take seconds."""
    counts = []
    for calls in (MAX_CALLS_TOGETHER, 64, 128):
        numbers = range(calls)
        short = [result(number, 20) for number in numbers[:-1]]
        items = [TASK, *map(call, numbers), *short, result(calls - 1, 60 * calls)]
        choice = choice_of(items, 1_600 * calls, Phase.CALL)
        with patch.object(cost, "message_tokens", wraps=cost.message_tokens) as counted:
            with_current_turn(choice, pins_of(choice))
        counts.append(counted.call_count)
    assert max(counts) < 30


def parcel(number: int, status: str, note: str) -> ContextItem:
    events = "\n".join(
        f'  <Event at="2025-10-{at:02}T1{number}:00" type="SCANNED"/>' for at in range(1, 9)
    )
    text = (
        f'<Parcel no="PX-{number}7{number}">\n  <Sender code="S{number}4"/>\n'
        f'  <Receiver code="R{number}9"/>\n{events}\n  <Status code="{status}"/>\n{note}'
        f'  <Weight unit="KGM">{number}1{number}</Weight>\n</Parcel>'
    )
    return ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, f"c{number}")


NOTE = '  <Reason desk="customs" doc="invoice">The value is not stated</Reason>\n'


def parcels(odd: int) -> list[ContextItem]:
    results = [
        parcel(number, *(("HELD", NOTE) if number == odd else ("DELIVERED", "")))
        for number in (1, 2, 3)
    ]
    return [TASK, *(call(number) for number in (1, 2, 3)), *results]


@pytest.mark.parametrize("odd", [2, 3])
def test_the_result_that_says_something_else_is_whole_and_the_others_say_what(odd: int) -> None:
    items = parcels(odd)
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=775)).pack
    texts = {entry.item_id: entry.text for entry in pack.entries}
    for number in (1, 2, 3):
        if number == odd:
            assert items[3 + number].text in texts[f"r{number}"]
        else:
            assert "DELIVERED" in texts[f"r{number}"]


def test_only_one_that_differs_from_others_alike_stands_out() -> None:
    def odd(items: list[ContextItem]) -> str | None:
        found = odd_one(choice_of(items, 700).current_turn)
        return None if found is None else found.rows[0].id

    assert odd(parcels(2)) == "c2"
    assert odd(parcels(0)) is None
    assert odd([*parcels(2)[:3], *parcels(2)[4:6]]) is None
    assert odd([TASK, *(call(n) for n in (1, 2, 3)), *(result(n, 9) for n in (1, 2, 3))]) is None


@pytest.mark.parametrize("budget", range(200, 460, 20))
def test_in_a_small_budget_the_newest_is_told_if_it_says_something_else(budget: int) -> None:
    """Of three orders, the last was refused: the others alone would say that all went through."""
    items = [ContextItem("u1", ItemKind.USER_TURN, "Order what is missing at all three shops.")]
    names = [f"o{number}" for number in (1, 2, 3)]
    for name in names:
        lines = [
            {"sku": f"BT-{name}-{at}", "qty": 3 + at, "note": "as last week"} for at in range(6)
        ]
        asked = {"tool_name": "order", "arguments": {"shop": f"Shop {name}", "lines": lines}}
        items.append(ContextItem(name, ItemKind.TOOL_CALL, metadata=asked))
    for name in names[:2]:
        done = {"order": f"PO-77{name}", "state": "confirmed", "total": 412.5}
        items.append(ContextItem(f"r{name}", ItemKind.TOOL_RESULT, json.dumps(done), name))
    refused = {"order": None, "error": "ITEM_NOT_SOLD", "message": "Shop o3 sells no BT-o3-4"}
    failed = {"is_error": True}
    items.append(
        ContextItem("ro3", ItemKind.TOOL_RESULT, json.dumps(refused), "o3", metadata=failed)
    )
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert "ITEM_NOT_SOLD" in pack.prompt
