"""What kind of element a part of a page or a report is: the head of a table, the one failure among
test cases, navigation."""

from __future__ import annotations

import pytest

from weft.compiler.renditions.assembling import assembled_text
from weft.passages.part import Outline
from weft.passages.splitting import outline_of

CELLS = "".join(
    f"<tr><td>Stuff {n}</td><td>{n}.5 mg/l</td><td>{'annex text ' * 9}</td></tr>" for n in range(30)
)
HEAD = "<tr><th>Parameter</th><th>Limit</th><th>Annex</th></tr>"
CASES = "".join(f'<testcase classname="a.b.C" name="works {n}" time="0.01"/>' for n in range(60))
FAILED = (
    '<testcase classname="a.b.C" name="pays twice"><failure type="AssertionError">expected 1, '
    "got 2</failure></testcase>"
)


def outline(text: str, content_type: str) -> Outline:
    made = outline_of(text, content_type)
    assert made is not None
    return made


def leaf_with(text: str, made: Outline, words: str) -> int:
    at = text.index(words)
    return next(n for n, leaf in enumerate(made.leaves) if leaf.start <= at < leaf.end)


@pytest.mark.parametrize(
    "head", [f"<thead>{HEAD}</thead><tbody>", f"<caption>W</caption>{HEAD}", HEAD]
)
def test_a_row_stands_below_the_head_of_its_table(head: str) -> None:
    text = f"<html><body><h1>Limits</h1><table>{head}{CELLS}</table></body></html>"
    made = outline(text, "text/html")
    shown = assembled_text(text, made, [leaf_with(text, made, "Stuff 17")])
    assert HEAD in shown
    assert "17.5 mg/l" in shown
    assert "3.5 mg/l" not in shown


def test_the_test_case_that_failed_differs_from_the_others() -> None:
    half = len(CASES) // 2
    at = CASES.index("<", half)
    text = f'<testsuite name="all">{CASES[:at]}{FAILED}{CASES[at:]}</testsuite>'
    made = outline(text, "application/xml")
    assert made.outliers == {leaf_with(text, made, "pays twice")}
    assert FAILED in assembled_text(text, made, made.outliers)


def test_elements_that_are_all_alike_or_all_unlike_do_not_differ() -> None:
    unlike = "".join(f"<e{n}><a{n}>{'word ' * 30}</a{n}></e{n}>" for n in range(20))
    for inside in (CASES, unlike):
        text = f"<all>{inside}</all>"
        assert not outline(text, "application/xml").outliers


def test_navigation_and_forms_are_beside_what_a_page_says() -> None:
    links = "".join(f'<li><a href="/{n}">Page {n}</a></li>' for n in range(40))
    body = "".join(f"<p>{f'Sentence {n} of the report. ' * 12}</p>" for n in range(9))
    head = '<title>Report</title><script src="/a.js"></script><link rel="stylesheet" href="/a.css">'
    text = (
        f"<html><head>{head}</head><body><header><nav><ul>{links}</ul></nav></header>"
        f'<main>{body}<header><h2>Last</h2></header></main><form><input name="q"/></form></body>'
        "</html>"
    )
    made = outline(text, "text/html")
    beside = "".join(text[made.leaves[n].start : made.leaves[n].end] for n in sorted(made.asides))
    assert "/a.js" in beside
    assert "Page 39" in beside
    assert '<input name="q"/>' in beside
    assert "Sentence" not in beside
    assert "Last" not in beside


@pytest.mark.parametrize(
    ("before", "name", "behind"),
    [
        ("<html><body>", "form", "</body></html>"),
        ("<restaurant>", "menu", "<open>daily</open></restaurant>"),
        ("", "nav", ""),
    ],
)
def test_what_a_page_consists_of_is_no_aside_and_xml_has_none(
    before: str, name: str, behind: str
) -> None:
    dishes = "".join(f"<p>{f'Dish {n} with rice and a salad. ' * 6}</p>" for n in range(30))
    made = outline(f"{before}<{name}>{dishes}</{name}>{behind}", "text/html")
    assert not made.asides
