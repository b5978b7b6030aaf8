"""What is in focus: the record that the newest call and the latest messages are about."""

import json

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import FOCUS_LOOK_BACK, NAMED_TURNS
from weft.compiler.ranking.focus import (
    focus_by_result,
    later_call_values,
    latest_values,
    next_values,
    values_named_by_user,
)
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def said(number: int, text: str, kind: ItemKind = ItemKind.USER_TURN) -> ContextItem:
    return ContextItem(f"m{number}", kind, text)


def booking(number: int) -> dict[str, object]:
    legs = [{"flight": f"HAT{number}{leg}", "price": 100 * number + leg} for leg in range(3)]
    return {"booking_id": f"BK{number}X", "user_id": "ada_9", "legs": legs}


def looked_up(number: int) -> list[ContextItem]:
    named = {"tool_name": "get_booking", "arguments": {"booking_id": f"BK{number}X"}}
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, "", metadata=named),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, json.dumps(booking(number)), f"c{number}"),
    ]


def focus(*items: ContextItem) -> dict[str, float]:
    view = ListView(list(items))
    groups = dependency_closure(view, view.recent(len(items)), Ledger())
    ids = {row.sequence: row.id for group in groups for row in group.rows}
    return {ids[at]: share for at, share in focus_by_result(groups).items()}


BOOKINGS = [item for number in (1, 2, 3, 4, 5) for item in looked_up(number)]


def test_what_the_latest_messages_name_is_in_focus() -> None:
    found = focus(*BOOKINGS, said(1, "Upgrade BK2X, please."), said(2, "It costs 31.", OTHER))
    assert found == {"r2": 1.0, "r5": 1.0}  # r5 answers the newest call


OTHER = ItemKind.AGENT_MSG


def test_what_older_messages_name_is_not() -> None:
    later = [said(2, "Which seat?", OTHER), said(3, "Any.")]
    assert "r2" not in focus(*BOOKINGS, said(1, "Upgrade BK2X, please."), *later)


def test_what_a_call_computes_with_puts_its_source_in_focus() -> None:
    named = {"tool_name": "calculate", "arguments": {"expression": "302 - 17"}}
    call = ContextItem("c9", ItemKind.TOOL_CALL, "", metadata=named)
    found = focus(*BOOKINGS, call, ContextItem("r9", ItemKind.TOOL_RESULT, "285", "c9"))
    assert found == {"r3": 1.0}


def test_a_value_that_many_results_state_says_nothing() -> None:
    named = {"tool_name": "get_user", "arguments": {"user_id": "ada_9"}}
    call = ContextItem("c9", ItemKind.TOOL_CALL, "", metadata=named)
    assert focus(*BOOKINGS, call, ContextItem("r9", ItemKind.TOOL_RESULT, "ok", "c9")) == {}


def test_without_anything_nothing_is_in_focus() -> None:
    assert focus() == {}
    assert focus(said(1, "Hello BK1X.")) == {}


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_record_in_focus_is_shown_before_details_of_the_others(number: int) -> None:
    asked = [
        said(1, f"Upgrade booking BK{number}X, please."),
        said(2, "That makes 400 more. Shall I?", OTHER),
    ]
    view = ListView([*BOOKINGS, *asked])
    pack = compile_pack(view, CompileRequest(Phase.CALL, budget=430)).pack
    shown = {other for other in range(1, 6) if f"HAT{other}2" in pack.prompt}
    assert number in shown
    assert len(shown) < 5


def reading(path: str) -> dict[str, object]:
    return {"tool_name": "read_file", "arguments": {"path": path}}


def function(name: str) -> str:
    body = "".join(f"    store.check_{n}()\n" for n in range(18))
    return f"def {name}(store):\n{body}    return store\n\n\n"


@pytest.mark.parametrize("budget", [600, 1_000, 2_000])
def test_a_function_that_the_user_names_is_shown_whole(budget: int) -> None:
    names = [f"of_seat_{n}x" for n in range(35)]
    source = "".join(map(function, [*names[:15], "set_seats", *names[15:]]))
    call = ContextItem("c1", ItemKind.TOOL_CALL, "", metadata=reading("store.py"))
    read = [call, ContextItem("r1", ItemKind.TOOL_RESULT, source, "c1")]
    later = [said(2, "I have read it. Shall I begin?", OTHER), said(3, "Yes, with set_seats.")]
    view = ListView([said(1, "The old number must be told."), *read, *later])
    prompt = compile_pack(view, CompileRequest(Phase.CALL, budget=budget)).pack.prompt
    assert function("set_seats").strip() in prompt


def named(*items: ContextItem) -> frozenset[str]:
    view = ListView(list(items))
    return values_named_by_user(dependency_closure(view, view.recent(len(items)), Ledger()))


def test_a_user_names_what_few_results_state() -> None:
    turn = said(1, "Pay for BK2X with the card that ends in 6437, ada_9. I have 12 of them.")
    assert named(*BOOKINGS, *profile(), turn) == {"BK2X", "6437"}
    assert named(*BOOKINGS, *profile()) == frozenset()


def test_what_an_earlier_turn_names_counts_until_a_call_takes_it() -> None:
    turn = said(1, "Pay for BK2X with the card that ends in 6437. I have 12 of them.")
    items = [*BOOKINGS, *profile(), turn, said(2, "With that card?", OTHER), said(3, "Yes.")]
    assert named(*items) == {"6437"}
    paid = {"tool_name": "pay", "arguments": {"card": "6437"}}
    assert named(*items, ContextItem("c9", ItemKind.TOOL_CALL, "", metadata=paid)) == frozenset()
    assert named(*items, *(said(n, "Go on.") for n in range(4, 3 + NAMED_TURNS))) == frozenset()
    long_ago = [said(n, "So far so good.", OTHER) for n in range(4, 4 + FOCUS_LOOK_BACK)]
    assert named(turn, said(3, "Yes."), *long_ago, *profile()) == frozenset()


