"""The newest documents of a session, not sealed into postings yet: one pass over their words finds
any number of terms."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from weft.readmodel.postings import BLOCK, SEGMENT, posting
from weft.readmodel.sql import statements

FEW = 8
"""Terms up to which each is looked for in the text of the rows: less than to take them apart."""
_sql = statements("postings")


class Tail:
    """Tail rows (document, length code, terms), newest first, for all searches of a view."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        self._rows = [
            (document, length, f"\n{terms}\n") for document, length, terms in reversed(rows)
        ]

    def holding(self, wanted: Collection[str]) -> dict[str, list[int]]:
        """Which rows hold each of these terms, the newest first; without those that none holds."""
        found: dict[str, list[int]] = {}
        if len(wanted) > FEW:
            known = frozenset(wanted)
            for row, (_, _, terms) in enumerate(self._rows):
                for term in known.intersection(terms.split("\n")):
                    found.setdefault(term, []).append(row)
            return found
        for term in wanted:
            line = f"\n{term}\n"
            rows = [row for row, (_, _, terms) in enumerate(self._rows) if line in terms]
            if rows:
                found[term] = rows
        return found

    def posting(self, row: int, term: str) -> tuple[int, int]:
        """The first document of a row's block, and the row's posting of a term that it holds."""
        document, length, terms = self._rows[row]
        # Doubled, so that a term right behind itself is counted too.
        times = terms.replace("\n", "\n\n").count(f"\n{term}\n")
        return document // BLOCK * BLOCK, posting(document, times, length)


def tail_of(db: sqlite3.Connection, session: int, documents: int) -> Tail:
    """Those of the first `documents` documents that are not sealed yet."""
    rows = db.execute(_sql.tail, (session, documents // SEGMENT * SEGMENT))
    return Tail([row for row in rows if row[0] < documents])
