"""Tables written as text: rows under their head."""

from collections.abc import Iterator

import pytest

from weft.passages.part import Part, leaves
from weft.passages.prose import split_prose
from weft.passages.table import HEAD, LONG, OUTLIERS, split_table

CSV = "id,name,city\n" + "".join(f"{n},name {n},Oslo\n" for n in range(60))
RULED = "| id | name |\n|----|------|\n" + "".join(f"| {n} | name {n} |\n" for n in range(60))


@pytest.mark.parametrize(
    ("text", "content_type", "head"),
    [
        (CSV, "text/csv", "id,name,city\n"),
        (CSV.replace(",", "\t"), "text/tab-separated-values", "id\tname\tcity\n"),
        (RULED, "", "| id | name |\n|----|------|\n"),
    ],
)
def test_rows_stand_under_their_head(text: str, content_type: str, head: str) -> None:
    made = split_table(text, content_type)
    assert made is not None
    assert text[: made.opening] == head
    assert sum(row.count for row in leaves(made)) == 60
    assert text[made.opening :] == "".join(text[row.start : row.end] for row in leaves(made))


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        (CSV, ""),
        (CSV, "text/plain"),
        ("a,b\n1,2\n", "text/csv"),
        ("one\n" * 20, "text/csv"),
        ('a,b,c\nx,"y\n' + "z\n" * 200, "text/csv"),
        ("NAME\nSIZE\n", "text/x-aligned-table"),
    ],
)
def test_what_is_no_table_is_not_taken_for_one(text: str, content_type: str) -> None:
    assert split_table(text, content_type) is None


QUOTED = "id,name,note\n" + "".join(
    f'{n},name {n},"the first line {n}\n\nthe ""second"" line, and more"\n' for n in range(60)
)
PODS = "NAME    READY   STATUS             AGE\n" + "".join(
    f"web-{n:03d} {'0/1' if n in (31, 44) else '1/1'}     "
    f"{'CrashLoopBackOff' if n in (31, 44) else 'Running         '}   {n % 40}d\n"
    for n in range(60)
)
MYSQL = "+-----+--------+\n| id  | state  |\n+-----+--------+\n" + "".join(
    f"| {n:3d} | {'failed' if n == 31 else 'paid  '} |\n" for n in range(60)
)
MYSQL += "+-----+--------+\n"
BOX = MYSQL.translate(str.maketrans("|-+", "│─┼"))
GRID = MYSQL.replace("  |\n|", "  |\n+-----+--------+\n|")


def rows_of(part: Part, text: str) -> list[str]:
    return [text[row.start : row.end] for row in leaves(part)]


def test_a_record_with_line_breaks_in_quotes_is_one_row() -> None:
    made = split_table(QUOTED, "text/csv")
    assert made is not None
    assert QUOTED[: made.opening] == "id,name,note\n"
    assert sum(row.count for row in leaves(made)) == 60
    assert all(text[:1].isdigit() and text.endswith('"\n') for text in rows_of(made, QUOTED))


def test_a_long_row_is_split_into_its_lines_below_the_first() -> None:
    cell = "".join(f"line {n} of a long text\n" for n in range(40))
    text = "id,note\n" + "".join(f'{n},"begins\n{cell}"\n' for n in range(6))
    made = split_table(text, "text/csv")
    assert made is not None
    assert len(made.children) == 6
    for number, row in enumerate(made.children):
        assert text[row.start : row.start + row.opening] == f'{number},"begins\n'
        assert sum(line.count for line in row.children) == 41
        assert max(line.size for line in leaves(row)) <= LONG
        assert (row.children[0].start, row.children[-1].end) == (row.start + row.opening, row.end)


@pytest.mark.parametrize(
    ("text", "content_type", "head", "differs"),
    [
        (PODS, "text/x-aligned-table", 1, ["web-031", "web-044"]),
        (MYSQL, "text/x-markdown-table", 3, ["|  31 | failed"]),
        (GRID, "text/x-markdown-table", 3, ["|  31 | failed"]),
        (BOX, "text/x-log", 3, ["│  31 │ failed"]),
        (CSV.replace("31,name 31,Oslo", "31,name 31,Rome"), "text/csv", 1, ["31,name 31,Rome"]),
    ],
)
def test_rows_that_differ_are_shown_with_any_other(
    text: str, content_type: str, head: int, differs: list[str]
) -> None:
    made = split_table(text, content_type)
    assert made is not None
    assert text[: made.opening] == "".join(text.splitlines(keepends=True)[:head])
    assert sum(row.count for row in leaves(made)) == 60
    shown = [text[row.start : row.end] for row in leaves(made) if row.identifies]
    assert len(shown) == len(differs) <= OUTLIERS
    assert all(row.startswith(one) for row, one in zip(shown, differs, strict=True))


