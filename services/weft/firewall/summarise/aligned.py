"""A table of aligned columns: what each column holds over all rows, the header, and rows as they
stand, those that differ from the others first."""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from weft.firewall.aligned import table_of, without_size
from weft.firewall.columns import MAX_RARE, Column, column, counts_text, outlier_records
from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap
from weft.firewall.summarise.rare_rows import Groups, naming_column, whole_rows, with_names
from weft.firewall.summarise.table import samples

_NAMES = 0.15
"""Share of the tokens, beside what the statements leave, for names of rows that differ."""
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
    cap = line_cap(len(rows), budget, 160)
    outliers = outlier_records([*columns, *shapes], MAX_RARE)
    whole = whole_rows(outliers, lambda index: cut_line(rows[index], cap), budget)
    room = int(budget.limit * _STATEMENTS) - budget.count(start[0])
    lines: dict[int, str] = {}
    for at in sorted(range(len(columns)), key=lambda at: not columns[at].outliers):
        line = _described(columns[at])
        cost = budget.count(line) + 1 if line else 0
        if line and cost <= room:
            room -= cost
            lines[at] = line
    naming = naming_column(columns)
    if naming is not None:

        def named(at: int, told: Groups, most: int) -> str:
            return _described(columns[at], lambda row: held[naming][row], most, told)

        lines = with_names(lines, columns, whole, named, room + int(budget.limit * _NAMES), budget)
    head = "\n".join([*start, *lines.values(), cut_line(header, cap)])
    rest = Budget(max(0, budget.limit - budget.count(head) - 1), budget.encoding)
    chosen = samples(len(rows), whole).items()
    pieces = [Piece(index, worth, cut_line(rows[index], cap)) for index, worth in chosen]
    shown = compose(pieces, rest, "rows", len(rows))
    return budget.cut(f"{head}\n{shown}" if shown else head)


def _column(name: str, cells: list[str]) -> Column:
    return column(name, cells, range(len(cells)))


def _described(
    one: Column,
    names: Callable[[int], str] | None = None,
    most: int = 0,
    told: Set[tuple[int, ...]] = frozenset(),
) -> str:
    """The values of a column and their counts; empty if there are many. `names`, `most` and `told`
    as for `counts_text`."""
    if one.counts is None:
        return ""
    if one.constant:
        return f"{one.name}: {next(iter(one.counts))} in all"
    return f"{one.name}: {counts_text(one, names, most, told)}"
