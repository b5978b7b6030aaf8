"""In a prompt that is cut, results of calls that were made together stand below their calls."""

from typing import Any

from tests.session_view import ListView

from weft.adapters.openai import messages
from weft.compiler.compile import compile_pack
from weft.compiler.rendering.parallel_calls import below_calls
from weft.compiler.rendering.prompt import render
from weft_schemas.compile import CompileRequest, PackEntry
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


def call(name: str, **more: Any) -> PackEntry:
    return PackEntry(name, ItemKind.TOOL_CALL, f"{name}()", "context", tool_name=name, **more)


def result(of: str, **more: Any) -> PackEntry:
    text = f"{of} is ok"
    return PackEntry(
        f"r_{of}", ItemKind.TOOL_RESULT, text, "context", parent_id=of, tool_name=of, **more
    )


CUT = PackEntry("u", ItemKind.USER_TURN, "Look … 2 lines …", "context", view="parts")


def test_each_result_stands_below_its_call() -> None:
    entries = [CUT, call("a"), call("b"), result("b"), result("a")]
    assert render(entries).splitlines() == [
        "user: Look … 2 lines …",
        "call: a()",
        "result: a is ok",
        "call: b()",
        "result: b is ok",
    ]


def test_a_session_that_is_shown_whole_stays_in_its_order() -> None:
    entries = [call("a"), call("b"), result("b"), result("a")]
    assert below_calls(entries) == entries


def test_a_result_does_not_move_before_a_call_that_was_made_after_another_result() -> None:
    """Or it would look as if the agent had known it."""
    entries = [CUT, call("a"), call("b"), result("a"), call("c"), result("b"), result("c")]
    assert render(entries).splitlines()[1:] == [
        "call: a()",
        "result: a is ok",
        "call: b()",
        "call: c()",
        "result: c is ok",
        "result of b: b is ok",
    ]


def test_what_is_left_out_between_a_call_and_its_result_is_told_before_the_call() -> None:
    last = call("c", omitted_before=1, omitted_calls="b")
    entries = [call("a"), last, result("a"), result("c", omitted_before=1)]
    assert render(entries).splitlines() == [
        "call: a()",
        "result: a is ok",
        "… 2 … calls: b",
        "call: c()",
        "result: c is ok",
    ]


def test_a_message_between_a_call_and_its_result_keeps_its_place() -> None:
    said = PackEntry("u2", ItemKind.USER_TURN, "Hurry", "context")
    entries = [CUT, call("a"), said, result("a", omitted_before=1)]
    assert render(entries).splitlines()[1:] == [
        "call: a()",
        "user: Hurry",
        "… 1 …",
        "result of a: a is ok",
    ]


def test_a_prompt_within_its_budget_counts_results_where_they_stand() -> None:
    """The messages of providers keep calls that were made together in one turn."""
    items = [ContextItem("u", ItemKind.USER_TURN, "How warm is it there? " * 40)]
    cities = ("Paris", "London", "Rome")
    for city in cities:
        metadata = {"tool_name": "weather", "call_id": city, "arguments": {"city": city}}
        items.append(ContextItem(city, ItemKind.TOOL_CALL, "", metadata=metadata))
    for at, city in enumerate(cities):
        items.append(ContextItem(f"r{at}", ItemKind.TOOL_RESULT, f"{at}0 degrees", city))
    pack = compile_pack(ListView(items), CompileRequest(Phase.ANSWER, budget=260)).pack
    for at, city in enumerate(cities):
        told = f'call: weather({{"city":"{city}"}})\nresult: '
        assert f"{at}0 degrees" in pack.prompt.partition(told)[2].partition("\n")[0]
    assert pack.stats.prompt_tokens <= 260
    (turn,) = [one for one in messages(pack.entries)["messages"] if "tool_calls" in one]
    assert len(turn["tool_calls"]) == 3


def test_the_order_of_an_exchange_does_not_depend_on_what_comes_later() -> None:
    """Or more of a prompt that grows would be sent again."""
    late = result("a")
    entries = [CUT, call("a"), PackEntry("u2", ItemKind.USER_TURN, "Hurry", "context")]
    entries += [call("b"), late, result("b")]
    later = [call("c"), call("d"), result("c"), result("d")]
    assert render([*entries, *later]).startswith(f"{render(entries)}\n")
