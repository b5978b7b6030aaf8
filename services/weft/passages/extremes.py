"""Finds the rows whose number or duration is far from all others: the transaction that is open for
an hour among those of seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import quantiles

from weft.passages.outliers import MIN_COMPARED

_FAR = 3.0
"""Interquartile ranges from the nearest quartile beyond which a value is far out (Tukey,
Exploratory Data Analysis, 1977)."""
_EACH = 8
"""Of this many rows, one at most may be far out; more are no exceptions."""
_COMPARED = 4_000
"""Most rows that are compared."""
_NUMBER = re.compile(r"([-+]?\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,15})?)\s?([^\W\d]{0,8}|%)")
"""A number with its unit, the same in all rows."""
_DURATION = re.compile(r"(?:(\d{1,4}) days? )?(\d{1,4}):(\d\d)(?::(\d\d(?:\.\d{1,9})?))?")


def far_out(cells: Sequence[Sequence[str]]) -> list[int]:
    """The indices of the rows with a value that is far out in a column of numbers or durations, the
    first columns and the farthest values first. `cells` are those of each row. O(n log n)."""
    if not MIN_COMPARED <= len(cells) <= _COMPARED:
        return []
    found: dict[int, None] = {}
    for place in range(min(map(len, cells))):
        column = [line[place] for line in cells]
        measured = _measured(column[:MIN_COMPARED]) and _measured(column)
        if measured:
            found.update(dict.fromkeys(_far(measured)))
    return list(found)


def _measured(column: Sequence[str]) -> dict[int, float]:
    """The numbers or durations of a column, by index; empty if a cell holds something else, and
    ones without a value are left out."""
    held = [(at, cell) for at, cell in enumerate(column) if cell]
    units: set[str] = set()
    values: dict[int, float] = {}
    for at, cell in held:
        if duration := _DURATION.fullmatch(cell):
            days, hours, minutes, seconds = (float(one or 0) for one in duration.groups())
            values[at], unit = ((days * 24 + hours) * 60 + minutes) * 60 + seconds, ":"
        elif number := _NUMBER.fullmatch(cell):
            values[at], unit = float(number[1].replace(",", "")), number[2]
        else:
            return {}
        units.add(unit)
        if len(units) > 1:
            return {}
    return values


def _far(values: dict[int, float]) -> list[int]:
    if len(values) < MIN_COMPARED:
        return []
    first, _, third = quantiles(values.values(), method="inclusive")
    room = _FAR * (third - first)
    beyond = {at: max(first - room - one, one - third - room) for at, one in values.items()}
    far = [at for at, by in beyond.items() if by > 0]
    if not room or len(far) * _EACH > len(values):
        return []
    return sorted(far, key=lambda at: (-beyond[at], at))
