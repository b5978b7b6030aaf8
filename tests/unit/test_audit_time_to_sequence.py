"""Times as users write them."""

import pytest

from weft.audit.time_to_sequence import parse_time
from weft_schemas.errors import InvalidInput

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", SECOND),
        ("1970-01-01T00:00:01z", SECOND),
        ("1970-01-01T01:00:01+01:00", SECOND),
        ("1970-01-01T00:00:01", SECOND),
        ("1970-01-02", 86_400 * SECOND),
        ("1970-01-01T00:00:00.000123Z", 123_000),
    ],
)
def test_a_time_is_in_nanoseconds_since_1970(text: str, expected: int) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-01", "12:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="neither a sequence nor a time"):
        parse_time(text)
