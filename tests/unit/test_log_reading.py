"""Times of the server, to the nanosecond."""

import pytest

from weft.log.reading import nanoseconds


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("2026-11-21T22:38:39.191433352Z", 1_795_300_719_191_433_352),
        ("2026-11-21T22:38:39.000000001Z", 1_795_300_719_000_000_001),
    ],
)
def test_no_nanosecond_is_lost(time: str, expected: int) -> None:
    assert nanoseconds(time) == expected
