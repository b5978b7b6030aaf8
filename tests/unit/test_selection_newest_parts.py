"""The newest result that is too large is told in parts before older ones are told at all."""

from __future__ import annotations

import pytest
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

BUDGET = 500


def called(number: int, tool: str, result: str) -> list[ContextItem]:
    metadata = {"tool_name": tool, "arguments": {"number": number}}
    return [
        ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=metadata),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, f"c{number}"),
    ]


def session(newest: str) -> list[ContextItem]:
    older = [item for n in range(4) for item in called(n, "note", f"Lot {n} is noted. " * 4)]
    question = ContextItem("u0", ItemKind.USER_TURN, "When can lot 7 be fetched?")
    return [question, *older, *called(9, "ask", newest)]


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.INTERPRET, Phase.ANSWER])
def test_a_part_of_it_takes_what_would_be_held_back_for_older_results(phase: Phase) -> None:
    paragraphs = [f"Lot {n} waits at quay {n} for {'one more hour, ' * 80}" for n in range(12)]
    view = ListView(session("\n\n".join(paragraphs)))
    pack = compile_pack(view, CompileRequest(phase, budget=BUDGET)).pack
    assert paragraphs[7].strip() in pack.prompt
    assert max(pack.stats.message_tokens.values()) <= BUDGET
