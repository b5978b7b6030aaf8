"""A table as its columns with types and extremes, the number of rows, and sample rows."""

from __future__ import annotations

from weft.firewall.leaves import value_worth
from weft.firewall.summarise.budget import Budget, Piece, compose, shorten
from weft.firewall.tables import Table, as_number

_CELL = 60
"""Characters of a cell in a sample row."""
_DISTINCT = 6
"""Values of a column that are listed when it has no more than these."""


def summarise_table(table: Table, budget: Budget) -> str:
    """Header line, one line per column, then rows in CSV form from both ends."""
    pieces = [
        Piece(0, 100, f"table: {table.total} rows x {len(table.header)} columns{_seen(table)}")
    ]
    if table.before:
        pieces.append(Piece(-1, 60, shorten(table.before, 300)))
    if table.after:
        pieces.append(Piece(1e9, 50, shorten(table.after, 300)))
    pieces.append(Piece(1, 95, ",".join(shorten(name, _CELL) for name in table.header)))
    pieces += _rows(table)
    for index, name in enumerate(table.header):
        column = [row[index] for row in table.rows if index < len(row)]
        pieces.append(Piece(1e6 + index, 70 - index * 0.1, _described(name, column)))
    return compose(pieces, budget)


def _seen(table: Table) -> str:
    """Which rows the columns are told of, where it is not all of them."""
    if table.total <= len(table.rows):
        return ""
    last = f" and the last {table.tail}" if table.tail else ""
    return f"; columns as in the first {len(table.rows) - table.tail}{last} rows"


def _rows(table: Table) -> list[Piece]:
    """Sample rows: the first ones and the last one first, then as many as fit."""
    shown = table.rows[:400] + table.rows[400:][-1:]
    return [
        Piece(
            10 + number,
            _row_worth(number, len(shown) - 1),
            ",".join(shorten(c, _CELL) for c in row),
        )
        for number, row in enumerate(shown)
    ]


def _row_worth(number: int, last: int) -> float:
    if number < 2:
        return 90 - number
    return 85 if number == last else 60 - number * 0.05


def _described(name: str, column: list[str]) -> str:
    filled = [stripped for cell in column if (stripped := cell.strip())]
    empty = len(column) - len(filled)
    missing = f", {empty} empty" if empty else ""
    # One cell that is no number is enough, and most columns show one at once.
    if filled and as_number(filled[0]) is not None:
        numbers = [(n, cell) for cell in filled if (n := as_number(cell)) is not None]
        if len(numbers) == len(filled):
            return f"{name}: number {min(numbers)[1]}..{max(numbers)[1]}{missing}"
    distinct = list(dict.fromkeys(filled))
    if len(distinct) <= _DISTINCT:
        return f"{name}: {'|'.join(shorten(cell, 30) for cell in distinct)}{missing}"
    kind = "id" if len(distinct) == len(filled) and value_worth(distinct[0]) > 1 else "text"
    return f"{name}: {kind}, {len(distinct)} distinct{missing}"
