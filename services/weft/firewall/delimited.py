"""Reads records of delimited text (CSV, TSV) one at a time, whatever is wrong with them."""

from __future__ import annotations

import csv
from collections.abc import Iterator

csv.field_size_limit(1 << 20)


def records(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    """Rows of delimited text; a line that is not CSV becomes a row of one field."""
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield ["…"]


def every_record(lines: list[str], delimiter: str) -> list[list[str]]:
    """All rows at once, which is faster."""
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return list(records(iter(lines), delimiter))
