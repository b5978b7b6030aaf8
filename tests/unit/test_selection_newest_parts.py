"""The newest result that is too large is told in parts before older ones are told at all."""

from __future__ import annotations

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

BUDGET = 500


WIDE = [f"Lot {n} waits at quay {n} for {'one more hour, ' * 80}" for n in range(12)]
"""Paragraphs of which one takes more than half of the budget."""


def called(number: int, tool: str, result: str, failed: bool = False) -> list[ContextItem]:
    metadata = {"tool_name": tool, "arguments": {"number": number}}
    outcome = {"is_error": True} if failed else {}
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=metadata),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, f"c{number}", metadata=outcome),
    ]


def session(*newest: ContextItem) -> list[ContextItem]:
    older = [item for n in range(4) for item in called(n, "note", f"Lot {n} is noted. " * 4)]
    question = ContextItem("u0", ItemKind.USER_TURN, "When can lot 7 be fetched?")
    return [question, *older, *newest]


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.INTERPRET, Phase.ANSWER])
def test_a_part_of_it_takes_what_would_be_held_back_for_older_results(phase: Phase) -> None:
    view = ListView(session(*called(9, "ask", "\n\n".join(WIDE))))
    pack = compile_pack(view, CompileRequest(phase, budget=BUDGET)).pack
    assert WIDE[7].strip() in pack.prompt
    assert max(pack.stats.message_tokens.values()) <= BUDGET


@pytest.mark.parametrize("budget", [460, 480, 560])
@pytest.mark.parametrize("lines", [2, 60])
def test_it_leaves_room_for_a_failure_right_before_it(budget: int, lines: int) -> None:
    """Who does not see that fetching failed fetches the lot again."""
    error = "".join(f"Gate {n} of the yard was asked.\n" for n in range(lines)) + "Error: no crane"
    items = session(*called(8, "fetch", error, True), *called(9, "ask", "\n\n".join(WIDE)))
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert "Error: no crane" in pack.prompt
    assert 'ask({"number":9})' in pack.prompt


HEADER = f"| package | severity | {'installed version, ' * 12}|\n|---|---|---|\n"
SCAN = f"total: 61, critical: 1\n\n{HEADER}" + "".join(
    f"| lib-{n} | {'critical' if n == 31 else 'low'} | {n * 37}.{n % 7}.{n % 5} is installed |\n"
    for n in range(61)
)


@pytest.mark.parametrize("budget", [350, 380, 410, 420])
def test_of_a_list_the_record_that_differs_takes_what_would_be_held_back(budget: int) -> None:
    """Its totals alone do not say which record they are about."""
    older = [called(n, "note", f"Lot {n} is noted. " * 8) for n in range(8)]
    question = ContextItem("u0", ItemKind.USER_TURN, "Is anything critical?")
    items = [question, *(one for pair in older for one in pair), *called(9, "scan", SCAN)]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert "lib-31 | critical" in pack.prompt
