"""Rows whose number or duration is far from all others."""

import pytest

from weft.passages.extremes import far_out
from weft.passages.part import leaves
from weft.passages.table import split_table

SECONDS = [f"00:00:{n:02}.{n * 37}" for n in range(10, 36)]


def rows(values: list[str]) -> list[list[str]]:
    return [[f"name {n}", value] for n, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "far"),
    [
        ([*SECONDS[:9], "00:58:41.220", *SECONDS[9:]], [9]),
        ([*SECONDS[:9], "00:51:09.004", *SECONDS[9:], "2 days 00:00:01"], [27, 9]),
        ([*(f"{n} MB" for n in range(40, 60)), "1,940 MB"], [20]),
        ([*(f"{n}.5%" for n in range(40, 60)), "-99.5%"], [20]),
        (["", *map(str, range(40, 60)), "", "900"], [22]),
    ],
)
def test_a_value_far_from_all_others_is_found(values: list[str], far: list[int]) -> None:
    assert far_out(rows(values)) == far


@pytest.mark.parametrize(
    "values",
    [
        [str(n) for n in range(30)],  # evenly spread
        [str(2**n) for n in range(30)],  # many are far out
        ["1"] * 29 + ["900"],  # a rare value in a field with few
        [*map(str, range(29)), "none"],  # no numbers only
        [*(f"{n} MB" for n in range(29)), "9 GB"],  # two units
        [*map(str, range(8)), "900"],  # too few to tell
    ],
)
def test_other_values_are_not(values: list[str]) -> None:
    assert far_out(rows(values)) == []


def test_the_rows_of_a_table_are_shown_with_any_other() -> None:
    held = [*SECONDS[:9], "00:58:41.220", *SECONDS[9:]]
    text = "PID  AGE\n" + "".join(f"{n * 7919}  {value}\n" for n, value in enumerate(held))
    made = split_table(text, "text/x-aligned-table")
    assert made is not None
    shown = [text[row.start : row.end] for row in leaves(made) if row.identifies]
    assert shown == ["71271  00:58:41.220\n"]