def test_a_user_names_a_function_a_field_or_a_class_but_no_plain_word() -> None:
    text = "def set_seats(): ...\ndef closeStore(): ...\nstore = Seats()\n"
    call = ContextItem("c1", ItemKind.TOOL_CALL, "", metadata=reading("store.py"))
    read = [call, ContextItem("r1", ItemKind.TOOL_RESULT, text, "c1")]
    turn = said(1, "Call set_seats before closeStore; Seats and store stay.")
    assert named(*read, turn) == {"set_seats", "closeStore", "Seats"}
    pasted = said(1, " ".join(f"job_{n}" for n in range(99)) + " set_seats")
    assert named(*read, pasted) == frozenset()
    far = ContextItem("r1", ItemKind.TOOL_RESULT, "#\n" * 8_000 + text, "c1")
    assert named(call, far, turn) == {"set_seats", "closeStore", "Seats"}


def profile() -> list[ContextItem]:
    cards = [
        {"id": f"credit_card_{n}07366", "brand": "visa", "since": f"201{n}", "last_four": f"{n}437"}
        for n in range(1, 9)
    ]
    known = {"name": "Ada", "notes": [f"She wrote on day {n}." for n in range(40)], "cards": cards}
    asked = {"tool_name": "get_user", "arguments": {"user_id": "ada_9"}}
    return [
        ContextItem("c0", ItemKind.TOOL_CALL, "", metadata=asked),
        ContextItem("r0", ItemKind.TOOL_RESULT, json.dumps(known), "c0"),
    ]


@pytest.mark.parametrize("number", [2, 5, 9])
def test_the_record_that_was_just_spoken_of_is_shown_of_a_list(number: int) -> None:
    hosts = [
        {
            "host": f"HIST-BR-{n:02}",
            "rack": f"R{n}-{n * 37 % 100}",
            "note": f"serves the branch office number {n} and was last restarted by hand " * 3,
            "contact": f"desk{n}@example.org",
        }
        for n in range(12)
    ]
    call = ContextItem("c1", ItemKind.TOOL_CALL, "", metadata={"tool_name": "hosts"})
    listed = [call, ContextItem("r1", ItemKind.TOOL_RESULT, json.dumps(hosts), "c1")]
    proposed = said(2, f"HIST-BR-{number:02} has the worm. Shall I isolate it?", OTHER)
    items = [said(1, "Find the host."), *listed, proposed, said(3, "Yes, do that.")]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=300)).pack
    shown = {n for n in range(12) if f"desk{n}@example.org" in pack.prompt}
    assert number in shown
    assert len(shown) < 8


@pytest.mark.parametrize("number", [17, 31])
def test_the_row_that_was_spoken_of_right_after_it_was_read_is_shown(number: int) -> None:
    rows = "".join(
        f"{n} {n / 97:.6f} {n * 29 % 101 / 101:.6f} {n * 41 % 103 / 103:.6f}\n" for n in range(48)
    )
    table = f"trial value learning_rate dropout\n{rows}"
    named = {"tool_name": "trials"}
    items = [
        said(1, "Find the best trial."),
        ContextItem("c1", ItemKind.TOOL_CALL, "", metadata=named),
        ContextItem("r1", ItemKind.TOOL_RESULT, table, "c1"),
        said(2, f"The best has {number / 97:.6f}.", OTHER),
        said(3, "Is anything odd in the data?"),
        said(4, "No. " * 40, OTHER),
        said(5, "Then train it again."),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=330)).pack
    assert f"\n{number} {number / 97:.6f} " in pack.prompt
    assert pack.prompt.count(".") < table.count(".")


def groups_of(*items: ContextItem) -> tuple[Group, ...]:
    view = ListView(list(items))
    return dependency_closure(view, view.recent(len(items)), Ledger())


def test_what_was_stated_last_is_in_the_turn_its_answered_message_and_the_newest_call() -> None:
    before = [said(1, "Look at BK9X."), *looked_up(1), said(2, "BK2X or Lisbon?", OTHER)]
    found = latest_values(groups_of(*before, said(3, "The second, for Ada_9."), *looked_up(4)))
    assert {"BK2X", "Lisbon", "Ada_9", "BK4X", "HAT40"} <= found
    assert found.isdisjoint({"BK9X", "BK1X", "or", "second"})


def test_what_a_user_answers_with_a_document_was_stated_last() -> None:
    answered = said(2, "Take BK2X to Lisbon.", OTHER)
    document = said(3, "About BK9X.", ItemKind.DOC_SNIPPET)
    found = latest_values(groups_of(answered, document, said(4, "The second.")))
    assert {"BK2X", "Lisbon"} <= found
    assert "BK9X" not in found


def test_without_a_user_turn_nothing_was_stated_last() -> None:
    assert latest_values(groups_of(*looked_up(1))) == frozenset()


def test_what_was_stated_after_a_result_are_the_specific_values_of_the_next_messages() -> None:
    items = [*looked_up(1), said(1, "Take HAT11 to Lisbon.", OTHER), said(2, "Yes: BK1X.")]
    found = next_values(groups_of(*items, said(3, "And HAT12?", OTHER)))
    assert found == {3: {"HAT11", "BK1X"}}


def test_what_was_called_after_a_result_are_the_specific_values_of_all_later_calls() -> None:
    items = [*looked_up(1), said(1, "Take HAT11.", OTHER), *looked_up(2), *looked_up(3)]
    found = later_call_values(groups_of(*items))
    first, second, third = (found[at] for at in sorted(found))
    assert third == frozenset()
    assert third < second < first
    assert "HAT11" not in first
