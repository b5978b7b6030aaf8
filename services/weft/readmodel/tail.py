"""The newest documents of a session, not sealed into postings yet: one pass over their words finds
any number of terms."""

from __future__ import annotations

import sqlite3

from weft.readmodel.postings import BLOCK, SEGMENT, posting
from weft.readmodel.sql import statements

_sql = statements("postings")


class Tail:
    """Tail rows (document, length code, terms), taken apart once for all searches of a view."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        self._rows = [
            (document, length, terms.split("\n")) for document, length, terms in reversed(rows)
        ]

    def holding(self, wanted: frozenset[str]) -> dict[str, list[int]]:
        """Which rows hold each of these terms, the newest first; without those that none holds."""
        found: dict[str, list[int]] = {}
        for row, (_, _, terms) in enumerate(self._rows):
            for term in wanted.intersection(terms):
                found.setdefault(term, []).append(row)
        return found

    def posting(self, row: int, term: str) -> tuple[int, int]:
        """The first document of a row's block, and the row's posting of a term that it holds."""
        document, length, terms = self._rows[row]
        return document // BLOCK * BLOCK, posting(document, terms.count(term), length)


def tail_of(db: sqlite3.Connection, session: int, documents: int) -> Tail:
    """Those of the first `documents` documents that are not sealed yet."""
    rows = db.execute(_sql.tail, (session, documents // SEGMENT * SEGMENT))
    return Tail([row for row in rows if row[0] < documents])
