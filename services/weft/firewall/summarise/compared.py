"""What was found by comparing the records of a body. The summary and the facts both need it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from weft.firewall.columns import MAX_RARE, Column, column, outlier_records
from weft.firewall.detect import Detected
from weft.firewall.form import Form
from weft.firewall.json_leaves import LeafPath
from weft.firewall.summarise.collection import Collection, collections
from weft.firewall.tables import Table, read_table

DELIMITED = (Form.CSV, Form.TSV, Form.TABLE)


class ComparedTable(msgspec.Struct, frozen=True):
    table: Table
    cells: list[list[str]]
    """Those of each column, without blanks around them."""
    columns: list[Column]
    outliers: list[int]
    """The rows that differ from the others."""


class Compared(msgspec.Struct, frozen=True):
    """The records of a body in JSON or in a table; without any for other forms."""

    collections: dict[LeafPath, Collection] = {}
    table: ComparedTable | None = None

    @property
    def outliers(self) -> dict[LeafPath, list[int]]:
        """For each list of records in JSON, those that differ from the others."""
        return {
            path: place.outliers
            for path, place in self.collections.items()
            if isinstance(place.steps[0], int)
        }


def compared(text: str, detected: Detected, keep: Sequence[LeafPath] = ()) -> Compared:
    if detected.form in DELIMITED:
        return Compared(table=compared_table(read_table(text, detected.form)))
    return Compared(collections(detected.value, keep))


def compared_table(table: Table) -> ComparedTable:
    held = list(zip_longest(*table.rows, fillvalue=""))[: len(table.header)]
    cells = [list(map(str.strip, one)) for one in held]
    cells += [[] for _ in table.header[len(cells) :]]
    columns = [
        column(name, values, range(len(values)))
        for name, values in zip(table.header, cells, strict=True)
    ]
    return ComparedTable(table, cells, columns, outlier_records(columns, MAX_RARE))
