"""How a day is written in prompts and messages: `8 May 2023`, in English on every machine, which
costs half the tokens of a numeric date."""

from __future__ import annotations

import re
from functools import lru_cache

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?!\d)", re.ASCII)


@lru_cache(maxsize=4096)
def day_of(occurred_at: str | None) -> str:
    """The date part of an RFC 3339 time, empty where there is none."""
    found = _DATE.match(occurred_at) if occurred_at else None
    return found[0] if found and 1 <= int(found[2]) <= 12 else ""


def written(day: str, previous: str = "") -> str:
    """A day as `day_of` gives it, without the year where the previous day had the same."""
    year, month, date = day.split("-")
    text = f"{int(date)} {MONTHS[int(month) - 1]}"
    return text if previous[:4] == year else f"{text} {year}"
