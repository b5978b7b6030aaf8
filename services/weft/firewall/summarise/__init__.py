"""One summariser per form of text, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence

from weft.firewall.detect import Detected, Form
from weft.firewall.leaves import Path
from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.json import summarise_json
from weft.firewall.summarise.log import summarise_log
from weft.firewall.summarise.prose import summarise_prose
from weft.firewall.summarise.table import summarise_table
from weft.firewall.tables import read_table

_ROWS = 20_000
"""Rows of a table that are read for a summary."""


def summarise(text: str, detected: Detected, budget: Budget, keep: Sequence[Path] = ()) -> str:
    """At most `budget.limit` tokens that stand for `text`."""
    form = detected.form
    if form in (Form.JSON, Form.NDJSON):
        return summarise_json(detected.value, budget, keep)
    if form in (Form.CSV, Form.TSV, Form.TABLE):
        return summarise_table(read_table(text, form, _ROWS), budget)
    if form in (Form.LOG, Form.TRACEBACK, Form.TESTS, Form.LISTING):
        return summarise_log(text, budget)
    return summarise_prose(text, budget)
