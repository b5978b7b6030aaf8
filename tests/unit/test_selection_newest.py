"""What happened last is told at any budget, if only its outcome: no mark stands behind it."""

from __future__ import annotations

import json

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

BUDGET = 500
NAMES = [f"passenger_{n}" for n in range(8)]
FAILED = "Error: payment amount does not add up, total price is 4875"


def session(*last: ContextItem) -> list[ContextItem]:
    """A confirmed plan, two calls in answer to it, and `last`."""
    plan = "\n\n".join(f"{n}. I use certificate number {n} for 250 dollars." for n in range(9))
    first = ContextItem(
        "c1",
        ItemKind.TOOL_CALL,
        metadata={"tool_name": "cancel", "arguments": {"reservation_id": "K1NW8N"}},
    )
    flights = " ".join(f"HAT{n:03} on May 26" for n in range(60))
    return [
        ContextItem("u0", ItemKind.USER_TURN, "Please move my flights to business class."),
        ContextItem("a0", ItemKind.AGENT_MSG, plan),
        ContextItem("u1", ItemKind.USER_TURN, "Yes, go ahead."),
        first,
        ContextItem("r1", ItemKind.TOOL_RESULT, f"cancelled: {flights}", "c1"),
        *last,
    ]


def booking() -> list[ContextItem]:
    """A call whose arguments take more than half of the budget, and why it failed."""
    person = {"first_name": "Mohamed", "last_name": "Silva", "dob": "1960-11-26", "bags": 2}
    arguments = {name: [person, person] for name in NAMES}
    call = ContextItem(
        "c2", ItemKind.TOOL_CALL, metadata={"tool_name": "book", "arguments": arguments}
    )
    return [call, ContextItem("r2", ItemKind.TOOL_RESULT, FAILED, "c2")]


@pytest.mark.parametrize("phase", [Phase.ROUTE, Phase.CALL, Phase.INTERPRET])
def test_a_call_that_is_too_long_is_told_with_its_outcome_and_the_names_of_its_arguments(
    phase: Phase,
) -> None:
    pack = compile_pack(ListView(session(*booking())), CompileRequest(phase, budget=BUDGET)).pack
    assert FAILED in pack.prompt
    told = next(entry.text for entry in pack.entries if entry.item_id == "c2")
    assert told.startswith("book({passenger_0:[{")
    assert all(name in told for name in NAMES)
    assert " fields: passenger_" in told
    assert max(pack.stats.message_tokens.values()) <= BUDGET


@pytest.mark.parametrize("query", ["", "Which certificate has 250 dollars left?"])
def test_what_the_agent_has_just_said_is_told(query: str) -> None:
    said = ContextItem("a9", ItemKind.AGENT_MSG, "Done so far, as you see. " * 60)
    before = [
        ContextItem(f"u{n}", ItemKind.USER_TURN, f"Which certificate {n} has 250 dollars left?")
        for n in range(40)
    ]
    request = CompileRequest(Phase.CALL, query=query, budget=BUDGET)
    pack = compile_pack(ListView([*before, said]), request).pack
    assert "agent: Done so far, as you see." in pack.prompt
    assert pack.entries[-1].item_id == "a9"


