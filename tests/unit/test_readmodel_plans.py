"""What SQLite does for each query of a view: no step may grow with the length of the session."""

import re

import pytest

from weft.readmodel import view
from weft.readmodel.store import open_writer

FEW = ("places", "by_sequence", "by_id", "children")
"""Queries for a few items."""


@pytest.mark.parametrize("query", FEW)
def test_few_items_are_looked_up_one_by_one(query: str) -> None:
    sql = view._ITEMS[query]
    names = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
    plan = [row[3] for row in open_writer(":memory:").execute(f"EXPLAIN QUERY PLAN {sql}", names)]
    of_items = [step for step in plan if step.startswith(("SEARCH i ", "SCAN i"))]
    assert len(of_items) == 1
    assert re.search(r"\((session=\? AND )?(ordinal|rowid|id|parent_id)=\?", of_items[0])
