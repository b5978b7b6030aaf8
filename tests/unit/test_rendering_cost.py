"""What a prompt costs: entries are made once, and counts are those of what is really sent."""

import pytest
from tests.compile_invariants import message_tokens
from tests.session_view import ListView

from weft import tokens
from weft.adapters import anthropic, openai
from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.ledger import Ledger
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.rendering.counting import counter
from weft.compiler.rendering.entries import entry
from weft.compiler.rendering.prompt import render
from weft.compiler.renditions.rendition import STUB, Rendition, whole_rendition
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ContextItem, ItemKind

COUNT = counter("o200k_base")


def items() -> list[ContextItem]:
    said = [ContextItem(f"u{n}", ItemKind.USER_TURN, f"Order {n} left.") for n in range(3)]
    asked = {"tool_name": "get", "arguments": {"id": "R7"}}
    said.append(ContextItem("c", ItemKind.TOOL_CALL, "", metadata=asked))
    said.append(ContextItem("r", ItemKind.TOOL_RESULT, '{"state": "late"}', "c"))
    return said


def make(row: ItemRow, shown: Rendition) -> PackEntry:
    untrusted = row.kind is ItemKind.TOOL_RESULT
    return entry(row, shown, b"", "context", untrusted)


def cost_of(view: ListView) -> tuple[PromptCost, Shown]:
    groups: tuple[Group, ...] = dependency_closure(view, view.recent(9), Ledger())
    cost = PromptCost((), groups, make, COUNT)
    return cost, {sequence: whole_rendition(row) for sequence, row in cost.rows.items()}


def test_exact_is_the_most_that_is_sent_of_prompt_and_messages() -> None:
    cost, shown = cost_of(ListView(items()))
    entries = cost.entries(shown)
    sent = [
        tokens.count(render(entries)),
        message_tokens(openai.messages(entries), "o200k_base"),
        message_tokens(anthropic.messages(entries), "o200k_base"),
    ]
    assert cost.exact(shown) >= max(sent)
    assert cost.costed(shown).prompt == sent[0]


def test_the_size_of_blocks_is_close_to_what_is_sent() -> None:
    cost, shown = cost_of(ListView(items()))
    for count in range(1, len(shown) + 1):
        some = dict(list(shown.items())[:count])
        assert cost.size(some) == pytest.approx(cost.exact(some), abs=24)


def test_renditions_that_lose_an_item_cost_less_and_say_so() -> None:
    cost, shown = cost_of(ListView(items()))
    heavy = cost.exact(shown)
    assert not any(one.omitted_before for one in cost.entries(shown))
    less = {at: one for at, one in shown.items() if at != min(shown)}
    assert cost.exact(less) < heavy + 40
    entries = cost.entries(less)
    assert next(one.omitted_before for one in entries if one.item_id) == 1
    assert entries[0].section == "legend"


def test_a_result_that_came_before_its_call_stands_behind_it() -> None:
    made = items()
    made[3], made[4] = made[4], made[3]
    cost, shown = cost_of(ListView(made))
    ids = [one.item_id for one in cost.entries(shown) if one.item_id]
    assert ids == ["u0", "u1", "u2", "c", "r"]


def test_a_legend_stands_only_where_there_is_a_mark_to_explain() -> None:
    cost, shown = cost_of(ListView(items()[:3]))
    assert all(one.section != "legend" for one in cost.entries(shown))
    cut = {at: Rendition(STUB, "… 90 characters …") for at in shown}
    assert cost.entries(cut)[0].section == "legend"


def test_a_masked_secret_is_explained_where_one_is_shown_and_counted() -> None:
    masked = "The key is [secret:github_token:3f9a2b7c]."
    called = {"tool_name": "get", "arguments": {"key": "[secret:github_token]"}}
    for kind, metadata in (
        (ItemKind.USER_TURN, {}),
        (ItemKind.TOOL_CALL, called),
    ):
        text = "" if metadata else masked
        cost, shown = cost_of(ListView([*items(), ContextItem("s", kind, text, metadata=metadata)]))
        entries = cost.entries(shown)
        assert entries[0].section == "legend"
        assert "on purpose" in entries[0].text
        assert cost.size(shown) == pytest.approx(cost.exact(shown), abs=24)
        del shown[max(shown)]
        assert not any("on purpose" in one.text for one in cost.entries(shown))


def test_a_secret_masked_in_memory_is_explained() -> None:
    above = (PackEntry("", ItemKind.MEMORY_FACT, "memory: token [secret:jwt]", "header"),)
    groups: tuple[Group, ...] = dependency_closure(ListView(items()), (), Ledger())
    assert "on purpose" in PromptCost(above, groups, make, COUNT).entries({})[0].text


def test_what_fits_fits_exactly() -> None:
    cost, shown = cost_of(ListView(items()))
    exact = cost.exact(shown)
    assert cost.fits(shown, exact)
    assert not cost.fits(shown, exact - 1)


@pytest.mark.parametrize("days", [["2023-05-08", "2024-01-01"], ["soon", "2024-01-01"]])
def test_what_is_shown_of_a_session_of_several_days_fits_its_exact_size(days: list[str]) -> None:
    said = "Order 7 left, and nobody knows where it went."
    made = [
        ContextItem(f"u{n}", ItemKind.USER_TURN, said, metadata={"occurred_at": day})
        for n, day in enumerate([days[0], *days[1:] * 6])
    ]
    cost, shown = cost_of(ListView(made))
    del shown[min(shown)]
    exact = cost.exact(shown)
    assert exact == cost.costed(shown).prompt
    assert cost.fits(shown, exact)


def test_the_block_of_a_result_below_its_call_is_counted_with_the_label_that_it_has_there() -> None:
    """A bracket and the colon behind it are one token, and the short label has no bracket."""
    named = {"tool_name": "get"}
    items = [
        ContextItem("c", ItemKind.TOOL_CALL, "get(R7)", metadata=named),
        ContextItem("u", ItemKind.USER_TURN, "Hurry."),
        ContextItem("r", ItemKind.TOOL_RESULT, "late", "c", metadata=named),
    ]
    view = ListView(items)
    groups = dependency_closure(view, view.recent(9), Ledger())
    call, result = next(group.rows for group in groups if group.is_call)

    def answering(row: ItemRow, shown: Rendition) -> PackEntry:
        return entry(row, shown, b"", "context", False, answered=None if row is call else call)

    cost = PromptCost((), groups, answering, COUNT)
    assert cost.block_tokens({result.sequence: whole_rendition(result)}) == COUNT("result: late\n")
