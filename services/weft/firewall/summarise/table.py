"""A table as its columns, described over all rows, and sample rows with counts of those between
them: the first and the last ones, and each that differs from all others."""

from __future__ import annotations

from itertools import zip_longest

from weft.firewall.columns import Column, column, outlier_records
from weft.firewall.summarise.budget import Budget, Piece, compose, shorten
from weft.firewall.tables import Table, as_number

_CELL = 60
"""Characters of a cell in a sample row."""
_OUTLIERS = 4
"""How many rows are shown because they differ from the others."""
_ROWS = 400
"""Samples are chosen among this many first rows."""


def summarise_table(table: Table, budget: Budget) -> str:
    """Number of rows, one line per column, then rows as CSV in their order."""
    columns = list(zip_longest(*table.rows, fillvalue=""))[: len(table.header)]
    columns += [()] * (len(table.header) - len(columns))
    described = [
        _column(name, list(map(str.strip, cells)))
        for name, cells in zip(table.header, columns, strict=True)
    ]
    start = [f"table: {table.total} rows x {len(table.header)} columns"]
    if table.before:
        start.insert(0, shorten(table.before, 300))
    outliers = outlier_records([known for known, _ in described], _OUTLIERS)
    # Statements about columns may take half; rows need the rest.
    lines = [line for _, line in sorted(described, key=lambda entry: not entry[0].outliers)]
    fitting = _fitting(lines, [*start, _row(table.header)], budget)
    shown = [line for _, line in described if line in fitting]
    head = "\n".join([*start, *shown, _row(table.header)])
    room = Budget(max(0, budget.limit - budget.count(head) - 1), budget.encoding)
    after = [Piece(len(table.rows), 60, shorten(table.after, 300), 0)] if table.after else []
    chosen = samples(len(table.rows), outliers).items()
    pieces = [Piece(index, worth, _row(table.rows[index])) for index, worth in chosen]
    rows = compose([*pieces, *after], room, "rows", len(table.rows))
    return budget.cut(f"{head}\n{rows}" if rows else head)


def _fitting(lines: list[str], start: list[str], budget: Budget) -> set[str]:
    """As many of the lines, in order, as fit in half of the budget."""
    room = budget.limit // 2 - sum(budget.count(line) + 1 for line in start)
    fitting: set[str] = set()
    for line in lines:
        cost = budget.count(line) + 1
        if cost <= room:
            room -= cost
            fitting.add(line)
    return fitting


def samples(count: int, outliers: list[int]) -> dict[int, float]:
    """The rows that may be shown, of so many, with their worth: those that differ are worth the
    most, then the first two and the last."""
    last = count - 1
    worth = {index: 60 - index * 0.05 for index in range(min(_ROWS, count))}
    worth |= {index: 90.0 - index for index in range(min(2, count))}
    if count > 2:
        worth[last] = 85.0
    return worth | dict.fromkeys(outliers, 95.0)


def _row(cells: list[str]) -> str:
    return ",".join(map(_cell, cells))


def _cell(text: str) -> str:
    short = shorten(text, _CELL)
    if "," in short or '"' in short:
        return '"' + short.replace('"', '""') + '"'
    return short


def _column(name: str, cells: list[str]) -> tuple[Column, str]:
    """The facts about a column, and the line that states them."""
    known = column(name, cells, range(len(cells)))
    return known, f"{shorten(name, _CELL)}: {_described(known, cells)}"


def _described(known: Column, cells: list[str]) -> str:
    missing = f", none ({known.total - known.filled})" if known.filled < known.total else ""
    if known.constant and known.counts is not None:
        return f"{next(iter(known.counts))} in all"
    filled = [cell for cell in cells if cell] if missing else cells
    extremes = _extremes(filled)
    if extremes and (known.counts is None or not known.outliers):
        return f"number {extremes}{missing}"
    if known.counts is not None:
        return ", ".join(f"{value} ({count})" for value, count in known.counts.items()) + missing
    return f"{len(set(filled))} different{missing}"


def _extremes(cells: list[str]) -> str:
    """The least and the greatest cell, if all are numbers."""
    if not cells or as_number(cells[0]) is None:
        return ""
    try:
        values = list(map(float, cells))
    except ValueError:
        # A thousands separator or a per cent sign, if it is not text.
        values = [value for cell in cells if (value := as_number(cell)) is not None]
        if len(values) < len(cells):
            return ""
    return f"{cells[values.index(min(values))]}..{cells[values.index(max(values))]}"
