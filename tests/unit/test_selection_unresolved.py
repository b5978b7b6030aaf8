"""Failed calls that nothing made good are named first where they are left out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.compile import compile_pack
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import MAX_UNRESOLVED
from weft.compiler.selection.unresolved import unresolved_calls
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

LONG = " ".join(f"line {n} of a page about harbours and ships." for n in range(40))


def call(number: int, result: str, tool: str = "pay", **arguments: Any) -> list[ContextItem]:
    metadata: dict[str, Any] = {"tool_name": tool, "arguments": arguments}
    failed = {"is_error": True} if "error" in result else {}
    name = f"c{number}"
    return [
        ContextItem(name, ItemKind.TOOL_CALL, json.dumps(arguments), metadata=metadata),
        ContextItem(f"r{number}", ItemKind.TOOL_RESULT, result, name, metadata=failed),
    ]


def unresolved(*calls: list[ContextItem]) -> list[str]:
    view = ListView([item for one in calls for item in one])
    rows = view.rows(range(2 * view.item_count() + 1))
    return [
        group.rows[0].id for group in unresolved_calls(dependency_closure(view, rows, Ledger()))
    ]


FAILED = call(1, "error: locked", order="N-7", amount=30)


def test_a_failed_call_stays_unresolved_while_others_succeed() -> None:
    others = [call(n, "ok", order=f"N-{n}", amount=30) for n in range(20, 25)]
    assert unresolved(FAILED, *others) == ["c1"]
    assert unresolved(call(0, "ok", order="N-7", amount=30), FAILED) == ["c1"]
    assert unresolved(FAILED, call(2, "ok", "ask", order="N-7", amount=30)) == ["c1"]


def test_a_later_call_like_it_makes_it_good() -> None:
    assert unresolved(FAILED, call(2, "ok", order="N-7", amount=30, force=True)) == []
    again = call(3, "error: locked", order="N-7", amount=30)
    assert unresolved(FAILED, again, call(4, "ok", order="N-7", amount=30)) == []


def test_one_that_was_made_good_takes_no_room_of_the_list_of_calls() -> None:
    words = " ".join(f"word{n}" for n in range(20))
    asked = [ContextItem("u", ItemKind.USER_TURN, "Pay all orders, then say which are left.")]
    others = [call(n, "ok", order=f"N-{n} {words}") for n in range(20, 30)]
    for again, told in ((f"N-7 {words}", False), ("N-9", True)):
        tried = [call(1, "error: locked", order=f"N-7 {words}", to="a")]
        tried += [call(2, "ok", order=again, to="a")]
        items = [*asked, *(item for one in (*others, *tried) for item in one), *call(99, LONG)]
        pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=600)).pack
        assert ("r1" in {entry.item_id for entry in pack.entries}) == told


def test_only_the_newest_are_found() -> None:
    failed = [call(n, "error: locked", order=f"N-{n}") for n in range(9)]
    assert unresolved(*failed) == [f"c{8 - n}" for n in range(MAX_UNRESOLVED)]


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_calls_that_are_no_candidates_count_in_their_order(phase: Phase) -> None:
    """A call that comes first is a candidate, since it is pinned, and a later one is none."""
    asked = ContextItem("u0", ItemKind.USER_TURN, "What will the weather be like in Oslo?")
    others = [item for n in range(600, 630) for item in call(n, LONG, "read", page=f"p-{n}")]

    def unresolved_with(first: str, later: str) -> list[str]:
        one = call(0, first, order="N-7", amount=30)
        pinned = msgspec.structs.replace(one[0], metadata={**one[0].metadata, "pin": True})
        between = [item for n in range(30) for item in call(n + 1, LONG, "read", page=f"q-{n}")]
        other = call(500, later, order="N-7", amount=30)
        items = [pinned, one[1], *between, *other, *others, asked]
        return [group.rows[0].id for group in choice_of(items, 3_000, phase).unresolved]

    assert unresolved_with("error: no", "ok") == []
    if phase is Phase.CALL:
        assert unresolved_with("ok", "error: no") == ["c500"]


def made(phase: Phase, budget: int, result: str) -> str:
    said = ContextItem("u0", ItemKind.USER_TURN, "Pay all and say which did not go through.")
    newer = [item for n in range(2, 30) for item in call(n, result, order=f"N-{n + 40}", amount=n)]
    last = ContextItem("u1", ItemKind.USER_TURN, "What is still left to do?")
    request = CompileRequest(phase, budget=budget)
    return compile_pack(ListView([said, *FAILED, *newer, last]), request).pack.prompt


@pytest.mark.parametrize("budget", [900, 1_200])
def test_it_is_named_before_newer_calls_that_succeeded(budget: int) -> None:
    assert "pay 30 N-7 (error)" in made(Phase.CALL, budget, LONG)


def test_before_an_answer_it_alone_is_named_in_what_is_left_of_a_budget() -> None:
    prompts = [made(Phase.ANSWER, budget, "paid") for budget in range(600, 800, 10)]
    named = [one for one in prompts if "calls:" in one]
    assert named
    assert all("calls: pay 30 N-7 (error)\n" in one for one in named)
