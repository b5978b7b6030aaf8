"""Reading rows out of CSV, TSV and Markdown tables, quotes included."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from weft.firewall.delimited import records
from weft.firewall.detect import Form

_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?%?\Z")


class Table(msgspec.Struct, frozen=True):
    header: list[str]
    rows: list[list[str]]
    total: int
    """Rows in the text, which may be more than `rows`."""
    tail: int = 0
    """How many of `rows`, at their end, are the text's last ones, after a gap."""
    before: str = ""
    """Text above a Markdown table."""
    after: str = ""


def read_table(text: str, form: Form, limit: int, tail: int = 0) -> Table:
    """Header, the first `limit` rows and the last `tail` ones of a text that `detect` found to be a
    table."""
    if form is Form.TABLE:
        return _markdown(text, limit, tail)
    lines = [line for line in text.splitlines() if line]
    delimiter = delimiter_of(lines[:20], form)
    rest = iter(lines)
    every = list(islice(records(rest, delimiter), limit + 1))
    left = list(rest)
    counted = len(every) + len(left)
    header = every[0] if every else []
    width = len(header)
    # Where the cut goes through a quoted cell, its rest has other columns.
    last = (
        [row for row in records(iter(left[-tail:]), delimiter) if len(row) == width] if tail else []
    )
    if header and all(_NUMBER.match(cell.strip()) for cell in header if cell.strip()):
        names = [f"column{index}" for index in range(width)]
        return Table(names, every[:limit] + last, counted, len(last))
    names = [cell.strip() for cell in header]
    return Table(names, every[1:] + last, max(0, counted - 1), len(last))


def delimiter_of(lines: list[str], form: Form) -> str:
    if form is Form.TSV:
        return "\t"
    return ";" if sum(x.count(";") for x in lines) > sum(x.count(",") for x in lines) else ","


def cells_of(line: str) -> list[str]:
    """The cells of one line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _markdown(text: str, limit: int, tail: int) -> Table:
    lines = text.splitlines()
    rule = next((i for i, line in enumerate(lines) if i and _RULE.match(line)), 1)
    end = rule + 1
    while end < len(lines) and "|" in lines[end]:
        end += 1
    body = lines[rule + 1 : end]
    last = body[limit:][-tail:] if tail else []
    return Table(
        cells_of(lines[rule - 1]),
        [cells_of(line) for line in body[:limit] + last],
        len(body),
        len(last),
        "\n".join(lines[: rule - 1]).strip(),
        "\n".join(lines[end:]).strip(),
    )


def as_number(cell: str) -> float | None:
    """The value of a number in a cell; None for anything else."""
    text = cell.strip()
    if _NUMBER.match(text) is None:
        return None
    try:
        return float(text)
    except ValueError:
        return float(text.replace(",", "").rstrip("%"))
