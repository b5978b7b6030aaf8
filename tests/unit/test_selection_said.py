"""What the agent said last, beside the results of the current turn."""

from __future__ import annotations

import json

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

BUDGET = 2_000
PLAN = " ".join(["Nothing in these looks wrong to me, so I go on with what comes after them."] * 5)


def page(number: int) -> list[ContextItem]:
    """A call and a result full of identifiers, which a step that copies values looks for."""
    records = [
        {"id": f"ORD-{number}{n:02}", "card": f"card_{number}{n:02}", "total": 10 * n}
        for n in range(30)
    ]
    call = ContextItem(
        f"c{number}",
        ItemKind.TOOL_CALL,
        metadata={"tool_name": "list_orders", "arguments": {"page": number}},
    )
    return [call, ContextItem(f"r{number}", ItemKind.TOOL_RESULT, json.dumps(records), call.id)]


def session(said: str) -> list[ContextItem]:
    return [
        ContextItem("u0", ItemKind.USER_TURN, "Which order was paid twice?"),
        *page(1),
        *page(2),
        *page(4),
        *page(5),
        ContextItem("a0", ItemKind.AGENT_MSG, said),
        *page(3),
    ]


def prompt_of(items: list[ContextItem], phase: Phase = Phase.CALL) -> str:
    return compile_pack(
        ListView(items), CompileRequest(phase, query="paid twice", budget=BUDGET)
    ).pack.prompt


@pytest.mark.parametrize("phase", [Phase.ROUTE, Phase.CALL, Phase.INTERPRET])
def test_what_the_agent_said_last_is_shown_beside_the_newest_results(phase: Phase) -> None:
    prompt = prompt_of(session(PLAN), phase)
    assert PLAN in prompt
    assert "ORD-329" in prompt  # the newest result is whole, too


def test_a_long_message_takes_no_room_of_the_newest_results() -> None:
    long = " ".join(f"step {n} of the plan" for n in range(BUDGET // 8))
    assert "ORD-329" in prompt_of(session(long))


@pytest.mark.parametrize("budget", [480, 700, 1_400])
def test_the_legend_that_the_first_mark_needs_is_no_cost_of_what_the_agent_said(
    budget: int,
) -> None:
    said = "All green; now the changelog."
    items = session(said)
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert said in pack.prompt
