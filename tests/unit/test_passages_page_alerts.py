"""What a page tells in answer to an action, in a tree of roles in lines."""

from __future__ import annotations

import pytest
from tests.outlines import outline
from tests.session_view import ListView

from weft.compiler.compile import compile_pack
from weft.passages.page_alerts import MAX_ALERTS
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

ALERT = '    - alert "Tax number: wrong form. Use three groups." [ref=e88]\n'
INVALID = '    - textbox "Tax number *" [ref=e91] [invalid]: "298114570"\n'
FIELDS = [f'    - textbox "Field {n} *" [ref=e{n}]: value {n}\n' for n in range(30, 48)]


def page(*lines: str, at: int = 9) -> str:
    links = "".join(f'    - link "Part {n} of the portal" [ref=e1{n}]\n' for n in range(9))
    form = "".join((*FIELDS[:at], *lines, *FIELDS[at:]))
    return (
        f"- Page URL: https://a.example/step-1\n- Page Snapshot:\n  - banner [ref=e1]:\n{links}"
        f'  - main [ref=e84]:\n    - heading "Who you are" [ref=e85]\n{form}'
        '    - button "Next" [ref=e104] [disabled]\n'
    )


def alerts(text: str) -> list[str]:
    found = outline(text)
    leaves = [found.leaves[number] for number in sorted(found.outliers)]
    return [text[leaf.start : leaf.end] for leaf in leaves]


def test_an_alert_and_a_refused_field_stand_out_each_by_itself() -> None:
    assert alerts(page(ALERT, FIELDS[0], INVALID)) == [ALERT, INVALID]


@pytest.mark.parametrize(
    "alert",
    [
        "    - alert [ref=e88]:\n      - text: Wrong form\n      - link [ref=e89]: Help\n",
        '    uid=1_88 alert "Wrong form"\n      uid=1_89 StaticText "Wrong form"\n',
        '    [88] alertdialog "Leave the page?"\n',
        '    uid=1_91 textbox "Tax number" invalid="true" value="1"\n',
    ],
)
def test_an_alert_with_what_is_in_it_as_several_tools_write_it(alert: str) -> None:
    assert alerts(page(alert)) == [alert]


@pytest.mark.parametrize(
    "lines",
    [
        ["    - alert [ref=e88]\n"],
        ['    - link "alert settings" [ref=e88]\n'],
        [ALERT.replace("e88", f"e88{n}") for n in range(MAX_ALERTS + 1)],
    ],
    ids=["empty", "a-name", "a-list"],
)
def test_no_alert(lines: list[str]) -> None:
    assert alerts(page(*lines)) == []


def test_a_text_that_is_no_page_has_none() -> None:
    assert ALERT not in alerts(page(ALERT).replace("- main", "- group"))


@pytest.mark.parametrize("budget", [200, 220])
def test_it_is_shown_of_a_page_that_does_not_fit(budget: int) -> None:
    clicked = {"tool_name": "click", "arguments": {"ref": "e104"}}
    items = [
        ContextItem("u", ItemKind.USER_TURN, "Fill in the form, then go on."),
        ContextItem("c", ItemKind.TOOL_CALL, metadata=clicked),
        ContextItem("r", ItemKind.TOOL_RESULT, page(ALERT, INVALID), "c"),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.CALL, budget=budget)).pack
    assert ALERT.strip() in pack.prompt
    assert INVALID.strip() in pack.prompt
