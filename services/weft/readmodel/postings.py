"""The text index: which documents of a session hold a term, as packed numbers.

A document is one passage of one version of an item's text, numbered within its session in log
order. The newest documents are kept as lists of terms in the tail, where they are found as well;
every 256 of them are sealed, once nobody waits for what came with them: their postings are appended
to the rows of their terms, one row for each term and block of 4,096 documents.
"""

from __future__ import annotations

import sqlite3
import struct
from collections import Counter, defaultdict
from itertools import accumulate, chain, groupby, pairwise, repeat
from math import log2

from weft.readmodel.sql import statements

SEGMENT = 256
"""Documents that are sealed together: a search reads the whole tail, seldom more than this many."""
UNSEALED = 512
"""Documents of full segments that may wait in the tail: those of a result of some 400 KB, which can
be found before they are sealed. To seal takes as long as all else that the fold does with them."""
BLOCK = 4_096
"""Documents per row of a term: few rows to read for a rare term, and none too long to append to."""
WIDTH = 4
"""Bytes of a posting: 16 bits place in the block, 8 frequency (at most 255), 8 length code."""
MAX_TERM = 40
"""Significant characters of a term; longer words are hashes and base64."""

_STEPS = 12
"""Steps per doubling of the length scale: a length is kept to within 3 %."""
LENGTHS = tuple(2 ** (code / _STEPS) for code in range(256))
"""Length in words for each length code."""

_sql = statements("postings")


def clip(terms: list[str]) -> list[str]:
    """The terms as indexed: cut to `MAX_TERM` characters."""
    if max(map(len, terms), default=0) <= MAX_TERM:
        return terms
    return [term[:MAX_TERM] for term in terms]


def length_code(words: int) -> int:
    """Where a length in words stands on the logarithmic scale, 0 to 255."""
    return min(255, round(_STEPS * log2(max(1, words))))


def posting(document: int, times: int, length: int) -> int:
    """A document's posting as a number; `length` is a length code."""
    return (document % BLOCK) << 16 | (times if times < 256 else 255) << 8 | length


def pack(postings: list[int]) -> bytes:
    return struct.pack(f"<{len(postings)}I", *postings)


def pack_each(lists: list[list[int]]) -> list[bytes]:
    """Each list packed, all in one step: most terms of a text are rare."""
    packed = pack(list(chain.from_iterable(lists)))
    ends = list(accumulate([WIDTH * len(postings) for postings in lists], initial=0))
    return [packed[start:end] for start, end in pairwise(ends)]


def halves(entries: bytes) -> tuple[int, ...]:
    """Of each posting the lower half, which is frequency and length code, then its place."""
    return struct.unpack(f"<{len(entries) * 2 // WIDTH}H", entries)


Postings = defaultdict[str, list[int]]
"""Of each term its postings, in order of documents."""
Document = tuple[int, int, list[str]]
"""Its number, its length code, and a term for each of its words."""


class IndexWriter:
    """Adds documents within the fold's transaction; `flush` before it commits, `seal` when nobody
    waits for what was added."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._new: dict[int, list[Document]] = {}
        self._full: set[int] = set()
        """Sessions with full segments in the tail."""

    @property
    def is_due(self) -> bool:
        """Whether something is to be sealed."""
        return bool(self._full)

    def add(self, session: int, document: int, terms: list[str]) -> None:
        """The session's next document."""
        row = (document, length_code(len(terms)), terms)
        self._new.setdefault(session, []).append(row)

    def flush(self) -> None:
        """Write what was added to the tail; where that would grow long, its full segments as
        postings."""
        rows: list[tuple[int, int, int, str]] = []
        for session, documents in self._new.items():
            sealed = self._seal_long(session, documents)
            rows += (
                (session, document, length, "\n".join(terms))
                for document, length, terms in documents
                if document >= sealed
            )
        self._db.executemany(_sql.add_tail, rows)
        self._new.clear()

    def seal(self) -> None:
        """Seal the full segments that `flush` left in the tail, in a transaction."""
        for session in sorted(self._full):
            tail = self._tail(session)
            if tail:
                self._seal_full(session, tail, tail, tail[-1][0] + 1)
        self._full.clear()

    def discard(self) -> None:
        """Forget what was added: the transaction failed."""
        self._new.clear()

    def _seal_long(self, session: int, new: list[Document]) -> int:
        """Seal the full segments if they are many, or end a block; gives the first document that
        then belongs into the tail."""
        first, end = new[0][0], new[-1][0] + 1
        if first // SEGMENT == end // SEGMENT:
            return first
        old = self._tail(session)
        start = old[0][0] if old else first
        full = end // SEGMENT * SEGMENT
        if full - start <= UNSEALED and full // BLOCK == start // BLOCK:
            self._full.add(session)
            return first
        return self._seal_full(session, [*old, *new], old, end)

    def _seal_full(
        self, session: int, documents: list[Document], tail: list[Document], end: int
    ) -> int:
        """Seal the full segments of the unsealed `documents`, of which the first are the `tail`;
        gives the first that is left."""
        start, sealed = documents[0][0], end // SEGMENT * SEGMENT
        for _, block in groupby(documents[: sealed - start], lambda one: one[0] // BLOCK):
            self._seal(session, list(block))
        if tail:
            self._db.execute(_sql.drop_tail, (session, sealed))
        return sealed

    def _tail(self, session: int) -> list[Document]:
        return [
            (document, length, written.split("\n"))
            for document, length, written in self._db.execute(_sql.tail, (session, 0))
        ]

    def _seal(self, session: int, documents: list[Document]) -> None:
        """Append the postings of a block's next documents to the rows of their terms."""
        block, postings = documents[0][0] // BLOCK, Postings(list)
        for document in documents:
            invert(document, postings)
        terms = sorted(postings)
        entries = pack_each([postings[term] for term in terms])
        self._db.executemany(
            _sql.add_postings, zip(repeat(session), terms, repeat(block), entries, strict=False)
        )


def invert(document: Document, postings: Postings) -> None:
    """Add a document's postings to those of earlier documents of its block, by term."""
    number, length, terms = document
    once = posting(number, 1, length)
    for term, times in Counter(terms).items():
        postings[term].append(once if times == 1 else posting(number, times, length))
