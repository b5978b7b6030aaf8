"""Reads rows of CSV, TSV, and tables with rules (Markdown's, psql's and mysql's)."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from weft.firewall.delimited import every_record, records
from weft.firewall.form import Form
from weft.passages.ruled import is_rule, ruled_tables, with_plain_rules

_NUMBER = re.compile(r"[-+]?[\d,]*+(?:\.\d++|(?<=\d))(?:[eE][-+]?\d++)?%?\Z")


class Table(msgspec.Struct, frozen=True):
    header: list[str]
    rows: list[list[str]]
    total: int
    """Number of rows in the text; may be more than `rows`."""
    before: str = ""
    """Text above a Markdown table."""
    after: str = ""


def read_table(text: str, form: Form, limit: int | None = None) -> Table:
    """The header and the first `limit` rows of a text that `detect` recognised as a table."""
    if form is Form.TABLE:
        return _markdown(text, limit)
    lines = [line for line in text.splitlines(keepends=True) if line.strip("\r\n")]
    delimiter = delimiter_of(lines[:20], form)
    if limit is None:
        every = every_record(lines, delimiter)
        counted = len(every)
    else:
        rest = iter(lines)
        every = list(islice(records(rest, delimiter), limit + 1))
        counted = len(every) + sum(1 for _ in rest)
    header = every[0] if every else []
    if _is_row(every[:_LOOK]):
        names = [f"column{index}" for index in range(len(header))]
        return Table(names, every[:limit], counted)
    return Table([cell.strip() for cell in header], every[1:], max(0, counted - 1))


def _is_row(every: list[list[str]]) -> bool:
    """Whether the first record names no columns: all its cells are numbers, or it begins with a
    number or a date as most others do."""
    header, rows = (every[0], every[1:]) if every else ([], [])
    if all(_NUMBER.match(cell.strip()) for cell in header if cell.strip()):
        return bool(header)
    begin = [_VALUE.match(row[0].strip()) is not None for row in (header, *rows) if row]
    return begin[0] and sum(begin) >= _MOSTLY * len(begin)


_LOOK, _MOSTLY = 50, 0.9
_VALUE = re.compile(r"(?:\d[\d,.]*|\d{4}[-/]\d\d[-/]\d\d\b.*|\d\d?[/.]\d\d?[/.]\d{2,4}\b.*)\Z")


def delimiter_of(lines: list[str], form: Form) -> str:
    if form is Form.TSV:
        return "\t"
    return ";" if sum(x.count(";") for x in lines) > sum(x.count(",") for x in lines) else ","


def cells_of(line: str) -> list[str]:
    """The cells of one line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _markdown(text: str, limit: int | None) -> Table:
    lines = with_plain_rules(text).splitlines()
    table = next(iter(ruled_tables(lines)), None)
    if table is None:
        return Table([], [], 0, _words(lines))
    body = [line for line in lines[table.rows : table.end] if not is_rule(line)]
    return Table(
        cells_of(lines[table.names]),
        [cells_of(line) for line in body[:limit]],
        len(body),
        _words(lines[: table.first]),
        _words(lines[table.end :]),
    )


def _words(lines: list[str]) -> str:
    """The lines without rules."""
    return "\n".join(line for line in lines if not is_rule(line)).strip()


def as_number(cell: str) -> float | None:
    """The number in a cell; None for anything else."""
    text = cell.strip()
    if _NUMBER.match(text) is None:
        return None
    try:
        return float(text)
    except ValueError:
        return float(text.replace(",", "").rstrip("%"))
