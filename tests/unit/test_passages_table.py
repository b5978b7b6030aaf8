"""Tables written as text: rows under their head."""

import pytest

from weft.passages.part import leaves
from weft.passages.table import split_table

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
        ("a,b,c\n" + 'x,"y\nz",1\n' * 9, "text/csv"),
    ],
)
def test_what_is_no_table_is_not_taken_for_one(text: str, content_type: str) -> None:
    assert split_table(text, content_type) is None
