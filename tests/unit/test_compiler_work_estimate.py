"""Whether a compile is done in the loop: by how much it would look at, not by its budget alone."""

from typing import Any

import pytest
from tests.heavy_load import prose, table
from tests.session_view import ListView

from weft.compiler.work_estimate import SHORT_RULES, is_judged_here, is_short
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules, Phase, ToolRule
from weft_schemas.routing import Catalog, ChoiceCard, HydrationResult, SelectableItem

ASKED = ContextItem("u", ItemKind.USER_TURN, "Which order is late?")


def with_result(text: str) -> list[ContextItem]:
    call = ContextItem("c", ItemKind.TOOL_CALL, "list_orders({})")
    return [ASKED, call, ContextItem("r", ItemKind.TOOL_RESULT, text, "c")]


def tools(count: int) -> tuple[dict[str, Any], ...]:
    return tuple({"name": f"tool_{n}", "description": "does something " * 8} for n in range(count))


def of(request: CompileRequest, items: list[ContextItem] | None = None) -> bool:
    return is_short(ListView(items or [ASKED]), request, ContextPolicy(), 0)


def test_an_ordinary_compile_is_short() -> None:
    items = [ContextItem(f"i{n}", ItemKind.USER_TURN, prose(n, 60)) for n in range(400)]
    assert of(CompileRequest(Phase.ANSWER, "order", budget=2_000), items)


@pytest.mark.parametrize("text", [table(6_250), prose(1, 31_250)], ids=["table", "prose"])
def test_parts_of_one_result_of_250_kb_are_chosen_elsewhere(text: str) -> None:
    assert not of(CompileRequest(Phase.ANSWER, "order", budget=2_000), with_result(text))


@pytest.mark.parametrize(("phase", "tool"), [(Phase.ROUTE, None), (Phase.CALL, "tool_1")])
def test_the_size_of_tools_counts(phase: Phase, tool: str | None) -> None:
    assert of(CompileRequest(phase, tools=tools(50), tool=tool))
    assert not of(CompileRequest(phase, tools=tools(2_000), tool=tool))


def test_tools_that_are_not_looked_at_do_not_count() -> None:
    assert of(CompileRequest(Phase.ANSWER, tools=tools(2_000)))
    assert of(CompileRequest(Phase.CALL, tools=tools(2_000)))


def test_the_size_of_one_schema_counts() -> None:
    schema = {"properties": {f"p{n}": {"type": "string"} for n in range(5_000)}}
    big = {"name": "big", "parameters": schema}
    assert not of(CompileRequest(Phase.CALL, tools=(big,), tool="big"))
    hydrated = HydrationResult(SelectableItem("big", "big", args_schema=schema), {}, (), 0)
    assert not of(CompileRequest(Phase.CALL, tool="big", catalog="c", hydration=hydrated))


def test_the_size_of_a_catalogue_counts_where_it_is_read() -> None:
    items = tuple(SelectableItem(f"t{n}", f"t{n}", "does something " * 4) for n in range(2_000))
    model = ReadModel.in_memory(
        [*records_of([Catalog("c", items)], "t", "@tenant"), *records_of([ASKED], "t", "s", 2)]
    )
    view, policy = model.view("t", "s"), ContextPolicy()
    assert not is_short(view, CompileRequest(Phase.ROUTE, catalog="c"), policy, 0)
    assert not is_short(view, CompileRequest(Phase.CALL, catalog="c", tool="t1"), policy, 0)
    assert is_short(view, CompileRequest(Phase.ANSWER, catalog="c"), policy, 0)
    cards = (ChoiceCard("t1", "t1"),)
    assert is_short(view, CompileRequest(Phase.ROUTE, catalog="c", cards=cards), policy, 0)
    model.close()


def test_a_policy_of_many_globs_is_judged_elsewhere() -> None:
    few, many = (
        ContextPolicy(firewall=FirewallRules(tools=tuple(ToolRule(f"a{n}*") for n in range(count))))
        for count in (SHORT_RULES, SHORT_RULES + 1)
    )
    assert is_judged_here(CompileRequest(Phase.ANSWER))
    assert is_judged_here(CompileRequest(Phase.ANSWER, policy=few))
    assert not is_judged_here(CompileRequest(Phase.ANSWER, policy=many))
