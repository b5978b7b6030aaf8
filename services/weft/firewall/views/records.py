"""Views of tables: rows by number, selected columns of them, and a description of the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import islice

from weft.firewall.delimited import records
from weft.firewall.form import Form
from weft.firewall.tables import cells_of, delimiter_of
from weft.firewall.views.arguments import Value, number, words
from weft.firewall.views.artifact import Artifact
from weft.firewall.views.registry import Chunk, ViewRegistry, of_all
from weft.passages.ruled import is_rule, with_plain_rules
from weft_schemas.errors import InvalidInput

_SAMPLE_BYTES = 256 << 10
_RECORD = 64 << 10
"""Longest record, in bytes; one with a quoted field of many lines is read up to here."""


def register(views: ViewRegistry) -> None:
    for form in (Form.CSV, Form.TSV, Form.TABLE):
        hint = "`count` rows from row `start` (0 is the first), `columns` as names with commas"
        views.register(str(form), "rows", hint, ("start", "count", "columns"), rows)
        hint = "the names of the columns with sample values"
        views.register(str(form), "columns", hint, (), columns, True)


def rows(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    first = number(args, "start", 0)
    count = number(args, "count", 1 << 60, 1)
    wanted = words(args, "columns")
    table = _rows_of(artifact)
    header = next(table, [])
    chosen = _chosen(header, wanted)
    skipped = sum(1 for _ in islice(table, first))
    row = next(table, None)
    if row is None and first > 0:
        yield of_all(skipped, "rows")
        return
    here: dict[str, Value] = {**args, "start": first}
    yield Chunk(_csv_row([header[i] for i in chosen]), here if row is not None else None)
    for number_of in range(first, first + count):
        if row is None:
            return
        following = next(table, None)
        cells = [row[i] if i < len(row) else "" for i in chosen]
        yield Chunk(_csv_row(cells), {**args, "start": number_of + 1} if following else None)
        row = following


def columns(artifact: Artifact, args: Mapping[str, Value]) -> Iterator[Chunk]:
    table = _rows_of(artifact)
    header = next(table, [])
    sample = list(islice(table, 5))
    for index, name in enumerate(header):
        values = [row[index] for row in sample if index < len(row)]
        yield Chunk(f"{name}: {_csv_row(values)}", {} if index + 1 < len(header) else None)


def _rows_of(artifact: Artifact) -> Iterator[list[str]]:
    """Header and rows, read on demand."""
    start = artifact.text(0, min(artifact.size, _SAMPLE_BYTES))
    if any(map(is_rule, with_plain_rules(start).splitlines()[:200])):
        return _markdown_rows(artifact)
    form = Form.TSV if start.partition("\n")[0].count("\t") else Form.CSV
    lines = (artifact.text(low, min(high, low + _RECORD)) for low, high in artifact.lines())
    filled = (line for line in lines if line.strip())
    return records(filled, delimiter_of(start.splitlines()[:20], form))


def _markdown_rows(artifact: Artifact) -> Iterator[list[str]]:
    above: list[str] | None = None
    inside = False
    for low, high in artifact.lines():
        line = with_plain_rules(artifact.text(low, min(high, low + _RECORD))).strip()
        if is_rule(line):
            if above is not None and not inside:
                inside = True
                yield above
        elif "|" not in line:
            if inside:
                return
        elif inside:
            yield cells_of(line)
        else:
            above = cells_of(line)


def _chosen(header: list[str], wanted: str) -> list[int]:
    if not wanted:
        return list(range(len(header)))
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    for name in names:
        if name not in header:
            raise InvalidInput(
                f"drill-down: no column {name!r}; the columns are {', '.join(header[:50])}"
            )
    return [header.index(name) for name in names]


def _csv_row(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
