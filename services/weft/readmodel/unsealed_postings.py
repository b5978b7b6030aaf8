"""The newest documents of a session, which are not sealed into postings yet. The first search scans
them; the next one indexes them in memory."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Collection, Iterable

from weft.readmodel.postings import BLOCK, Postings, invert, posting
from weft.readmodel.store import OPEN, statements

CACHED_CHARACTERS = 1_000_000
"""Characters of terms cached per connection, some 25 MB with their postings."""

SESSION_CHARACTERS = 100
"""Added for each session, so that those with few or no terms are limited, too."""

_sql = statements("postings")

Unsealed = tuple[int, int, str, bytes]
"""A document as it is stored: its terms are lines."""


class UnsealedPostings:
    """Documents of one session, all of one block."""

    def __init__(self, first: int) -> None:
        """`first` is the first document that is not sealed."""
        self.first = first
        self.end = first
        """The document after the last."""
        self.newest: tuple[int, int, int] | None = None
        """The session's last document, its version, and the session's words up to it."""
        self.characters = SESSION_CHARACTERS
        self.base = first // BLOCK * BLOCK
        """First document of the block."""
        self._texts: list[Unsealed] = []
        self._postings = Postings(list)

    def extend(self, documents: Iterable[Unsealed]) -> None:
        """Add the next documents."""
        for one in documents:
            self._texts.append(one)
            self.characters += len(one[2])
            self.end = one[0] + 1

    def index(self) -> None:
        """Index the documents, which takes up to twice as long as a scan of them."""
        for number, length, terms, times in self._texts:
            invert((number, length, terms.split("\n"), times), self._postings)
        self._texts.clear()

    def lookup(self, wanted: Collection[str], count: int) -> dict[str, list[int]]:
        """Term → postings in the first `count` documents, newest first, if there are any."""
        found = {term: [*hits] for term in wanted if (hits := self._postings.get(term))}
        any_of = frozenset(wanted)
        for number, length, text, times in self._texts:
            terms = text.split("\n")
            for term in any_of.intersection(terms):
                once = posting(number, times[terms.index(term)], length)
                found.setdefault(term, []).append(once)
        if count < self.end:
            end = count - self.base
            found = {term: [one for one in hits if one >> 16 < end] for term, hits in found.items()}
        return {term: sorted(hits, reverse=True) for term, hits in found.items() if hits}


class UnsealedCache:
    """The unsealed postings of the sessions searched last over one connection. An erasure clears
    it, since it may free a session's number for another."""

    def __init__(self) -> None:
        self._cached: OrderedDict[int, UnsealedPostings] = OrderedDict()
        self._characters = 0
        self._tombstone = 0

    def of(self, db: sqlite3.Connection, session: int) -> UnsealedPostings:
        """A session's unsealed postings, as of now."""
        erased, first, *last = db.execute(_sql.begin, {"session": session}).fetchone()
        if erased != self._tombstone:
            self._cached.clear()
            self._characters, self._tombstone = 0, erased
        newest: tuple[int, int, int] | None = None if last[0] is None else (*last,)
        if first is None:
            first = newest[0] + 1 if newest else 0
        unsealed = self._cached.pop(session, None)
        self._characters -= unsealed.characters if unsealed else 0
        if unsealed is None or unsealed.first != first:
            unsealed = UnsealedPostings(first)
        unsealed.newest = newest
        asked_again = unsealed.end > first
        unsealed.extend(db.execute(_sql.unsealed, (session, unsealed.end, OPEN)))
        if asked_again:
            unsealed.index()
        self._cached[session] = unsealed
        self._characters += unsealed.characters
        while self._characters > CACHED_CHARACTERS:
            _, oldest = self._cached.popitem(last=False)
            self._characters -= oldest.characters
        return unsealed
