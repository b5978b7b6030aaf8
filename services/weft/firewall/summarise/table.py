"""A table as its columns, described over all rows, and sample rows with counts of those between
them: the first and the last ones, and each that differs from all others."""

from __future__ import annotations

from collections.abc import Callable, Set

from weft.firewall.columns import Column, counts_text
from weft.firewall.summarise.budget import Budget, Piece, compose, shorten
from weft.firewall.summarise.compared import ComparedTable
from weft.firewall.summarise.rare_rows import Groups, naming_column, whole_rows, with_names
from weft.firewall.tables import as_number

_CELL = 60
"""Characters of a cell in a sample row."""
_STATEMENTS = 0.5
"""Share of the tokens for statements about columns; rows need the rest."""
_ROWS = 400
"""Samples are chosen among this many first rows."""


def summarise_table(found: ComparedTable, budget: Budget) -> str:
    """Number of rows, one line per column, then rows as CSV in their order."""
    table = found.table
    start = [f"table: {table.total} rows x {len(table.header)} columns"]
    if table.before:
        start.insert(0, shorten(table.before, 300))
    whole = whole_rows(found.outliers, lambda index: _row(table.rows[index]), budget)
    shown = _lines(found, start, whole, budget)
    head = "\n".join([*start, *shown, _row(table.header)])
    room = Budget(max(0, budget.limit - budget.count(head) - 1), budget.encoding)
    after = [Piece(len(table.rows), 60, shorten(table.after, 300), 0)] if table.after else []
    chosen = samples(len(table.rows), whole).items()
    pieces = [Piece(index, worth, _row(table.rows[index])) for index, worth in chosen]
    rows = compose([*pieces, *after], room, "rows", len(table.rows))
    return budget.cut(f"{head}\n{rows}" if rows else head)


def _lines(found: ComparedTable, start: list[str], whole: list[int], budget: Budget) -> list[str]:
    """What is said of each column, as far as it fits, with names of the rows that are not shown."""
    columns, cells = found.columns, found.cells
    room = int(budget.limit * _STATEMENTS) - budget.count(_row(found.table.header)) - 1
    room -= sum(budget.count(line) + 1 for line in start)
    lines: dict[int, str] = {}
    for at in sorted(range(len(columns)), key=lambda at: not columns[at].outliers):
        line = _column(columns[at], cells[at])
        cost = budget.count(line) + 1
        if cost <= room:
            room -= cost
            lines[at] = line
    naming = naming_column(columns)
    if naming is not None:
        names = cells[naming]

        def named(at: int, told: Groups, most: int) -> str:
            return _column(
                columns[at], cells[at], lambda row: shorten(names[row], _CELL), most, told
            )

        lines = with_names(lines, columns, whole, named, room, budget)
    return [lines[at] for at in sorted(lines)]


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


def _column(
    known: Column,
    cells: list[str],
    names: Callable[[int], str] | None = None,
    most: int = 0,
    told: Set[tuple[int, ...]] = frozenset(),
) -> str:
    """The line about a column; `names`, `most` and `told` as for `counts_text`."""
    return f"{shorten(known.name, _CELL)}: {_described(known, cells, names, most, told)}"


def _described(
    known: Column,
    cells: list[str],
    names: Callable[[int], str] | None = None,
    most: int = 0,
    told: Set[tuple[int, ...]] = frozenset(),
) -> str:
    missing = f", none ({known.total - known.filled})" if known.filled < known.total else ""
    if known.constant and known.counts is not None:
        return f"{next(iter(known.counts))} in all"
    filled = [cell for cell in cells if cell] if missing else cells
    extremes = _extremes(filled)
    if extremes and (known.counts is None or not known.outliers):
        return f"number {extremes}{missing}"
    if known.counts is not None:
        return counts_text(known, names, most, told)
    between = f"{known.first}..{known.last}, " if known.first != known.last else ""
    if known.rarely_filled:
        return f"{between}{counts_text(known, names, most, told)}"
    return f"{between}{len(set(filled))} different{missing}"


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
