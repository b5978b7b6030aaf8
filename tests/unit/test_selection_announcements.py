"""A short message that only announces calls stands with these calls, or not at all."""

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


@pytest.mark.parametrize("phase", [Phase.ANSWER, Phase.CALL, Phase.INTERPRET])
def test_it_is_left_out_with_its_calls(phase: Phase) -> None:
    assert "And humidity." not in prompt("And humidity.", phase, place=LONG)
    assert "And humidity." in prompt("And humidity.", phase, place="A")


@pytest.mark.parametrize("phase", [Phase.ANSWER, Phase.CALL, Phase.INTERPRET])
def test_a_message_that_states_a_number_stands_alone(phase: Phase) -> None:
    assert "Humidity is at 93 %." in prompt("Humidity is at 93 %.", phase, place=LONG)


def test_a_pinned_message_stands_alone() -> None:
    assert "And humidity." in prompt("And humidity.", Phase.CALL, LONG, pin=("said",))


LONG = "a bed of young plants, " * 150
"""More than the budget holds."""


def prompt(said: str, phase: Phase, place: str, pin: tuple[str, ...] = ()) -> str:
    """After a message before a call that reads this place."""
    items = [
        ContextItem("task", ItemKind.USER_TURN, "Look after the greenhouse."),
        ContextItem("said", ItemKind.AGENT_MSG, said),
        *read("first", place, "Humid. "),
        ContextItem("next", ItemKind.USER_TURN, "Go on with zone B."),
        ContextItem("plan", ItemKind.AGENT_MSG, "I look at zone B."),
        ContextItem("yes", ItemKind.USER_TURN, "Yes."),
        *read("second", "B", "Dry. " * 30),
    ]
    request = CompileRequest(phase, budget=210, pin=pin)
    return compile_pack(ListView(items), request).pack.prompt


def read(key: str, place: str, result: str) -> list[ContextItem]:
    call = {"tool_name": "read", "arguments": {"place": place}}
    return [
        ContextItem(key, ItemKind.TOOL_CALL, "", metadata=call),
        ContextItem(f"r{key}", ItemKind.TOOL_RESULT, result, key),
    ]