def test_a_table_in_the_middle_of_a_text_has_its_header() -> None:
    text = f"# Report\n\nThe bills of May:\n\n{RULED}\nThat is all.\n\n# Next\n\n{RULED}"
    tables = [part for part in _all(split_prose(text)) if part.unit == "table"]
    assert len(tables) == 2
    for part in tables:
        assert text[part.start : part.start + part.opening] == "| id | name |\n|----|------|\n"
        assert sum(row.count for row in leaves(part)) == 60


def _all(part: Part) -> Iterator[Part]:
    yield part
    for child in part.children:
        yield from _all(child)


def test_a_header_with_several_rules_below_it_ends_at_the_first_row() -> None:
    text = "| a | b |\n+---+---+\n+---+---+\n" + "".join(f"| {n} | x |\n" for n in range(30))
    made = split_table(text, "")
    assert made is not None
    assert text[: made.opening].count("\n") == 3
    assert text[made.opening :] == "".join(text[row.start : row.end] for row in leaves(made))


def table(rows: list[str]) -> Part:
    part = split_table("NAME   READY   NODE\n" + "\n".join(rows) + "\n", "text/x-aligned-table")
    assert part is not None
    return part


def test_a_share_of_few_values_is_no_date() -> None:
    rows = [f"pod-{n * 7919}   1/1   ip-{n * 31}" for n in range(30)]
    rows[17] = "pod-odd   0/1   ip-5"
    text = "NAME   READY   NODE\n" + "\n".join(rows) + "\n"
    found = [text[one.start : one.end].strip() for one in table(rows).children if one.identifies]
    assert found == [rows[17]]


def test_names_of_which_most_stand_there_once_make_no_row_differ() -> None:
    names = ["ann", "bob", "cem", "ann", "bob", "dee", "eve", "ann", "bob", "ann", "bob", "fay"]
    rows = [f"task-{n * 7919}   {name}   ip-{n * 31}" for n, name in enumerate(names)]
    assert not any(one.identifies for one in table(rows).children)


@pytest.mark.parametrize(
    "values",
    [
        ["31.00", "11.70", "11.52", "11.40", "11.40", "9.10", "2.35"],
        ["9,120", "4,411", "880", "61", "14", "3", "-2"],
        ["2025-11-09", "2025-11-05", "2025-11-02", "2025-10-30", "2025-09-30", "2024-01-12"],
    ],
)
def test_the_first_rows_stand_out_where_rows_fall_by_a_number_or_date(values: list[str]) -> None:
    rows = [f"{'p' * 30}{n * 7919 % 11}   {value}   {'n' * 60}" for n, value in enumerate(values)]
    found = [one.is_outlier for one in table(rows).children]
    assert found == [True] * HEAD + [False] * (len(values) - HEAD)


@pytest.mark.parametrize("values", ["1 2 3 4 5 6", "6 5 4 3 2 7", "1 1 1 0 0 0", "9 8 x 7 6 5"])
def test_no_row_stands_out_where_rows_do_not_fall(values: str) -> None:
    rows = [f"{'p' * 30}   {value}   {'n' * 60}" for value in values.split()]
    assert not any(one.is_outlier for one in table(rows).children)


def severities(marks: dict[int, str], title: str) -> tuple[str, Part]:
    rows = [f"package-{n}  {marks.get(n, 'low')}  {title}" for n in range(60)]
    text = "NAME  SEVERITY  TITLE\n" + "\n".join(rows) + "\n"
    made = split_table(text, "text/x-aligned-table")
    assert made is not None
    return text, made


def test_long_rows_that_differ_are_shown_with_any_other_only_as_far_as_a_few_fit() -> None:
    """All of them beside a wide header would not fit: then no row would be shown."""
    marks = {7: "high", 23: "high", 31: "critical", 44: "high"}
    text, made = severities(marks, "a long title of a row " * 6)
    found = {text[one.start : one.end].split()[0]: one for one in made.children}
    odd = [name for name, one in found.items() if one.identifies or one.is_outlier]
    assert odd == [f"package-{n}" for n in marks]
    assert [name for name, one in found.items() if one.identifies] == ["package-31"]


def test_short_rows_that_differ_are_all_shown_with_any_other() -> None:
    marks = {7: "high", 23: "high", 31: "critical", 44: "high"}
    text, made = severities(marks, "short")
    found = [text[one.start : one.end].split()[0] for one in made.children if one.identifies]
    assert found == [f"package-{n}" for n in marks]
