"""The newest documents of a session, not sealed into postings yet: their terms are searched as one
text, a line for each word, so that a term costs one pass of `str.find`."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from weft.readmodel.postings import BLOCK, SEGMENT, posting
from weft.readmodel.sql import statements

_sql = statements("postings")


class Tail:
    """Tail rows (document, length code, terms), joined once for all searches of a view."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        self._rows = rows
        self._text = "\n".join(["", *(terms for _, _, terms in rows), ""])
        # Where each row's first line break stands: the one before its first term.
        self._starts = list(accumulate((len(terms) + 1 for _, _, terms in rows[:-1]), initial=0))

    def postings(self, terms: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """For each term that stands here, the block's first document and the posting of every
        document with it, newest first."""
        found = {term: self._postings(term) for term in terms}
        return {term: postings for term, postings in found.items() if postings}

    def _postings(self, term: str) -> list[tuple[int, int]]:
        line, text = f"\n{term}\n", self._text
        times: dict[int, int] = {}
        at = text.find(line)
        while at >= 0:
            row = bisect_right(self._starts, at) - 1
            times[row] = times.get(row, 0) + 1
            # The line break at its end is also the one before the next line.
            at = text.find(line, at + len(line) - 1)
        return [self._placed(row, count) for row, count in reversed(times.items())]

    def _placed(self, row: int, times: int) -> tuple[int, int]:
        document, length, _ = self._rows[row]
        return document // BLOCK * BLOCK, posting(document, times, length)


def tail_of(db: sqlite3.Connection, session: int, count: int) -> Tail:
    """Those of the first `count` documents that are not sealed yet."""
    rows = db.execute(_sql.tail, (session, count // SEGMENT * SEGMENT))
    return Tail([row for row in rows if row[0] < count])
