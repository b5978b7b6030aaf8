"""The newest documents of a session, not sealed into postings yet: one pass over their words finds
any number of terms."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Set
from itertools import accumulate, compress, count

from weft.readmodel.postings import BLOCK, SEGMENT, posting
from weft.readmodel.sql import statements

_sql = statements("postings")


class Tail:
    """Tail rows (document, length code, terms), taken apart once for all searches of a view."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        self._rows = rows
        self._lines = "\n".join([terms for _, _, terms in rows]).split("\n")
        self._ends = list(accumulate(terms.count("\n") + 1 for _, _, terms in rows))

    def postings(self, terms: Set[str]) -> dict[str, list[tuple[int, int]]]:
        """For each term that stands here, the block's first document and the posting of every
        document with it, newest first."""
        hits = compress(count(), map(terms.__contains__, self._lines))
        times = Counter((bisect_right(self._ends, at), self._lines[at]) for at in hits)
        found: dict[str, list[tuple[int, int]]] = {}
        for (row, term), often in reversed(times.items()):
            found.setdefault(term, []).append(self._placed(row, often))
        return found

    def _placed(self, row: int, times: int) -> tuple[int, int]:
        document, length, _ = self._rows[row]
        return document // BLOCK * BLOCK, posting(document, times, length)


def tail_of(db: sqlite3.Connection, session: int, documents: int) -> Tail:
    """Those of the first `documents` documents that are not sealed yet."""
    rows = db.execute(_sql.tail, (session, documents // SEGMENT * SEGMENT))
    return Tail([row for row in rows if row[0] < documents])
