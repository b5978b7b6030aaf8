"""Chosen parts put together: exact, in their order, every gap marked with what it lacks."""

import json
import re
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.compiler.renditions.assembling import assembled_text
from weft.passages.json_unquoted import unquoted
from weft.passages.part import Outline, Part, leaf_count, leaves
from weft.passages.splitting import outline_of

RECORDS = json.dumps([{"id": n, "name": f"N{n}", "note": "w " * 90} for n in range(14)])
CODE = "\n".join(
    f"def function_{n}(x):\n    if x:\n        return {n}\n    return x * {n} + 1\n"
    for n in range(30)
)
NUMBERED = "\n".join(f"{n:6d}\tvalue_{n} = compute({n})  # some words" for n in range(1, 90))
TABLE = "id,name,city\n" + "".join(f"{n},name number {n},Oslo\n" for n in range(200))
PROSE = (
    "# One\n\n" + "A first paragraph of some words. " * 20 + "\n\n## Two\n\n" + "And more. " * 80
)
MARKED = "# Title\n\n" + "\n\n".join(
    f"## Part {n}\n\n" + f"Words about part {n} of it all. " * 12 for n in range(6)
)


def outline(text: str, content_type: str = "") -> Outline:
    made = outline_of(text, content_type)
    assert made is not None
    return made


def shown(text: str, chosen: Collection[int], content_type: str = "") -> str:
    return assembled_text(text, outline(text, content_type), chosen)


def leaf_with(text: str, words: str, content_type: str = "") -> int:
    """The number of the leaf in which these words stand."""
    at = text.index(words)
    found = enumerate(leaves(outline(text, content_type).root))
    return next(number for number, leaf in found if leaf.start <= at < leaf.end)


def test_left_out_records_are_counted_and_each_shown_one_keeps_what_it_is_called_by() -> None:
    text = shown(RECORDS, [leaf_with(RECORDS, "w w")])
    assert "13 of 14 records …" in text
    assert "id: 0" in text
    assert "N0" in text


def test_a_field_stands_where_its_mark_would_be_as_long() -> None:
    text = json.dumps(
        {"meta": None, "id": "p1", "city": "Oslo " * 60, "note": None, "more": "x" * 90}
    )
    assert shown(text, [leaf_with(text, '"id"')]) == "{meta: null, id: p1, … 3 fields …}"
    assembled = shown(text, [leaf_with(text, "Oslo"), leaf_with(text, '"more"')])
    assert assembled.startswith("{meta: null, id: p1, city: ")
    assert assembled.endswith(f", note: null, more: {'x' * 90}}}")


@pytest.mark.parametrize("unit", ["line", "row"])
def test_a_line_or_a_row_stands_where_its_mark_would_be_as_long(unit: str) -> None:
    blank = " " * 99
    lines = ["if x:\n", "  x = 1\n", "a longer line, left out\n", "else:\n", f"{blank}y\n", "z\n"]
    ends = [sum(map(len, lines[: at + 1])) for at in range(len(lines))]
    parts = [Part(end - len(line), end, unit) for line, end in zip(lines, ends, strict=True)]
    made = Outline(Part(0, ends[-1], children=tuple(parts)))
    assert assembled_text("".join(lines), made, {0, 2, 3, 4, 5}) == "".join(lines).rstrip("\n")
    assert assembled_text("".join(lines), made, {0, 1, 3, 4, 5}).splitlines()[2].startswith("…")
    assert blank not in assembled_text("".join(lines), made, {0, 1, 2, 3, 5})


def test_a_line_stands_where_its_mark_would_cost_as_many_tokens() -> None:
    text = "success: true\nmatched:\n" + "".join(f"- tool_{n}: it does {n}\n" for n in range(60))
    assert shown(text, [leaf_with(text, "tool_9")]).startswith("success: true\n")
    text = text.replace("true", "true, so far")
    assert shown(text, [leaf_with(text, "tool_9")]).startswith("\u2026")


def test_left_out_fields_are_named_where_they_are_few_and_plain_words() -> None:
    def of(record: dict[str, str]) -> str:
        text = json.dumps({"id": "p1", **record, "city": "Oslo " * 40})
        return shown(text, [leaf_with(text, "Oslo")])

    assert "{id: p1, … 2 fields: email, dob …, city" in of({"email": "a" * 90, "dob": "b" * 90})
    assert "{id: p1, … 12 fields …, city" in of({f"field_{n}": "x" * 90 for n in range(12)})
    assert "{id: p1, … 2 fields …, city" in of({"a … b": "x" * 90, "c": "y" * 90})


