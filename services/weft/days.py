"""How a day is written in prompts and messages: `8 May 2023`, in English on every machine. This
costs half the tokens of a numeric date."""

from __future__ import annotations

import re
from functools import lru_cache

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_NUMBERS = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?!\d)", re.ASCII)


@lru_cache(maxsize=4096)
def day_of(occurred_at: str | None) -> str:
    """The date part of an RFC 3339 time, empty if there is none."""
    found = _DATE.match(occurred_at) if occurred_at else None
    return found[0] if found and 1 <= int(found[2]) <= 12 else ""


def day_text(day: str, previous: str = "") -> str:
    """A day from `day_of` in words, without the year if the previous day had the same."""
    year, month, date = day.split("-")
    text = f"{int(date)} {MONTHS[int(month) - 1][:3]}"
    return text if previous[:4] == year else f"{text} {year}"


def month_number(name: str) -> int | None:
    """The number, 1 to 12, of an English month that is written out or shortened to at least three
    letters."""
    return _NUMBERS.get(name[:3].lower())
