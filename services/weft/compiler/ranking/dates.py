"""The dates that a query names (a day, a month or a year), and how near an item is to them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from functools import lru_cache

import msgspec

from weft.compiler.profiles import DAYS_AFTER, NEAR_AFTER, NEAR_YEAR
from weft.days import MONTHS, day_of, month_number

_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_YEAR = r"(?:,?\s+(?P<year>(?:19|20)\d\d))?"
_WRITTEN = (
    re.compile(rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)?\s+(?P<month>{_MONTH})\b{_YEAR}", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\s+(?P<day>\d\d?)(?:st|nd|rd|th)?\b{_YEAR}", re.I),
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b"),
    # `May` and `March` are words too; a preposition or a year makes them months.
    re.compile(rf"\b(?:in|of|since|by|during|until|last)\s+(?P<month>{_MONTH})\b{_YEAR}", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\s+(?P<year>(?:19|20)\d\d)\b", re.I),
    re.compile(r"\b(?:in|of|since|by|during)\s+(?P<year>(?:19|20)\d\d)\b(?!-)", re.I),
)


class PartialDate(msgspec.Struct, frozen=True):
    """A day, a month or a year; None stands for any, and a day has its month."""

    year: int | None
    month: int | None
    day: int | None


@lru_cache(maxsize=256)
def dates_in(text: str) -> tuple[PartialDate, ...]:
    """The dates that a text names, by the form in which they are written."""
    found: dict[PartialDate, None] = {}
    taken = bytearray(len(text))
    for form in _WRITTEN:
        for match in form.finditer(text):
            start, end = match.span()
            if not taken[start]:
                taken[start:end] = b"\1" * (end - start)
                found[_partial_date(match.groupdict())] = None
    return tuple(found)


def nearness(dates: Iterable[PartialDate], occurred_at: str, published_ns: int) -> float:
    """1 for an item from one of these dates, by `occurred_at` or else the time of publishing; less
    for one from a few days after; else 0."""
    written = day_of(occurred_at)
    try:
        then = date.fromisoformat(written) if written else _published(published_ns)
    except ValueError:
        return 0.0
    return max((_nearness(one, then) for one in dates), default=0.0)


def _published(nanoseconds: int) -> date:
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).date()


def _nearness(one: PartialDate, then: date) -> float:
    if one.year not in (None, then.year):
        return 0.0
    if one.month is None:
        return NEAR_YEAR
    if one.day is None:
        return float(one.month == then.month)
    try:
        after = (then - date(then.year, one.month, one.day)).days
    except ValueError:
        return 0.0
    return 1.0 if after == 0 else NEAR_AFTER * (0 < after <= DAYS_AFTER)


def _partial_date(held: dict[str, str | None]) -> PartialDate:
    month = held.get("month")
    return PartialDate(
        int(year) if (year := held.get("year")) else None,
        _number_of(month) if month else None,
        int(day) if (day := held.get("day")) else None,
    )


def _number_of(month: str) -> int | None:
    return int(month) if month.isdigit() else month_number(month)
