"""Tables written as text: rows under their header."""

from __future__ import annotations

from weft.passages.part import Part

LEAF = 160
"""Short rows are joined up to this many characters."""
LEAST_ROWS = 4

_RULE = frozenset("|-:+= \t\r\n")
"""Characters of the line between a table's header and its rows."""
_DELIMITED = ("\t", ",", ";", "|")


def split_table(text: str, content_type: str) -> Part | None:
    """The parts of a text that is one table, None if it is not.

    A text counts as a table if its `content_type` says so, or if its second line is a rule.
    """
    lines = text.splitlines(keepends=True)
    if len(lines) < LEAST_ROWS + 1:
        return None
    ruled = "|" in lines[0] and "---" in lines[1] and _RULE.issuperset(lines[1])
    if not ruled and content_type not in ("text/csv", "text/tab-separated-values"):
        return None
    if not ruled and not _is_delimited(lines):
        return None
    head = len(lines[0]) + (len(lines[1]) if ruled else 0)
    return Part(0, len(text), "table", 1, head, 0, False, tuple(_rows(lines, head, 1 + ruled)))


def _is_delimited(lines: list[str]) -> bool:
    """Whether rows have as many columns as the header; a row with line breaks in quotes does
    not."""
    mark = max(_DELIMITED, key=lines[0].count)
    wanted = lines[0].count(mark)
    return wanted > 0 and all(line.count(mark) >= wanted for line in lines if line.strip())


def _rows(lines: list[str], start: int, first: int) -> list[Part]:
    rows: list[Part] = []
    for line in lines[first:]:
        end = start + len(line)
        last = rows[-1] if rows else None
        if last and end - last.start <= LEAF:
            rows[-1] = Part(last.start, end, "row", last.count + 1)
        else:
            rows.append(Part(start, end, "row"))
        start = end
    return rows
