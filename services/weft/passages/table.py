"""Tables written as text: rows under their header. Rows that differ from the others are shown with
any of them, or before them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec

from weft.passages.extremes import far_out
from weft.passages.ordered import MIN_ORDERED, falls
from weft.passages.outliers import rare_groups
from weft.passages.part import Part
from weft.passages.ruled import Ruled, is_rule, ruled_tables, with_plain_rules
from weft.passages.sequence_breaks import sequence_breaks

LEAF = 160
"""Short rows are joined up to this many characters."""
LONG = 640
"""A row of several lines with more characters than this is split into its lines."""
MIN_ROWS = 4
OUTLIERS = 4
"""Most rows that count as different from the others."""
MAX_OUTLIER_LENGTH = 240
"""Characters of such a row."""
ALWAYS_LENGTH = 240
"""Characters of those that are shown with any other row, the rarest first; the rest only come
before others. All together would not fit beside a wide table's header, so that no row was shown. Of
what the next step needs in 16 sessions that nobody tuned for, prompts of 1,000 tokens state .689
instead of .681 with this and with room for one row at least; with 160 it is .684."""
HEAD = 5
"""First rows of a ranking that come before its others, at most `MIN_ORDERED`. Of the facts in
made sessions, answers of 1,000 tokens state .003 more with the first part of a table and .009 more
with three, prompts of 2,000 and 4,000 as many as without or more."""
_LINES_OF_A_CELL = 60
"""With more lines in quotes than this, a quote does not open a cell."""
_FIT = 0.8
"""At least this share of the records has as many cells as the header."""

CSV = "text/csv"
TSV = "text/tab-separated-values"
ALIGNED = "text/x-aligned-table"
_DELIMITED = ("\t", ",", ";", "|")
_GAP = re.compile(r" {2,}")
_NO_DIGITS = str.maketrans("", "", "0123456789")


class Row(NamedTuple):
    """A row of a table: its place, and its cells as far as they are compared with others."""

    start: int
    end: int
    cells: Sequence[str] = ()


def split_table(text: str, content_type: str) -> Part | None:
    """The parts of a text that is one table, None if it is not.

    A text counts as a table if its `content_type` says so, or if all of it is drawn with rules.
    """
    lines = text.splitlines(keepends=True)
    if len(lines) < MIN_ROWS + 1:
        return None
    if content_type == ALIGNED:
        return _aligned(lines, _starts(lines))
    if content_type in (CSV, TSV):
        return _delimited(lines, _starts(lines))
    written = with_plain_rules(text)
    plain = lines if written is text else written.splitlines(keepends=True)
    if is_rule(plain[1]) or is_rule(plain[0]):
        found = ruled_tables(plain)
        if len(found) == 1 and (found[0].first, found[0].end) == (0, len(lines)):
            return ruled_part(plain, _starts(lines), found[0])
    return None


def _starts(lines: Sequence[str]) -> list[int]:
    """Where each line begins and where the last one ends."""
    return list(accumulate(map(len, lines), initial=0))


def ruled_part(lines: Sequence[str], starts: Sequence[int], table: Ruled) -> Part:
    """A table drawn with rules. `lines` are those of its text with plain rules, `starts` where each
    begins and where the last one ends."""
    last = table.end
    while last > table.rows and is_rule(lines[last - 1]):
        last -= 1
    begins = [at for at in range(table.rows, last) if not is_rule(lines[at])]
    rows = [
        Row(starts[at], starts[following], [*map(str.strip, lines[at].split("|"))])
        for at, following in pairwise([*begins, last])
    ]
    head = rows[0].start if rows else starts[table.rows]  # there may be several rules
    return _table(starts[table.first], head, rows, starts[table.end])


def _aligned(lines: Sequence[str], starts: Sequence[int]) -> Part | None:
    head = next((at for at, line in enumerate(lines) if line.strip()), 0) + 1
    rows = [
        Row(start, end, _GAP.split(line.strip()))
        for line, start, end in zip(lines[head:], starts[head:], starts[head + 1 :], strict=False)
    ]
    return _table(0, starts[head], rows, starts[-1]) if rows else None


def _delimited(lines: Sequence[str], starts: Sequence[int]) -> Part | None:
    """Records of CSV. A record with line breaks in quotes has several lines."""
    begins = _records(lines)
    mark = max(_DELIMITED, key=lines[0].count)
    wanted = lines[0].count(mark)
    if wanted == 0 or len(begins) < MIN_ROWS + 1:
        return None
    bounds = list(pairwise([*begins, len(lines)]))
    texts = ["".join(lines[first:last]) for first, last in bounds]
    filled = [text.count(mark) >= wanted for text in texts if text.strip()]
    if sum(filled) < _FIT * len(filled):
        return None
    rows = [
        Row(starts[first], starts[last], _cells(text, mark))
        for (first, last), text in zip(bounds[1:], texts[1:], strict=True)
    ]
    return _table(0, starts[begins[1]], rows, starts[-1], [*starts, starts[-1]])


def _records(lines: Sequence[str]) -> list[int]:
    """The number of the first line of each record: one outside of quotes."""
    begins: list[int] = []
    is_open = False
    for number, line in enumerate(lines):
        if not is_open or number - begins[-1] > _LINES_OF_A_CELL:
            begins.append(number)
            is_open = False
        is_open ^= line.count('"') % 2 == 1
    return begins


def _cells(record: str, mark: str) -> list[str]:
    if '"' not in record:
        return record.rstrip("\r\n").split(mark)
    try:
        return next(csv.reader([record], delimiter=mark), [])
    except csv.Error:
        return record.split(mark)


def _table(
    start: int, head: int, rows: Sequence[Row], end: int, breaks: Sequence[int] = ()
) -> Part:
    """A table whose header ends at `head`. `breaks` are where lines begin, if a row may have
    several."""
    parts: list[Part] = []
    outliers = _outlier_rows(rows)
    always = _first_fitting(rows, outliers)
    line, is_odd = 0, False
    for index, row in enumerate(rows):
        last = parts[-1] if parts else None
        joins = last is not None and not last.children and not is_odd
        is_odd = index in outliers
        if is_odd:
            parts.append(_odd(row, index in always))
        elif last is not None and joins and row.end - last.start <= LEAF:
            parts[-1] = Part(last.start, row.end, "row", last.count + 1)
        elif breaks and row.end - row.start > LONG:
            while breaks[line] <= row.start:
                line += 1
            parts.append(_long(row, breaks, line))
        else:
            parts.append(Part(row.start, row.end, "row"))
    closing = end - rows[-1].end if rows else 0
    shown = tuple(_with_head(parts, rows))
    return Part(start, end, "table", 1, head - start, closing, False, shown)


def _odd(row: Row, is_always: bool) -> Part:
    return Part(row.start, row.end, "row", identifies=is_always, is_outlier=not is_always)


def _with_head(parts: Sequence[Part], rows: Sequence[Row]) -> Sequence[Part]:
    """The same parts. Where the rows fall by a column, the first ones stand out."""
    places = range(min((len(row.cells) for row in rows), default=0))
    is_ranked = len(rows) >= MIN_ORDERED and any(
        falls(row.cells[place] for row in rows) for place in places
    )
    if not is_ranked:
        return parts
    head = rows[HEAD - 1].start
    return [
        msgspec.structs.replace(part, is_outlier=True) if part.start <= head else part
        for part in parts
    ]


def _long(row: Row, breaks: Sequence[int], line: int) -> Part:
    """A row of several lines, shown under its first one. `line` is the number of the second."""
    opening = breaks[line] - row.start
    children: list[Part] = []
    while breaks[line] < row.end:
        start, line = breaks[line], line + 1
        last = children[-1] if children else None
        if last is not None and breaks[line] - last.start <= LEAF:
            children[-1] = Part(last.start, breaks[line], "line", last.count + 1)
        else:
            children.append(Part(start, breaks[line], "line"))
    if not children:
        return Part(row.start, row.end, "row")
    return Part(row.start, row.end, "row", 1, opening, 0, False, tuple(children))


def _first_fitting(rows: Sequence[Row], indices: Sequence[int]) -> frozenset[int]:
    """The first of these rows, as many as fit together."""
    ends = accumulate(rows[index].end - rows[index].start for index in indices)
    fitting = zip(indices, ends, strict=True)
    return frozenset(index for index, end in fitting if end <= ALWAYS_LENGTH)


def _outlier_rows(rows: Sequence[Row]) -> Sequence[int]:
    """The indices of rows with a rare value, or with rare words beside a number: one with each,
    those at which the table leaves its order, those with a value far from all others, then the
    others."""
    cells = [row.cells for row in rows if row.cells]
    if len(cells) != len(rows):
        return ()
    worded = [[cell.translate(_NO_DIGITS) for cell in row] for row in cells]
    groups = [*rare_groups(cells, OUTLIERS), *rare_groups(worded, OUTLIERS)]
    firsts = [group[0] for group in groups]
    more = [index for group in groups for index in group[1:]]
    breaks = sequence_breaks(list(zip(*cells, strict=False)))
    short = [
        index
        for index in dict.fromkeys([*firsts, *breaks, *far_out(cells), *more])
        if rows[index].end - rows[index].start <= MAX_OUTLIER_LENGTH
    ]
    return short[:OUTLIERS]
