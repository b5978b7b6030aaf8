"""Finds the rows at which a list leaves its own order: the number that is missing, the departure
that comes two hours later instead of one, the step that is still open among those that are done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate, groupby, pairwise

from weft.passages.outliers import MIN_COMPARED

MAX_BREAKS = 2
"""More places at which a list leaves its order are no exceptions."""
MAX_COMPARED = 2_000
"""Most rows that are compared."""
_USUAL = 0.75
"""Least share of the steps that are the same."""
_STATES = 4
"""Most different values of a field whose runs are compared."""
_MIN_RUN = 3
"""Least rows on each side of an exception that have the same value."""
_NUMBERED = re.compile(r"(\D{0,40}(?:\d{1,8}\D{1,20}){0,3}?)(\d{1,15})(\D{0,20})")
"""A number, perhaps behind a name or another number and before a unit: `RE-4100`, `2026/0017`."""
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)(?:\.0+)?(Z|[+-]\d\d:?\d\d)?")
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_DAY = 24 * 60 * 60


def sequence_breaks(columns: Sequence[Sequence[str]]) -> list[int]:
    """The indices of the rows at which a column leaves its order, the first columns first. A column
    holds a cell for each row. Linear."""
    return _found_by(lambda column: _uneven_steps(column) or _interrupting(column), columns)


def uneven_steps(columns: Sequence[Sequence[str]]) -> list[int]:
    """The same of numbers and moments alone: words may alternate in any text."""
    return _found_by(_uneven_steps, columns)


def _found_by(
    breaks_of: Callable[[Sequence[str]], list[int]], columns: Sequence[Sequence[str]]
) -> list[int]:
    found: dict[int, None] = {}
    for column in columns:
        if MIN_COMPARED <= len(column) <= MAX_COMPARED:
            found.update(dict.fromkeys(breaks_of(column)))
    return list(found)


def _uneven_steps(column: Sequence[str]) -> list[int]:
    """The rows on both sides of each place at which numbers or moments do not go on by the step by
    which nearly all do; of one row out of order only itself. What begins anew has come round."""
    if not _usual_step(_steps(column[:MIN_COMPARED])):
        return []  # most columns
    steps = _steps(column)
    usual = _usual_step(steps)
    if not usual:
        return []
    breaks = [at for at, step in enumerate(steps) if step != usual and column[at + 1] != column[0]]
    if len(breaks) == 2 and breaks[1] == breaks[0] + 1:
        before, after = breaks
        if steps[before] + steps[after] in (usual, 2 * usual):
            return [after]  # around it, the list goes on
    return [side for at in breaks for side in (at, at + 1)] if len(breaks) <= MAX_BREAKS else []


def _usual_step(steps: Sequence[int]) -> int:
    """The step that nearly all have, 0 for none."""
    ((usual, count),) = Counter(steps).most_common(1) if steps else ((0, 0),)
    return usual if count >= _USUAL * len(steps) else 0


def _steps(column: Sequence[str]) -> list[int]:
    """The differences between neighbours; none if not all cells are numbers or moments of one
    form."""
    places = list(_places(column))
    if len(places) < len(column):
        return []
    is_time_of_day = _TIME.fullmatch(column[0].strip('"')) is not None
    steps = (after - before for before, after in pairwise(places))
    return [step % _DAY if is_time_of_day else step for step in steps]


def _places(column: Sequence[str]) -> Iterator[int]:
    """Each cell as a number, up to the first that has another form than the one before."""
    form: object = None
    for cell in column:
        measured = _measured(cell.strip('"'))
        if measured is None or form not in (None, measured[1]):
            return
        yield measured[0]
        form = measured[1]


def _measured(cell: str) -> tuple[int, object] | None:
    """A cell as a number, or as seconds, and the form that all cells of its column must have."""
    if moment := _MOMENT.fullmatch(cell):
        try:
            at = datetime.fromisoformat(moment[1])
        except ValueError:
            return None
        days, seconds = at.toordinal(), (at.hour * 60 + at.minute) * 60 + at.second
        return days * _DAY + seconds, (len(moment[1]), moment[2])
    if time := _TIME.fullmatch(cell):
        hours, minutes, seconds = (int(one or 0) for one in time.groups())
        return (hours * 60 + minutes) * 60 + seconds, ":"
    if numbered := _NUMBERED.fullmatch(cell):
        return int(numbered[2]), (numbered[1], numbered[3])
    return None


def _interrupting(column: Sequence[str]) -> list[int]:
    """Of a list in order of a field with few values, the rows whose value stands alone between
    others, and those on both sides of the place at which the field changes, if it does once."""
    if len(set(column[:MIN_COMPARED])) > _STATES or len(set(column)) > _STATES:
        return []
    runs = [(value, len(list(run))) for value, run in groupby(column)]
    ends = [0, *accumulate(length for _, length in runs)]
    alone = [
        at
        for at in range(1, len(runs) - 1)
        if runs[at][1] == 1
        and runs[at - 1][0] == runs[at + 1][0]
        and min(runs[at - 1][1], runs[at + 1][1]) >= _MIN_RUN
    ]
    # Without them, each value has one run.
    others = len(runs) - 2 * len(alone)
    if others != len(set(column)) or len(alone) > MAX_BREAKS:
        return []
    found = [ends[at] for at in alone]
    if others == 2:
        changed = next(at for at in range(1, len(runs)) if at not in alone and at - 1 not in alone)
        if min(ends[changed], len(column) - ends[changed]) >= _MIN_RUN:
            found += [ends[changed] - 1, ends[changed]]
    return found
