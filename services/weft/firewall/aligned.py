"""Tables whose columns are parted by blanks, as `kubectl get`, `docker ps`, `ps` and `df` print
them: a header, and a line for each row. Frames of numbers, as data libraries print them, have
names in small letters, and often a column without a name in front."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from operator import or_

MIN_ROWS = 7
"""With fewer rows, blanks may line up by chance."""
MIN_COLUMNS = 3
_LOOK = 200
"""How many lines decide where the columns are."""
_WIDEST = 1_000
"""Characters of a line that are looked at."""
_NAME = re.compile(r"[A-Z%#]\S{0,30}(?: \S{1,20}){0,2}")
"""A column's name as programs print it."""
_FULL_ROWS, _FULL = 0.8, 0.6
"""At least this share of the rows has a value in at least this share of the columns."""


_SMALL_NAME = re.compile(r"[^\W\d][\w.%()/-]{0,60}")
"""A column's name in a frame of numbers."""
_NUMBER = re.compile(r"[-+]?(?:\d[\d.,_]*(?:[eE][-+]?\d+)?%?|[Nn]a[Nn]|inf)")
_NUMBERS = 0.5
"""More of the cells than this share are numbers in a frame of numbers."""


def is_aligned(lines: Sequence[str]) -> bool:
    """Whether these lines are such a table. The first one is the header."""
    if len(lines) <= MIN_ROWS:
        return False
    return _columns_of(lines) is not None or _words_in_front(lines) is not None


def table_of(lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the cells of each row; none if the lines are no table, or one
    of them does not have a cell for each column of a frame."""
    spans = _columns_of(lines) if len(lines) > MIN_ROWS else None
    if spans is not None:
        header, *rows = ([line[one].strip() for one in spans] for line in lines)
        return header, rows
    front = _words_in_front(lines)
    if front is None:
        return [], []
    names, *words = map(_words, lines)
    if any(len(row) != front + len(names) or set(row) <= _LEFT_OUT for row in words):
        return [], []  # a cell of two words, or rows that were left out: nothing holds of all rows
    return names, [row[front:] for row in words]


def without_size(lines: Sequence[str]) -> tuple[list[str], int | None]:
    """The lines without the one in brackets below a frame that tells its size, and the number of
    rows that it tells; None without it."""
    told = _SIZE.fullmatch(lines[-1].strip()) if lines else None
    return (list(lines), None) if told is None else (list(lines[:-1]), int(told[1]))


_LEFT_OUT = {"..", "..."}
_SIZE = re.compile(r"\[(\d{1,12}) rows x \d{1,6} columns\]")


def _columns_of(lines: Sequence[str]) -> list[slice] | None:
    """Where the columns of these lines are, if all lines have a blank between two columns."""
    if not _names_columns(lines[0][:_WIDEST]):
        return None
    header, *rows = (line[:_WIDEST] for line in lines[:_LOOK])
    if "\t" in header or any("\t" in row for row in rows):
        return None
    # More rows can only fill gaps.
    if len(_spans(header, rows[:MIN_ROWS])) < MIN_COLUMNS:
        return None
    spans = _spans(header, rows)
    if len(spans) < MIN_COLUMNS:
        return None
    bounds = [start for start, _ in spans] + [_WIDEST]
    found = [slice(start, end) for start, end in pairwise(bounds)]
    found[-1] = slice(bounds[-2], None)
    if not all(_NAME.fullmatch(header[one].strip()) for one in found):
        return None
    full = sum(sum(bool(row[one].strip()) for one in found) >= _FULL * len(found) for row in rows)
    return found if full >= _FULL_ROWS * len(rows) else None


def _words_in_front(lines: Sequence[str]) -> int | None:
    """How many cells without a name, 0 or 1, are in front of each row of a frame of numbers; None
    if the lines are none. Names and cells are single words."""
    names = _words(lines[0]) if lines else []
    if len(names) < MIN_COLUMNS or len(set(names)) < len(names):
        return None
    if not all(map(_SMALL_NAME.fullmatch, names)):
        return None
    rows = [*map(_words, without_size(lines[1:_LOOK])[0])]
    for front in (0, 1):
        fitting = [row[front:] for row in rows if len(row) == front + len(names)]
        if len(fitting) >= max(MIN_ROWS, _FULL_ROWS * len(rows)):
            numbers = sum(_NUMBER.fullmatch(cell) is not None for row in fitting for cell in row)
            return front if numbers > _NUMBERS * len(fitting) * len(names) else None
    return None


def _words(line: str) -> list[str]:
    return line.split()


def _names_columns(header: str) -> bool:
    """Whether enough words could be names: most texts are ruled out by their first line."""
    words = header.split()
    names = sum(word[0].isupper() or word[0] in "%#" for word in words)
    return names >= MIN_COLUMNS and 2 * names >= len(words)


def _spans(header: str, rows: Sequence[str]) -> list[tuple[int, int]]:
    """Begin and end of each stretch in which no position is blank in all lines. What has no name,
    or nothing below its name, belongs to the column before."""
    width = max(map(len, (header, *rows)))
    filled, named = _filled(rows, width), _filled([header], width)
    runs = (run.span() for run in re.finditer(rb"\x01+", bytes(map(or_, filled, named))))
    return [(start, end) for start, end in runs if 1 in filled[start:end] and 1 in named[start:end]]


def _filled(lines: Sequence[str], width: int) -> bytearray:
    """1 for each position at which some line has no blank."""
    found = bytearray(width)
    for start, end in {word.span() for line in lines for word in re.finditer(r"\S+", line)}:
        found[start:end] = b"\1" * (end - start)
    return found
