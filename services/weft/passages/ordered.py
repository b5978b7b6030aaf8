"""Whether rows or records fall by a number or a date: a ranking, or a list with the newest first. A
reader takes the first entry that a cut list shows for the first of the whole list."""

from __future__ import annotations

import re
from collections.abc import Iterable

MIN_ORDERED = 5
"""Fewer rows often fall by chance."""
_MIN_VALUES = 4
"""Least different values of a column that falls: a flag may come first by chance."""
_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d,]*(?:\.\d+)?\s?%?")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?[\w.+:-]*)?)?")
_NO_DIGIT = re.compile(r"\D")
_DIGITS = 14
"""Of a date and time to the second."""


def falls(column: Iterable[str]) -> bool:
    """Whether these cells are numbers or dates that never rise. Reading stops at the first that
    does."""
    last, different = float("inf"), 0
    for cell in column:
        value = _measure(cell.strip('" \t\n'))
        if value is None or value > last:
            return False
        different += value != last
        last = value
    return different >= _MIN_VALUES


def _measure(cell: str) -> float | None:
    """A number, or a date as one; None for other cells."""
    if _DATE.fullmatch(cell):
        return float(_NO_DIGIT.sub("", cell)[:_DIGITS].ljust(_DIGITS, "0"))
    if _NUMBER.fullmatch(cell):
        return float(cell.translate(_SIGNS))
    return None


_SIGNS = str.maketrans("", "", "$€£,% ")
"""Signs around the digits of a number."""
