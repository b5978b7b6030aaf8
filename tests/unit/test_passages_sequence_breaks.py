"""Rows at which a list leaves its own order."""

import json
from collections.abc import Callable

import pytest

from weft.passages.outlier_lines import outlier_lines
from weft.passages.part import leaves
from weft.passages.sequence_breaks import MAX_BREAKS, sequence_breaks
from weft.passages.splitting import outline_of

HOURS = [f"2026-03-{2 + hour // 24:02}T{hour % 24:02}:00" for hour in range(40)]
STEPS = ["done"] * 6 + ["open"] + ["done"] * 8 + ["open"] * 12


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ([f"RE-{n}" for n in range(90, 130) if n != 104], [13, 14]),
        ([str(n) for n in (*range(30), *range(33, 50))], [29, 30]),
        ([f"2026/{n:04}" for n in (*range(9, 30), 31, *range(32, 40))], [20, 21]),
        ([*HOURS[:20], *HOURS[23:]], [19, 20]),
        ([f"2026-01-{day:02}" for day in (*range(1, 12), *range(14, 30))], [10, 11]),
        ([f"{hour % 24}:30" for hour in (*range(20, 34), *range(36, 40))], [13, 14]),
        ([*map(str, range(12)), "3", *map(str, range(13, 30))], [12]),
        ([*map(str, range(12)), "3", *map(str, range(12, 30))], [12]),
    ],
)
def test_the_rows_on_both_sides_of_an_uneven_step_are_found(
    column: list[str], found: list[int]
) -> None:
    assert list(dict.fromkeys(sequence_breaks([column]))) == found


def test_a_state_alone_among_others_is_found_and_where_the_list_changes() -> None:
    assert sequence_breaks([STEPS]) == [6, 14, 15]


@pytest.mark.parametrize(
    "column",
    [
        [str(n) for n in range(30)],
        HOURS,
        ["7"] * 20 + ["8"] * 2,  # it ends otherwise
        ["a", "b"] * 15,  # no order
        ["done"] * 10 + ["open", "late"] * 3 + ["done"] * 10,
        [str(n % 25) for n in range(60)],  # it comes round
        [str(n * n) for n in range(30)],  # no usual step
        [str(n) for n in range(40) if n % 10 != 3],  # more than a few are missing
        [f"1{n}0.25" for n in range(9)],  # too few to tell
        ["2026-02-30", *(f"2026-03-{day:02}" for day in range(1, 20))],  # no date
        [*map(str, range(20)), "none", *map(str, range(21, 30))],
    ],
)
def test_a_list_without_order_or_exception_has_none(column: list[str]) -> None:
    assert MAX_BREAKS < 4
    assert sequence_breaks([column]) == []


ROWS = [(4100 + n + (n > 25), f"2026-01-{1 + n // 2:02}", f"{n * 37 % 100}.50") for n in range(50)]


@pytest.mark.parametrize(
    ("write", "content_type"),
    [
        (
            lambda rows: json.dumps(
                [dict(zip(("no", "on", "sum"), row, strict=True)) for row in rows]
            ),
            "",
        ),
        (lambda rows: "no,on,sum\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows), "text/csv"),
    ],
)
def test_records_and_rows_beside_a_missing_number_stand_out(
    write: Callable[[list[tuple[int, str, str]]], str], content_type: str
) -> None:
    text = write(ROWS)
    outline = outline_of(text, content_type)
    assert outline is not None
    parts = leaves(outline.root)
    found = [text[one.start : one.end] for one in parts if one.is_outlier or one.identifies]
    numbers = [number for number, _, _ in ROWS if any(str(number) in one for one in found)]
    assert numbers == [4125, 4127]


def test_lines_beside_a_longer_wait_are_found_whatever_their_words() -> None:
    stops = ["north", "mill", "church", "square", "station", "park", "river", "gate"]
    minutes = [300 + 15 * n + (30 if n > 20 else 0) for n in range(40)]
    lines = [
        f"bus 12  at {at // 60:02}:{at % 60:02}  stop {stops[n % 8]}\n"
        for n, at in enumerate(minutes)
    ]
    assert outlier_lines(lines) == {20, 21}