def test_left_out_lines_are_named_by_their_numbers_where_they_have_any() -> None:
    first = shown(NUMBERED, [0])
    number = int(first.rpartition("… lines ")[2].partition("-")[0])
    assert first.startswith(NUMBERED[: NUMBERED.index(f"{number:6d}\t")])
    assert first.endswith(f"… lines {number}-89 …")


def test_the_years_of_a_series_are_no_line_numbers() -> None:
    text = shown(
        "\n".join(f"{year} the sum of it was {year * 7} in all" for year in range(1900, 1990)), [0]
    )
    assert text.endswith(" lines …")


def test_numbers_that_are_data_are_no_line_numbers() -> None:
    """Rows of a table that a program prints begin with numbers as well."""
    lines = [
        f"{17 * n % 400:4d}  0.{n:04d}31  trial-{n}  done in {n} seconds" for n in range(2, 90)
    ]
    text = shown("\n".join(sorted(lines)), [0])
    assert "lines " not in text.replace(" lines …", "")
    assert text.endswith(" lines …")


def test_left_out_lines_of_code_are_counted_and_the_others_keep_their_indentation() -> None:
    place = leaf_with(CODE, "return x * 15")
    text = shown(CODE, [place])
    assert text.startswith("… ")
    assert "\n    return x * 15 + 1\n" in text
    assert text.endswith(" lines …")


def test_records_in_lines_are_counted_where_nothing_of_them_is_shown() -> None:
    tools = "".join(
        f"- tool_name: tool_{n}\n  description: {'It works. ' * 20}\n  path: string\n"
        for n in range(6)
    )
    text = shown(tools, [leaf_with(tools, "tool_0"), leaf_with(tools, "tool_4")])
    between = "… 2 lines, 3 records …"
    expected = ["- tool_name: tool_0", between, "- tool_name: tool_4", "… 2 lines, 1 record …"]
    assert text.split("\n") == expected
    assert shown(tools, [leaf_with(tools, "tool_3")]).startswith(
        "… 3 records …\n- tool_name: tool_3"
    )


def test_rows_stand_under_their_head() -> None:
    place = leaf_with(TABLE, "77,name", "text/csv")
    text = shown(TABLE, [place], "text/csv").split("\n")
    assert text[0] == "id,name,city"
    assert "77,name number 77,Oslo" in text
    assert text[1].endswith(" of 200 rows …")


def test_a_paragraph_stands_under_its_heading() -> None:
    place = leaf_with(MARKED, "Words about part 4")
    text = shown(MARKED, [place])
    assert "## Part 4\n" in text
    assert text.index("## Part 4") < text.index("Words about part 4")


def test_nothing_chosen_is_one_mark() -> None:
    assert shown(CODE, ()) == f"… {len(CODE.splitlines())} lines …"
    assert re.fullmatch(r"… 3 paragraphs, \d+ sentences …", shown(PROSE, ()))  # two are headings


def test_headings_and_the_heads_of_tables_are_counted_where_they_are_left_out() -> None:
    table = "| id | name |\n|---|---|\n" + "".join(f"| {n} | name {n} |\n" for n in range(9))
    parts = [f"## Part {n}\n\n{table}\nshort line {n}\n\n" for n in range(9)]
    text = "# Title\n\n" + "".join(parts)
    told = shown(text, [leaf_with(text, "short line 4")])
    assert told.count("… 28 lines, 36 rows …") == 2  # four parts of 16 lines, on either side


@pytest.mark.parametrize("text", [CODE, NUMBERED, PROSE, MARKED])
def test_everything_chosen_is_the_text(text: str) -> None:
    made = outline(text)
    assert assembled_text(text, made, range(leaf_count(made.root))) == text.rstrip("\n")


def test_json_is_shown_without_the_quotes_that_it_can_do_without() -> None:
    made = outline(RECORDS)
    assert assembled_text(RECORDS, made, range(leaf_count(made.root))) == unquoted(RECORDS)


@settings(max_examples=60)
@given(st.sampled_from([CODE, NUMBERED, PROSE, MARKED]), st.data())
def test_what_is_shown_has_all_chosen_and_stands_in_the_text_in_the_same_order(
    text: str, data: st.DataObject
) -> None:
    made = outline(text)
    numbers = st.integers(0, leaf_count(made.root) - 1)
    chosen = data.draw(st.sets(numbers, max_size=8))
    shown = assembled_text(text, made, chosen)
    place = 0
    for piece in re.split(r"… [^…\n]+ …|\n", shown):
        if piece.strip():
            place = text.index(piece.strip(), place)
    for number, leaf in enumerate(leaves(made.root)):
        assert number not in chosen or text[leaf.start : leaf.end].strip() in shown
