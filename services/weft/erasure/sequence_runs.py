"""Sets of sequences as runs: pairs of a first and a last one, in order, that do not touch. An
event may state any pair of numbers, so runs are never expanded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

Run = tuple[int, int]


def runs_of(sequences: Iterable[int]) -> list[Run]:
    """The runs of some sequences. If these rise, no more is held than the runs."""
    made: list[Run] = []
    for one in sequences:
        if made and one == made[-1][1] + 1:
            made[-1] = (made[-1][0], one)
        else:
            made.append((one, one))
    return merged(made)


def merged(runs: Iterable[Run]) -> list[Run]:
    """The union of any runs. One that ends before it begins holds nothing."""
    made: list[Run] = []
    for first, last in sorted(run for run in runs if run[0] <= run[1]):
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(last, made[-1][1]))
        else:
            made.append((first, last))
    return made


def size(runs: Iterable[Run]) -> int:
    """How many sequences merged runs hold."""
    return sum(last - first + 1 for first, last in runs)


def holds(runs: Sequence[Run], sequence: int) -> bool:
    """Whether merged runs hold a sequence."""
    at = bisect_right(runs, sequence, key=lambda run: run[0])
    return at > 0 and sequence <= runs[at - 1][1]


def minus(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    """The sequences that the first runs hold and the others do not; both are merged."""
    made: list[Run] = []
    start = 0
    for first, last in runs:
        while start < len(others) and others[start][1] < first:
            start += 1
        at = start
        while at < len(others) and others[at][0] <= last:
            if first < others[at][0]:
                made.append((first, others[at][0] - 1))
            first = others[at][1] + 1
            at += 1
        if first <= last:
            made.append((first, last))
    return made


def without_oldest(runs: Sequence[Run], count: int, before: int) -> list[Run]:
    """Without the `count` smallest sequences, of those below `before`."""
    made: list[Run] = []
    for first, last in runs:
        gone = max(0, min(count, min(last + 1, before) - first))
        count -= gone
        if first + gone <= last:
            made.append((first + gone, last))
    return made
