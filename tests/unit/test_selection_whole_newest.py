"""What is left of a budget shows more of what is short and new, whatever it is worth otherwise."""

from __future__ import annotations

import json

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

NOTES = [
    f"Nothing else to tell of step {'abcdefghijklmnopqrst'[n]}, so on it goes." for n in range(20)
]


def session() -> list[ContextItem]:
    """Large records, and short messages without a value among them."""
    items = [ContextItem("u0", ItemKind.USER_TURN, "Hold the cheapest option for us.")]
    for number in range(20):
        record = {f"field_{n}": f"OPT-{number}-{n}-{n * 7919}" for n in range(60)}
        call = ContextItem(
            f"c{number}",
            ItemKind.TOOL_CALL,
            metadata={"tool_name": "search", "arguments": {"page": number}},
        )
        items += [
            call,
            ContextItem(f"r{number}", ItemKind.TOOL_RESULT, json.dumps(record), call.id),
            ContextItem(f"a{number}", ItemKind.AGENT_MSG, NOTES[number]),
        ]
    return [*items, ContextItem("u1", ItemKind.USER_TURN, "And now?")]


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("budget", [300, 420, 550, 800, 1_300])
def test_no_room_is_left_that_a_short_message_would_fill(phase: Phase, budget: int) -> None:
    pack = compile_pack(ListView(session()), CompileRequest(phase, budget=budget)).pack
    assert max(pack.stats.prompt_tokens, *pack.stats.message_tokens.values()) <= budget
    left = [note for note in NOTES if note not in pack.prompt]
    unused = budget - max(pack.stats.prompt_tokens, *pack.stats.message_tokens.values())
    assert not left or unused < 25
