"""Texts within texts: JSON in JSON, output in a field, the `repr` of an object."""

import json
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.compiler.renditions.assembling import assembled_text
from weft.passages.json_repair import MAX_CHARS
from weft.passages.json_unquoted import unquoted
from weft.passages.literals import DEEPEST, decoded
from weft.passages.part import leaf_count, leaves
from weft.passages.splitting import outline_of, passages_of, readable

FOUND = {"query": "tide", "hits": [{"title": f"Harbour {n}", "text": "w " * 150} for n in range(5)]}
LOG = "\n".join(f'{n}: the pump says "{n} %" at C:\\new' for n in range(40))


def all_of(text: str) -> str:
    made = outline_of(text)
    assert made is not None
    return assembled_text(readable(text, made), made, range(leaf_count(made.root)))


def printed(count: int) -> str:
    """What Python prints of orders, one of which was not sent."""
    return repr(
        [
            {
                "order": 70_000 + n,
                "by": "Ann O'Neil" if n % 2 else 'the "big" one',
                "sent": None if n == 7 else datetime(2026, 11, n % 28 + 1, 8, n),
                "price": Decimal(n) / 4,
                "place": (n, "hall"),
                "raw": b"\x00a",
                "paid": n != 9,
                "lines": [{"sku": f"S-{n}-{m}", "note": None} for m in range(9)],
            }
            for n in range(count)
        ]
    )


def test_what_python_prints_of_a_list_is_split_by_its_records() -> None:
    text = printed(30)
    made = outline_of(text)
    assert made is not None
    assert made.is_json
    assert [child.unit for child in made.root.children] == ["record"] * 30
    assert decoded(text).form == "json"
    shown = all_of(text)
    assert "order: 70007" in shown
    assert "sent: None, price: Decimal('1.75'), place: \"(7, 'hall')\"" in shown
    assert "Ann O'Neil" in shown
    assert "paid: False" in shown
    one = assembled_text(readable(text, made), made, [3])
    assert one.startswith("[… 3 of 30 records …, {order: 70003, by: Ann O'Neil, sent: ")
    outliers = [at for at, record in enumerate(made.root.children) if record.is_outlier]
    assert outliers == [7, 9]


@pytest.mark.parametrize("end", ["", "}", "] # and more", "]\n\nDone."])
def test_what_python_did_not_print_as_a_whole_stays_text(end: str) -> None:
    text = printed(30)[:-1] + end
    assert decoded(text).form == "text"
    assert decoded(text).text == text


def wrapped(text: str, levels: int) -> str:
    for _ in range(levels):
        text = json.dumps({"outputs": [{"kind": "text", "text": text}], "failed": False})
    return text


def one_harbour_of(text: str) -> str:
    """What is shown of it for the leaves that tell of the second harbour."""
    made = outline_of(text)
    assert made is not None
    written = readable(text, made)
    chosen = [
        number
        for number, leaf in enumerate(leaves(made.root))
        if "Harbour 2" in written[leaf.start : leaf.end]
    ]
    return assembled_text(written, made, chosen)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_json_within_json_has_its_records_again(levels: int) -> None:
    text = wrapped(json.dumps(FOUND), levels)
    assert unquoted(json.dumps(FOUND)) in all_of(text)
    shown = one_harbour_of(text)
    assert "title: Harbour 2" in shown
    assert "\u2026 2 of 5 records \u2026" in shown
    assert "\\" not in shown


@pytest.mark.parametrize("quote", ["'", '"'])
def test_the_repr_of_an_object_is_read(quote: str) -> None:
    said = json.dumps(FOUND, indent=2)
    literal = repr(said) if quote == "'" else json.dumps(said)
    text = f"page=None outputs=[Output(kind='text', text={literal})] failed=False"
    assert unquoted(json.dumps(FOUND)) in all_of(text)
    assert all_of(text).startswith("page=None outputs=[Output(kind='text', text=")
    assert all_of(text).endswith(")] failed=False")


def test_a_programs_output_has_its_lines_again() -> None:
    text = json.dumps({"exit_code": 1, "stdout": LOG, "stderr": ""})
    made = outline_of(text)
    assert made is not None
    assert LOG in readable(text, made)
    assert '\n17: the pump says "17 %" at C:\\new\n' in all_of(text)
    shown = assembled_text(readable(text, made), made, [leaf_count(made.root) - 1])
    assert shown.startswith("\u2026 lines 0-35 \u2026\n")
    assert shown.endswith(' \u2026 in the field stdout, with exit_code: 1, stderr: "" \u2026')


def test_letters_are_read_and_what_could_hide_is_not() -> None:
    said = "\u6f6e\u6c50 \u202e\u200b\x1b[1m \u2028\n" * 60
    shown = decoded(json.dumps({"text": said})).text
    assert "\u6f6e\u6c50 \\u202e\\u200b\\u001b[1m \\u2028\n" in shown


def test_a_character_in_two_halves_is_read() -> None:
    said = "\n".join(["It rains \U0001f327 and \U0001f600."] * 9)
    assert said in decoded(json.dumps({"text": said})).text
    assert "\\ud83d" in decoded(json.dumps({"text": said + "\ud83d"})).text


def test_json_in_a_repr_is_json_though_a_letter_is_written_as_pythons_escape() -> None:
    said = json.dumps(FOUND, ensure_ascii=False).replace("tide", "tide\xa0table")
    text = f"Result(text={said!r})"
    assert "\\xa0" in text
    assert unquoted(said) in all_of(text)


def test_strings_of_a_programs_text_stay_as_they_are_written() -> None:
    text = "\n".join(["def f():", "    return 'a\\nb\\nc" + "x" * 200 + "'"] * 9)
    assert decoded(text).text == text
    assert not decoded("It's " + "no literal\\n" * 99 + " isn't").literals