@pytest.mark.parametrize("budget", [200, 300, 500])
@pytest.mark.parametrize("repeats", [1, 40, 200, 5_000])
@pytest.mark.parametrize("count", [1, 40, 400])
def test_the_newest_failure_is_told_however_long_its_call_and_its_error_are(
    budget: int, repeats: int, count: int
) -> None:
    filler = [
        ContextItem(f"f{n}", ItemKind.AGENT_MSG, f"Nothing of note happened in step {n} of it all.")
        for n in range(40)
    ]
    arguments = {f"argument_{n}": f"value {n}" for n in range(count)}
    said = {"tool_name": "book", "arguments": arguments}
    items = [
        ContextItem("u1", ItemKind.USER_TURN, "Book it."),
        *filler,
        ContextItem("u2", ItemKind.USER_TURN, "Now do it."),
        ContextItem("c", ItemKind.TOOL_CALL, metadata=said),
        ContextItem(
            "r",
            ItemKind.TOOL_RESULT,
            "Error: no seats " + "x y z " * repeats,
            "c",
            metadata={"is_error": True},
        ),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert "call: book(" in pack.prompt
    assert "Error: no seats" in pack.prompt
    assert max(pack.stats.prompt_tokens, *pack.stats.message_tokens.values()) <= budget


@pytest.mark.parametrize("budget", [250, 400])
@pytest.mark.parametrize("repeats", [1, 100])
def test_of_a_failure_that_does_not_fit_the_error_is_told_and_not_what_is_before_it(
    budget: int, repeats: int
) -> None:
    done = "".join(f"queue.orders_{n}: Modifying, {n * 10}s elapsed\n" for n in range(60))
    said = f"{done}Error: no such key, and so nothing of it is applied {'to a-b-c ' * 40 * repeats}"
    items = session(
        ContextItem("c2", ItemKind.TOOL_CALL, metadata={"tool_name": "apply", "arguments": {}}),
        ContextItem("r2", ItemKind.TOOL_RESULT, said, "c2", metadata={"is_error": True}),
    )
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert "Error: no such key" in pack.prompt
    assert "Modifying" not in pack.prompt


@pytest.mark.parametrize("budget", [500, 700])
def test_why_the_call_before_the_newest_failed_is_told_beside_a_large_result(budget: int) -> None:
    looked = ContextItem(
        "c3",
        ItemKind.TOOL_CALL,
        metadata={"tool_name": "get_user", "arguments": {"user_id": "ada_9"}},
    )
    profile = "; ".join(f"card_{n} of bank_{n}, paid {n * 7} for HAT{n:03}" for n in range(200))
    items = session(*booking(), looked, ContextItem("r3", ItemKind.TOOL_RESULT, profile, "c3"))
    request = CompileRequest(Phase.CALL, budget=budget)
    assert FAILED in compile_pack(ListView(items), request).pack.prompt


@pytest.mark.parametrize("has_spoken", [True, False])
def test_what_the_user_said_and_what_failed_since_the_agent_s_last_message_is_told(
    has_spoken: bool,
) -> None:
    """The model would make the call again that the user has just corrected."""
    asked = {"tool_name": "trim", "arguments": {"clip": "c7", "exclude": ["A2"]}}
    failed = {"tool_name": "trim", "is_error": True}
    listed: list[ContextItem] = []
    for n in range(8):
        said = {"tool_name": "list_clips", "arguments": {"page": n}}
        records = [{"clip_id": f"CLIP-{n}{k}7X", "file": f"HERON_{n}{k}.mov"} for k in range(20)]
        listed += [
            ContextItem(f"lc{n}", ItemKind.TOOL_CALL, metadata=said),
            ContextItem(f"lr{n}", ItemKind.TOOL_RESULT, json.dumps(records), f"lc{n}"),
        ]
    items = [
        *session(*listed),
        ContextItem("a9", ItemKind.AGENT_MSG, "I would trim the tail by five seconds."),
        ContextItem("u8", ItemKind.USER_TURN, "well please ripple it to the end then " * 4),
        ContextItem("c9", ItemKind.TOOL_CALL, metadata=asked),
        ContextItem(
            "r9", ItemKind.TOOL_RESULT, "there is no such track here", "c9", metadata=failed
        ),
        ContextItem("u9", ItemKind.USER_TURN, "And 5 s at 25 fps are 125 frames, not 120!"),
    ]
    if not has_spoken:
        items = [item for item in items if item.kind is not ItemKind.AGENT_MSG]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=BUDGET)).pack
    shown = {entry.item_id for entry in pack.entries}
    assert {"u8", "c9", "r9", "u9"} <= shown
    assert ("a9" in shown) is has_spoken
    assert "there is no such track here" in pack.prompt


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("budget", [400, 700])
def test_the_one_failure_among_calls_that_were_made_together_is_told(
    phase: Phase, budget: int
) -> None:
    checks = range(12)
    lines = "\n".join(f"sensor {n} reads {n * 9} ok" for n in range(60))
    calls = [
        ContextItem(
            f"c{n}", ItemKind.TOOL_CALL, metadata={"tool_name": "check", "arguments": {"m": n}}
        )
        for n in checks
    ]
    results = [
        ContextItem(
            f"r{n}",
            ItemKind.TOOL_RESULT,
            f"machine {n}\n{lines}\n{'FATAL: its disk is dead' if n == 4 else 'done'}",
            f"c{n}",
            metadata={"is_error": n == 4},
        )
        for n in checks
    ]
    asked = ContextItem("u0", ItemKind.USER_TURN, "Check all machines. Which one is broken?")
    request = CompileRequest(phase, budget=budget)
    pack = compile_pack(ListView([asked, *calls, *results]), request).pack
    assert "FATAL: its disk is dead" in pack.prompt
    assert {"c4", "r4", "c11", "r11"} <= {entry.item_id for entry in pack.entries}
