"""Calls with the same outcome: newer ones stand for older ones, which are named."""

from __future__ import annotations

import json

from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.profiles import ALIKE_SHOWN
from weft.compiler.selection.alike import without_alike
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def called(number: int, tool: str, result: object, **arguments: str) -> list[ContextItem]:
    name = f"{tool}{number}"
    metadata = {"tool_name": tool, "arguments": arguments}
    return [
        ContextItem(name, ItemKind.TOOL_CALL, metadata=metadata),
        ContextItem(f"{name}r", ItemKind.TOOL_RESULT, json.dumps(result), name),
    ]


def applicant(number: int) -> dict[str, object]:
    skills = [f"skill {number * at} of the trade" for at in range(1, 9)]
    return {"id": f"APP-{100 + 37 * number}", "skills": skills, "years": number}


def moved(number: int, **result: object) -> list[ContextItem]:
    name = str(applicant(number)["id"])
    done = {"ok": True, "id": name, "stage": "screen", **result}
    return called(number, "move", done, id=name, stage="screen")


ASKED = [
    ContextItem("u1", ItemKind.USER_TURN, "Move those who fit to the stage screen."),
    *called(99, "list", [applicant(number) for number in range(40)], stage="new"),
]


def left(items: list[ContextItem]) -> list[str]:
    choice = choice_of(items, 1_000)
    stay = without_alike(choice).groups
    return [one.rows[0].id for one in choice.groups if one not in stay]


def test_older_calls_with_the_same_outcome_leave_their_room() -> None:
    items = [*ASKED, *(item for number in range(6) for item in moved(number))]
    assert left(items) == [f"move{number}" for number in range(6 - ALIKE_SHOWN)]


def test_an_outcome_that_says_something_else_stays() -> None:
    done = [item for number in range(2, 6) for item in moved(number)]
    assert left([*ASKED, *moved(1, was="rejected"), *moved(0, ok=False), *done]) == [
        "move2",
        "move3",
    ]


def test_what_was_done_before_the_user_spoke_is_left_to_its_worth() -> None:
    done = [item for number in range(6) for item in moved(number)]
    assert not left([*ASKED, *done, ContextItem("u2", ItemKind.USER_TURN, "And who is left?")])


def test_calls_that_leave_their_room_are_named_where_they_were_made() -> None:
    items = [*ASKED, *(item for number in range(8) for item in moved(number))]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=800)).pack
    for number in range(8):
        assert str(applicant(number)["id"]) in pack.prompt
    shown = {entry.item_id for entry in pack.entries}
    assert "move7" in shown
    assert "move1" not in shown
    assert "skill 64 of the trade" in pack.prompt
