"""What was fetched right before the user spoke is shown completely, if it is short."""

from __future__ import annotations

import json

import pytest
from tests.choosing import choice_of
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.compiler.profiles import LAST_FETCHED_SHARE, WITHOUT_LAST_FETCHED
from weft.compiler.rendering.cost import PromptCost, Shown
from weft.compiler.selection.last_fetched import with_last_fetched
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

ORDER = json.dumps(
    {
        "status": "SENT",
        "arrives": [f"{count} boxes of drill bits on day {count}" for count in range(2, 9)],
        "remark": "the saws come later, since the maker has none of them left",
    }
)


def call_and_result(number: int, name: str, text: str) -> list[ContextItem]:
    metadata = {"tool_name": name, "arguments": {"number": number}}
    call = ContextItem(f"c{number}", ItemKind.TOOL_CALL, metadata=metadata)
    return [call, ContextItem(f"r{number}", ItemKind.TOOL_RESULT, text, call.id)]


def offers(number: int) -> str:
    return json.dumps(
        [
            {"offer": f"OF-{number}{n:03}", "maker": f"Maker{n}{number}", "price": 17.5 * n,
             "sku": f"BT-{n}00{number}-C", "from": f"2026-11-{n + 10}"}
            for n in range(18)
        ]
    )  # fmt: skip


def session(*, is_called_since: bool) -> list[ContextItem]:
    items = [ContextItem("u1", ItemKind.USER_TURN, "Order what is missing from our list.")]
    for number in range(6):
        items += call_and_result(number, "offers", offers(number))
    items += call_and_result(6, "order", ORDER)
    items += [
        ContextItem("a1", ItemKind.AGENT_MSG, "It is ordered."),
        ContextItem("u2", ItemKind.USER_TURN, "Write me a summary of what comes when."),
    ]
    return [*items, *call_and_result(7, "offers", offers(7))] if is_called_since else items


@pytest.mark.parametrize("phase", [Phase.CALL, Phase.ANSWER])
def test_a_short_result_before_the_turn_is_complete(phase: Phase) -> None:
    for budget in (700, 1_000, 1_500, 2_000, 3_000):
        request = CompileRequest(phase, budget=budget)
        pack = compile_pack(ListView(session(is_called_since=False)), request).pack
        assert unquoted(ORDER) in unquoted(pack.prompt), budget
        assert pack.stats.prompt_tokens <= budget


def test_in_a_small_budget_the_newest_stands_before_older_ones_that_are_shorter() -> None:
    items = session(is_called_since=False)
    before = call_and_result(9, "block", '{"id": "ev_77b0", "ok": true}')
    items = [*items[:-4], *before, *items[-4:]]
    for budget in (330, 400, 500):
        pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
        assert unquoted(ORDER) in unquoted(pack.prompt), budget
        assert pack.stats.prompt_tokens <= budget


def unquoted(text: str) -> str:
    return text.replace('"', "")


def test_what_was_fetched_since_the_turn_comes_first() -> None:
    request = CompileRequest(Phase.CALL, budget=1_000)
    pack = compile_pack(ListView(session(is_called_since=True)), request).pack
    newest = [entry.text for entry in pack.entries if entry.item_id == "r7"]
    assert "OF-7" in newest[0]


def fetched(count: int) -> list[ContextItem]:
    """A session whose agent made so many short calls before the user spoke."""
    items = [ContextItem("u1", ItemKind.USER_TURN, "Look at all of them.")]
    for number in range(count):
        items += call_and_result(number, "offers", f"offer OF-{number} is sent on day {number}")
    return [
        *items,
        ContextItem("a1", ItemKind.AGENT_MSG, "Looked at."),
        ContextItem("u2", ItemKind.USER_TURN, "What comes when?"),
    ]


def test_what_is_sent_is_not_counted_once_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may make thousands of calls between two user turns."""
    counted = 0
    exact = PromptCost.exact

    def counting(cost: PromptCost, shown: Shown) -> int:
        nonlocal counted
        counted += 1
        return exact(cost, shown)

    monkeypatch.setattr(PromptCost, "exact", counting)
    choice = choice_of(fetched(400), 20_000)
    shown = with_last_fetched(choice, {})
    newest = [row.sequence for group in choice.last_fetched for row in group.rows][:200]
    assert set(newest) <= shown.keys()
    assert exact(choice.cost, shown) <= (20_000 - WITHOUT_LAST_FETCHED) * LAST_FETCHED_SHARE
    assert counted < 150


def page(step: int) -> str:
    links = "".join(f'    - link "Part {n} of the portal" [ref=e1{n}]\n' for n in range(12))
    fields = "".join(
        f'    - textbox "Question {step}.{n} (required)" [ref=e{step}{n}]\n' for n in range(30)
    )
    return (
        f"- Page URL: https://a.example/{step}\n- Page Snapshot:\n  - banner [ref=e1]:\n{links}"
        f'  - main [ref=e84]:\n    - heading "Step {step}" [ref=e85]\n{fields}'
        '    - button "Next" [ref=e99]\n'
    )


def filled(number: int) -> str:
    iban = f"NL{number}9RABO03000652{number}4"
    code = f"await page.getByRole('textbox', {{ name: 'Field {number}' }}).fill('{iban}');"
    return f"### Ran code\n```js\n{code}\n```\n### Page state\n(no navigation)\n"


@pytest.mark.parametrize("budget", [700, 900])
def test_of_the_newest_page_that_does_not_fit_most_of_the_form_is_shown(budget: int) -> None:
    steps = [*(filled(number) for number in range(8)), page(2)]
    items = [ContextItem("u1", ItemKind.USER_TURN, "Fill in the form of the town.")]
    items += call_and_result(0, "snapshot", page(1))
    for number, text in enumerate(steps, 1):
        items += call_and_result(number, "act", text)
    items += [
        ContextItem("a1", ItemKind.AGENT_MSG, "Which of the two markets do you mean?"),
        ContextItem("u2", ItemKind.USER_TURN, "The one in autumn."),
    ]
    prompt = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack.prompt
    assert prompt.count('"Question 2.') >= 12
