"""The newest documents of a session, which are not sealed into postings yet: scanned in the first
search, and indexed in memory when the session is searched again."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator

from weft.readmodel.erasure import newest_tombstone
from weft.readmodel.postings import BLOCK, Postings, invert, posting
from weft.readmodel.sql import statements

FEW = 8
"""Up to this many terms, each is searched for in a text, which is faster than splitting the
text."""
LONG = 20_000
"""Characters of a text's terms from which it is only scanned: indexing it would cost more than it
saves."""
KEPT = 1_000_000
"""Characters of terms that a connection keeps; with their postings some 25 MB."""

_sql = statements("postings")


class UnsealedPostings:
    """Documents of one session, all of one block."""

    def __init__(self, first: int) -> None:
        """`first` is the first document that is not sealed."""
        self.first = first
        self.end = first
        """The document after the last."""
        self.newest: tuple[int, int, int] | None = None
        """The session's last document, its version, and the session's length in words, for views of
        the past."""
        self.characters = 0
        self.base = first // BLOCK * BLOCK
        """First document of the block."""
        self._texts: list[tuple[int, int, str]] = []
        self._postings = Postings(list)

    def extend(self, rows: Iterable[tuple[int, int, str]]) -> None:
        """Add the next documents: number, length code, terms by line."""
        for document, length, terms in rows:
            self._texts.append((document, length, f"\n{terms}\n"))
            self.characters += len(terms)
            self.end = document + 1

    def index(self) -> None:
        """Index the texts that are not long: as much work as scanning them for four searches."""
        short = [row for row in self._texts if len(row[2]) <= LONG]
        self._texts = [row for row in self._texts if len(row[2]) > LONG]
        for document, length, terms in short:
            invert((document, length, terms[1:-1].split("\n")), self._postings)

    def holding(self, wanted: Collection[str], count: int) -> dict[str, list[int]]:
        """Postings of each term in the session's first `count` documents, newest first; without the
        terms that none of them holds."""
        found = {term: [*hits] for term in wanted if (hits := self._postings.get(term))}
        for document, length, text in self._texts:
            for term in _within(text, wanted):
                # Doubled, so that a term right behind itself is counted too.
                times = text.replace("\n", "\n\n").count(f"\n{term}\n")
                found.setdefault(term, []).append(posting(document, times, length))
        if count < self.end:
            end = count - self.base
            found = {term: [one for one in hits if one >> 16 < end] for term, hits in found.items()}
        return {term: sorted(hits, reverse=True) for term, hits in found.items() if hits}


def _within(text: str, wanted: Collection[str]) -> Iterator[str]:
    """Which of these terms a text has, that begins and ends with a line break."""
    if len(wanted) > FEW:
        yield from frozenset(wanted).intersection(text.split("\n"))
    else:
        yield from (term for term in wanted if f"\n{term}\n" in text)


class UnsealedCache:
    """The unsealed postings of the sessions last searched over one connection. An erasure clears
    it, since a session's number can be reused."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, UnsealedPostings] = OrderedDict()
        self._characters = 0
        self._tombstone = 0

    def of(self, db: sqlite3.Connection, session: int) -> UnsealedPostings:
        """The tail of a session, with all that the database holds of it now."""
        self._forget_erased(newest_tombstone(db))
        newest = db.execute(_sql.last_document, (session,)).fetchone()
        first = db.execute(_sql.first_of_tail, (session,)).fetchone()[0]
        if first is None:
            first = newest[0] + 1 if newest else 0
        tail = self._taken(session)
        if tail is None or tail.first != first:
            tail = UnsealedPostings(first)
        tail.newest = newest
        asked_again = tail.end > first
        tail.extend(db.execute(_sql.tail, (session, tail.end)))
        if asked_again:
            tail.index()
        self._keep(session, tail)
        return tail

    def _taken(self, session: int) -> UnsealedPostings | None:
        tail = self._kept.pop(session, None)
        self._characters -= tail.characters if tail else 0
        return tail

    def _keep(self, session: int, tail: UnsealedPostings) -> None:
        self._kept[session] = tail
        self._characters += tail.characters
        while self._characters > KEPT:
            _, oldest = self._kept.popitem(last=False)
            self._characters -= oldest.characters

    def _forget_erased(self, newest: int) -> None:
        if newest != self._tombstone:
            self._kept.clear()
            self._characters, self._tombstone = 0, newest
