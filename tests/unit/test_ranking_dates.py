"""The times that a query names, and what is near them."""

import pytest

from weft.compiler.profiles import NEAR_AFTER
from weft.compiler.ranking.dates import PartialDate, dates_in, nearness

NOON_ON_3_JUNE = 1_685_793_600_000_000_000


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("What did she say on 3 June, 2023?", [PartialDate(2023, 6, 3)]),
        ("Who came on June 3rd?", [PartialDate(None, 6, 3)]),
        ("the 21st of december", [PartialDate(None, 12, 21)]),
        ("logs of 2024-05-20 and 2024-06", [PartialDate(2024, 5, 20), PartialDate(2024, 6, None)]),
        (
            "Where were we in May 2022, and in Oct?",
            [PartialDate(2022, 5, None), PartialDate(None, 10, None)],
        ),
        ("Since 2021", [PartialDate(2021, None, None)]),
        ("You may march on, it costs 2023 euros", []),
    ],
)
def test_days_months_and_years_are_found(text: str, times: list[PartialDate]) -> None:
    assert list(dates_in(text)) == times


@pytest.mark.parametrize(
    ("time", "near"),
    [
        (PartialDate(2023, 6, 3), 1.0),
        (PartialDate(None, 6, 3), 1.0),
        (PartialDate(2023, 6, 1), NEAR_AFTER),
        (PartialDate(2023, 6, 4), 0.0),
        (PartialDate(2022, 6, 3), 0.0),
        (PartialDate(None, 6, None), 1.0),
        (PartialDate(None, 7, None), 0.0),
        (PartialDate(2023, 2, 31), 0.0),
    ],
)
def test_an_item_is_near_the_time_and_somewhat_in_the_days_after(
    time: PartialDate, near: float
) -> None:
    assert nearness([time], "2023-06-03T09:00:00Z", 0) == near
    assert nearness([time], "", NOON_ON_3_JUNE) == near


@pytest.mark.parametrize("written", ["2023-06-31T00:00:00Z", "0000-01-01"])
def test_a_day_that_is_none_is_near_nothing(written: str) -> None:
    assert nearness([PartialDate(None, None, None)], written, 0) == 0.0
