"""The line that a stub tells of a text."""

from __future__ import annotations

import json

import pytest

from weft.compiler.renditions.stub_line import MAX_CURSOR, beside_list, first_line
from weft.passages.literals import decoded
from weft.passages.splitting import outline_of

ERROR = "2025-06-11T14:35:55.921Z ERROR payments db: acquiring connection: timeout after 3s"
REFUSED = "Only whole numbers can be entered as a reading, so this was refused by the form itself"


@pytest.mark.parametrize("text", [f"{ERROR}\n" * 40, json.dumps({"error": REFUSED, "rest": 1})])
def test_the_line_of_an_error_is_told_to_its_end(text: str) -> None:
    error = ERROR if text.startswith("2025") else REFUSED
    assert len(error) > 75
    assert error in first_line(decoded(text))


def test_an_error_that_is_too_long_is_cut_between_words() -> None:
    said = first_line(decoded(f"{ERROR} {'and so on ' * 20}\n" * 40))
    assert said
    assert ERROR.startswith(said)
    assert ERROR[len(said)] == " "


def test_another_line_is_cut_as_before() -> None:
    said = first_line(
        decoded(f"{ERROR.replace('ERROR', 'INFO').replace('timeout', 'done')}\n" * 40)
    )
    assert said == "2025-06-11T14:35:55.921Z INFO payments db: acquiring"


ORDERS = [{"order": f"O-{n}", "customer": f"customer number {n}", "count": 900} for n in range(40)]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"count": 3412, "next_page": "eyJvI", "items": ORDERS}, "count: 3412, next_page: eyJvI"),
        ({"items": ORDERS, "meta": {"total": 41, "page": 1}, "ok": True}, "total: 41"),
        (
            {"data": {"totalCount": 50, "list": ORDERS}, "has_more": True},
            "has_more: true, totalCount: 50",
        ),
        ({"data": {"totalCount": 50, "list": ORDERS}, "has_more": False}, "totalCount: 50"),
        ({"count": 40, "next": None, "items": ORDERS}, ""),  # these are all
        ({"items": ORDERS, "cursor": "a" * (MAX_CURSOR + 1)}, ""),
        (ORDERS, ""),
    ],
)
def test_of_a_list_it_tells_that_there_is_more(reply: object, told: str) -> None:
    text = json.dumps(reply)
    outline = outline_of(text)
    assert outline is not None
    assert beside_list(text, outline) == told


def test_of_a_table_it_tells_nothing_beside_its_rows() -> None:
    text = "count,next\n" + "".join(f"{n},{n + 1}\n" for n in range(90))
    outline = outline_of(text, "text/csv")
    assert outline is not None
    assert beside_list(text, outline) == ""
