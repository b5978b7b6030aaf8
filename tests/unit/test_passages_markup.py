"""XML and HTML on long lines, by their elements."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.compiler.renditions.assembling import assembled_text
from weft.passages.markup import split_markup
from weft.passages.part import leaf_count, leaves
from weft.passages.splitting import outline_of, readable

ITEMS = "".join(
    f'<item sku="A-{n}"><id>{n}</id><title>Harbour {n}</title><desc>{"wide water " * 50}</desc>'
    f'<price currency="EUR">{n}.50</price></item>'
    for n in range(40)
)
HEAD = '<?xml version="1.0"?><rss version="2.0"><channel><title>Ports</title>'
FEED = f"{HEAD}{ITEMS}</channel></rss>"
ROWS = "".join(f'<row id="{n}" v="{n * 7}"/>' for n in range(200))
SENTENCES = "It is <b>not</b> far. " * 30
PAGE = (
    "<!DOCTYPE html><html><head><title>T</title><meta charset=utf-8></head><body><ul class=nav>"
    + "".join(f'<li><a href="/p/{n}">Page {n}</a>' for n in range(30))
    + "</ul><h1>Main</h1>"
    + "".join(f"<h2>Part {n}</h2><p>{SENTENCES}<br>{SENTENCES}</p>" for n in range(6))
    + "</body></html>"
)
TAG = re.compile(r"</?([A-Za-z][\w:.-]*)[^<>]*>")


def shown(text: str, *chosen: int) -> str:
    outline = outline_of(text)
    assert outline is not None
    count = leaf_count(outline.root)
    return assembled_text(readable(text, outline), outline, [one % count for one in chosen])


def test_an_element_stands_in_those_around_it_with_what_says_which_it_is() -> None:
    assert shown(FEED, -1) == (
        f"{HEAD} … 39 of 41 elements … "
        '<item sku="A-39"><id>39</id><title>Harbour 39</title> … 1 of 4 elements … '
        '<price currency="EUR">39.50</price></item></channel></rss>'
    )


def test_small_elements_share_a_part_and_are_counted() -> None:
    text = f'<data page="1">{ROWS}</data>'
    assembled = shown(text, 0)
    rows = assembled.count("<row ")
    assert assembled.startswith('<data page="1"><row id="0" v="0"/><row id="1" v="7"/>')
    assert assembled.endswith(f"/> … {200 - rows} of 200 elements … </data>")
    assert sum(leaf.count for leaf in leaves(split_markup(text, 0, len(text))[0])) == 200


def test_paragraphs_of_a_page_stand_under_their_heading_and_are_cut_at_sentences() -> None:
    text = shown(PAGE, -1)
    assert text.startswith("<!DOCTYPE html><html> … 1 of 2 elements … <body> … ")
    assert "<h2>Part 5</h2><p> … " in text
    assert " sentences … It is <b>not</b> far. " in text
    assert text.endswith("</p></body></html>")


def test_list_items_whose_end_is_left_out_stand_beside_each_other() -> None:
    text = "<ul>" + "".join(f'<li><a href="/{n}">page</a>' for n in range(99)) + "</ul>"
    assert shown(text, 0).endswith("elements … </ul>")


@pytest.mark.parametrize(
    "text",
    [
        "see <b>this</b> and <i>that</i>. " + "Plain words of a long line. " * 60,
        "if a < b and c > d then e </ f: " * 40,
        "<!-- " * 300,
        "<a " * 300,
    ],
)
def test_what_is_mostly_no_markup_is_split_as_before(text: str) -> None:
    assert split_markup(text, 0, len(text)) == []


def test_one_long_line_of_several_is_split_by_its_elements() -> None:
    text = f"HTTP/1.1 200 OK\ncontent-type: text/xml\n\n{FEED}"
    assert shown(text, -1).endswith(shown(FEED, -1).partition("<item")[2])


def test_markup_in_a_string_of_json_is_split_by_its_elements() -> None:
    text = json.dumps({"status": 200, "body": FEED})
    assert shown(text, -1).endswith(
        '<price currency="EUR">39.50</price></item></channel></rss>'
        " \u2026 in the field body, with status: 200 \u2026"
    )


def test_a_start_tag_that_is_too_long_is_shown_in_part() -> None:
    text = f'<svg viewBox="0 0 9 9" d="{"M 1 2 " * 400}">{ROWS}</svg>'
    assembled = shown(text, -1)
    assert assembled.startswith('<svg viewBox="0 0 9 9" d="M 1 2 ')
    assert len(assembled) < 1_000


def test_elements_that_are_nested_too_deeply_are_text() -> None:
    text = "<a>" * 200 + "deep " * 400 + "</a>" * 200
    assert "deep deep" in shown(text, 99)


names = st.sampled_from(["a", "item", "b:c", "id"])
trees = st.recursive(
    st.text("xyz. <>&\"'", max_size=300).map(lambda text: text.replace("<", "&lt;")),
    lambda inner: st.tuples(names, st.lists(inner, max_size=8)).map(
        lambda made: f'<{made[0]} k="v">{"".join(made[1])}</{made[0]}>'
    ),
    max_leaves=40,
)


@given(st.lists(trees, min_size=1, max_size=4).map("".join), st.integers(0, 99))
def test_any_markup_is_shown_in_order_and_in_whole_elements(inner: str, chosen: int) -> None:
    text = f"<root>{inner}</root>" + "<z/>" * 9 + "<z>" + "word " * 200 + "</z>"
    assembled = shown(text, chosen)
    at = 0
    for piece in re.split(r" ?… [^…]* … ?", assembled):
        at = text.index(piece.strip(), at) + len(piece.strip())
    opened: list[str] = []
    for tag in TAG.finditer(assembled):
        if tag[0].startswith("</"):
            assert opened.pop() == tag[1]
        elif not tag[0].endswith("/>"):
            opened.append(tag[1])
    assert not opened
