"""A short text about what was said last is shown before a long list grows."""

from __future__ import annotations

import json

from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.selection.answering import with_answering
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

RECEIPT = json.dumps(
    {"receipt": "R77", "shop": "Toraya", "remark": "reduced rate applies", "total": 5184}
)
PAGE = json.dumps(
    {
        "page": 2,
        "expenses": [
            {"id": f"E-{100 + n}", "by": f"Person {n}", "what": f"taxi {n}", "amount": 31 * n}
            for n in range(40)
        ],
    }
)
RULES = "\n\n".join(
    f"Room {n} of the toll house holds barrels, number {n * 7} to {n * 9}, of salted herring and "
    f"of candles, which belong to merchant {n}. Whoever comes in is asked for a token of his."
    for n in range(9)
)


def read(name: str, result: str, number: int, tool: str = "read") -> list[ContextItem]:
    metadata = {"tool_name": tool, "arguments": {"id": name}}
    call = ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=metadata)
    return [call, ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, call.id)]


def session(last: str) -> list[ContextItem]:
    items = [ContextItem("u0", ItemKind.USER_TURN, "Please book the expenses of September.")]
    for number, name in enumerate(("R75", "R76", "R78"), 1):
        receipt = json.dumps({"receipt": name, "shop": f"Taxi {number}", "total": 31 * number})
        items += read(name, receipt, number)
    items += read("R77", RECEIPT, 4)
    items += read("2", PAGE, 5, "list")
    items += read("B1", '{"booked": true}', 6, "book")
    return [*items, ContextItem("u1", ItemKind.USER_TURN, last)]


def told(items: list[ContextItem], budget: int = 900) -> dict[str, str]:
    """What is shown of each item beside nothing else."""
    choice = choice_of(items, budget)
    shown = with_answering(choice, {})
    return {choice.renditions[at].row.id: one.text for at, one in shown.items()}


def test_a_short_result_about_what_was_said_last_is_shown_whole() -> None:
    found = told(session("Does not the reduced rate apply at Toraya?"))
    assert found.keys() == {"c4", "r4"}
    assert found["r4"] == RECEIPT


def test_the_paragraph_of_a_long_result_about_what_was_said_last_is_shown() -> None:
    trap = "The strongbox is trapped. To disarm its wire takes a steady hand, or it springs."
    items = read("house", f"{RULES}\n\n{trap}\n\n{RULES}", 1)
    items += read("2", PAGE, 2, "list")
    said = "Who tries to disarm the strongbox without touching the wire?"
    found = told([*items, ContextItem("u1", ItemKind.USER_TURN, said)])
    assert trap in found["r1"]
    assert "herring" not in found["r1"]


def test_what_is_about_something_else_waits_for_its_turn() -> None:
    assert not told(session("And now the rate?"))


def test_a_small_prompt_keeps_its_room() -> None:
    assert not told(session("Does not the reduced rate apply at Toraya?"), budget=250)


def test_in_a_prompt_the_list_does_not_grow_before_it() -> None:
    last = "Does not the reduced rate apply at Toraya?"
    for budget in range(500, 1_000, 100):
        request = CompileRequest(Phase.CALL, budget=budget)
        assert RECEIPT in compile_pack(ListView(session(last)), request).pack.prompt