def test_it_ends_at_some_depth() -> None:
    text = wrapped(LOG, DEEPEST + 3)
    assert "\\" in decoded(text).text
    assert passages_of(text)[1]


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("as_repr", [False, True])
def test_what_was_cut_off_is_read_as_far_as_it_goes(levels: int, as_repr: bool) -> None:
    text = wrapped(json.dumps(FOUND), levels)
    text = f"Result(text={text!r})" if as_repr else text
    cut = text[: text.index("Harbour 3") + 60]
    shown = one_harbour_of(cut)
    assert "title: Harbour 2" in shown
    assert "\u2026 2 of 4 records \u2026" in shown
    assert "\\" not in shown
    assert all_of(cut).endswith(" w w w w w")


def test_what_only_begins_like_json_is_no_cut_json() -> None:
    for text in ("[1] A note, " + "and more of it " * 40, '{"a": 1} and then ' + "words " * 90):
        assert decoded(text).form == "text"


def test_a_text_may_be_cut_off_behind_an_identifying_key() -> None:
    text = json.dumps({"log": [f"line {n} of it" for n in range(60)], "name": "Ada"})
    cut = text[: text.index('"Ada"')].rstrip()
    made = outline_of(cut)
    assert made is not None
    assert readable(cut, made) == cut


def test_a_long_text_that_is_json_only_at_its_beginning_is_read_as_text() -> None:
    text = json.dumps([FOUND] * 400) + "]]}" + "and more " * 40
    assert len(text) > MAX_CHARS
    assert decoded(text).form == "text"
    assert outline_of(text) is not None


texts = st.text(st.sampled_from("ab1 \\\"'{}[]:,/<|n\n\t"), max_size=90)


@settings(max_examples=100)
@given(st.lists(texts, min_size=1, max_size=4), st.integers(1, 3), st.booleans())
def test_what_a_string_holds_is_shown_as_it_reads(
    said: list[str], levels: int, as_repr: bool
) -> None:
    held = "\n".join(["a first line", *said, "and more to say " * 30, "a last line"])
    text = wrapped(held, levels)
    text = f"Result(text={text!r})" if as_repr else text
    made = outline_of(text)
    assert made is not None
    assert _bare(held) in _bare(readable(text, made))
    assert _bare(all_of(text)) == _bare(readable(text, made))


@settings(max_examples=200)
@given(st.integers(1, 3), st.booleans(), st.floats(0.2, 1.0))
def test_wherever_a_text_is_cut_off_nothing_of_it_is_lost(
    levels: int, as_repr: bool, share: float
) -> None:
    text = wrapped(json.dumps(FOUND | {"log": LOG, "n": [1, None, "a\\b"]}), levels)
    text = f"Result(text={text!r})" if as_repr else text
    cut = text[: int(len(text) * share)]
    made = outline_of(cut)
    if made is not None:
        assert _bare(all_of(cut)) == _bare(readable(cut, made))


def _bare(text: str) -> str:
    return "".join(char for char in text if char not in '", \t\n')


HEADERS = "HTTP/1.1 200 OK\nContent-Type: application/json\n\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_below_other_lines_has_its_records(indent: int | None) -> None:
    text = HEADERS + json.dumps(FOUND, indent=indent)
    assert one_harbour_of(text).startswith("\u2026 3 lines \u2026\n{query: tide, hits: [")
    assert "title: Harbour 2" in one_harbour_of(text)
    assert "\u2026 2 of 5 records \u2026" in one_harbour_of(text)
    assert all_of(text).startswith(HEADERS)
    assert _bare(all_of(text)) == _bare(text)


@pytest.mark.parametrize("below", ["[see above]", "{not json " * 40 + "}", '{"a": 1}\nand more'])
def test_what_is_no_json_below_other_lines_is_text(below: str) -> None:
    assert not decoded(HEADERS + below).literals


RECORDS = [{"id": at, "name": f"order {at}", "note": "w " * 150} for at in range(9)]


@pytest.mark.parametrize(
    ("above", "after"),
    [("Found 9 orders: ", ""), ("INFO read\ndata = ", ";\nconst more = 1\n"), ("", "\n9 of 80")],
)
def test_json_in_a_long_line_has_its_records_and_its_quotes(above: str, after: str) -> None:
    text = above + json.dumps(RECORDS) + after
    outline = outline_of(text)
    assert outline is not None
    assert readable(text, outline) == text
    assert not outline.is_json
    shown = assembled_text(text, outline, [at for at, leaf in enumerate(outline.leaves)
                                      if '"id": 7' in text[leaf.start:leaf.end]])  # fmt: skip
    assert '[\u2026 7 of 9 records \u2026, {"id": 7, "name": "order 7"' in shown
    assert "\u2026 1 of 9 records \u2026]" in shown
    assert assembled_text(text, outline, range(len(outline.leaves))) == text.rstrip("\n")


@pytest.mark.parametrize("text", ["[1] " * 300, "a {b} [c] " * 200, '{"a": ' * 300, "x: [" * 400])
def test_what_is_no_json_in_a_long_line_is_text(text: str) -> None:
    assert not decoded(text).literals


def test_what_stands_before_a_string_in_its_line_is_no_line() -> None:
    text = f"Result(kind='page', text={json.dumps(RECORDS)!r}, more_of_it=None)"
    outline = outline_of(text)
    assert outline is not None
    shown = assembled_text(readable(text, outline), outline, [len(outline.leaves) - 2])
    assert shown.startswith("\u2026 1 piece \u2026 '[")
    assert shown.endswith("}]' \u2026 1 piece \u2026")
