"""A newest result that fits the budget and not its half, beside older ones of the same turn."""

from __future__ import annotations

from tests.session_view import ListView

from weft import tokens
from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

ROWS = 60


def page(number: int) -> list[ContextItem]:
    lines = [
        f"[{number}{n:02}] link 'Offer {n} of page {number} in Harbour Road {n}'"
        for n in range(ROWS)
    ]
    call = ContextItem(
        f"c{number}",
        ItemKind.TOOL_CALL,
        metadata={"tool_name": "open_page", "arguments": {"page": number}},
    )
    return [call, ContextItem(f"r{number}", ItemKind.TOOL_RESULT, "\n".join(lines), call.id)]


def rows_shown(number: int, budget: int, phase: Phase) -> int:
    items = [ContextItem("u0", ItemKind.USER_TURN, "Find me the cheapest offer.")]
    for one in range(1, 5):
        items += page(one)
    pack = compile_pack(ListView(items), CompileRequest(phase, budget=budget)).pack
    return sum(f"[{number}{n:02}]" in pack.prompt for n in range(ROWS))


def test_it_takes_all_of_the_exchange_s_share_before_older_ones_take_any() -> None:
    size = tokens.count(page(4)[1].text, tokens.DEFAULT_ENCODING)
    budget = size * 3 // 2
    for phase in (Phase.CALL, Phase.ANSWER, Phase.INTERPRET):
        newest = rows_shown(4, budget, phase)
        assert newest > ROWS * 0.6
        assert all(rows_shown(older, budget, phase) < newest / 2 for older in (1, 2, 3))
