"""A table of aligned columns: what each column holds over all rows, the header, and rows as they
stand, those that differ from the others first."""

from __future__ import annotations

import re

from weft.firewall.aligned import table_of, without_size
from weft.firewall.columns import Column, column, outlier_records
from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap
from weft.firewall.summarise.table import samples

_OUTLIERS = 6
"""How many rows are shown because they differ from the others."""
_DIGITS = re.compile(r"\d+")
_STATEMENTS = 0.4
"""Share of the tokens for statements about columns."""


def summarise_aligned(text: str, budget: Budget) -> str:
    """Number of rows, a line for each column with few different values, the header, then rows."""
    (header, *rows), size = without_size([line for line in text.splitlines() if line.strip()])
    names, cells = table_of([header, *rows])
    held = [[row[at] for row in cells] for at in range(len(names))]
    columns = [_column(name, values) for name, values in zip(names, held, strict=True)]
    # `Up 3 days` and `Up 90 days` are alike, `Exited (137)` is not.
    shapes = [
        _column("", [_DIGITS.sub("0", value) for value in values])
        for values, known in zip(held, columns, strict=True)
        if known.counts is None
    ]
    here = f", {len(rows)} lines of them here" if size not in (None, len(rows)) else ""
    columns_told = f" x {len(names)} columns" if names else ""
    start = [f"table: {size or len(rows)} rows{columns_told}{here}"]
    room = int(budget.limit * _STATEMENTS) - budget.count(start[0])
    for line in map(_described, sorted(columns, key=lambda one: not one.outliers)):
        room -= budget.count(line) + 1 if line else 0
        if line and room >= 0:
            start.append(line)
    cap = line_cap(len(rows), budget, 160)
    head = "\n".join([*start, cut_line(header, cap)])
    rest = Budget(max(0, budget.limit - budget.count(head) - 1), budget.encoding)
    chosen = samples(len(rows), outlier_records([*columns, *shapes], _OUTLIERS)).items()
    pieces = [Piece(index, worth, cut_line(rows[index], cap)) for index, worth in chosen]
    shown = compose(pieces, rest, "rows", len(rows))
    return budget.cut(f"{head}\n{shown}" if shown else head)


def _column(name: str, cells: list[str]) -> Column:
    return column(name, cells, range(len(cells)))


def _described(one: Column) -> str:
    """The values of a column and their counts; empty if there are many."""
    if one.counts is None:
        return ""
    if one.constant:
        return f"{one.name}: {next(iter(one.counts))} in all"
    none = one.total - one.filled
    counts = ", ".join(f"{value} ({count})" for value, count in one.counts.items())
    return f"{one.name}: {counts}{f', none ({none})' if none else ''}"
