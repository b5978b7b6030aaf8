"""Reads records of delimited text (CSV, TSV) one at a time, whatever is wrong with them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any


def _module_of_its_own() -> Any:
    """The standard library's reader, as a second module: the length that a field may have is kept
    per module, and the host program's must stay as it is."""
    spec = importlib.util.find_spec("_csv")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_csv = _module_of_its_own()
_csv.field_size_limit(1 << 20)


def records(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    """Rows of delimited text; a line that is not CSV becomes a row of one field."""
    reader = _csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except _csv.Error:
            yield ["…"]


def every_record(lines: list[str], delimiter: str) -> list[list[str]]:
    """All rows at once, which is faster."""
    try:
        return list(_csv.reader(lines, delimiter=delimiter))
    except _csv.Error:
        return list(records(iter(lines), delimiter))
