"""The text index: which documents of a session hold a term, as packed numbers.

A document is one version of an item's text, numbered within its session in log order. The newest
wait in the tail, word for word; every 256 of them are sealed: their postings are appended to the
rows of their terms, one row for each term and block of 4,096 documents.
"""

from __future__ import annotations

import sqlite3
import struct
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from itertools import accumulate, chain, repeat
from math import log2

from weft.readmodel.sql import statements

SEGMENT = 256
"""Documents that are sealed together: a search reads the tail, up to so many, whole."""
BLOCK = 4_096
"""Documents per row of a term: few rows to read for a rare term, and none too long to append to."""
WIDTH = 4
"""Bytes of a posting: 16 bits place in the block, 8 frequency (at most 255), 8 length code."""
MAX_TERM = 40
"""Characters of a term that count; longer ones are hashes and base64."""

_STEPS = 12
"""Steps per doubling of the length scale: a length is kept to within 3 %."""
LENGTHS = tuple(2 ** (code / _STEPS) for code in range(256))
"""Length in words for each length code."""

_sql = statements("postings")


def clip(counts: Counter[str]) -> Counter[str]:
    """The terms as indexed: cut to `MAX_TERM` characters."""
    if max(map(len, counts), default=0) <= MAX_TERM:
        return counts
    clipped: Counter[str] = Counter()
    for term, count in counts.items():
        clipped[term[:MAX_TERM]] += count
    return clipped


def length_code(words: int) -> int:
    """Where a length in words stands on the logarithmic scale, 0 to 255."""
    return min(255, round(_STEPS * log2(max(1, words))))


def posting(document: int, times: int, length: int) -> int:
    """A document's posting as a number; `length` is a length code."""
    return (document % BLOCK) << 16 | (times if times < 256 else 255) << 8 | length


def pack(postings: list[int]) -> bytes:
    return struct.pack(f"<{len(postings)}I", *postings)


def unpack(entries: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(entries) // WIDTH}I", entries)


def write_terms(counts: Mapping[str, int]) -> str:
    """Terms as a tail row holds them: a line for each occurrence, so that one pass over the lines
    finds and counts any number of terms."""
    return "\n".join(chain.from_iterable(repeat(term, count) for term, count in counts.items()))


def read_terms(written: str) -> Counter[str]:
    """The inverse of `write_terms`."""
    return Counter(filter(None, written.split("\n")))


class Tail:
    """Tail rows (document, length code, terms), taken apart once for all searches of a view."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        self._rows = rows
        lines = [written.split("\n") for _, _, written in rows]
        self._lines = list(chain.from_iterable(lines))
        self._ends = list(accumulate(map(len, lines)))

    def postings(self, terms: Set[str]) -> dict[str, list[tuple[int, int]]]:
        """For each term that stands here, the block's first document and the posting of every
        document with it, newest first."""
        times = Counter(
            (bisect(self._ends, at), line) for at, line in enumerate(self._lines) if line in terms
        )
        found: dict[str, list[tuple[int, int]]] = {}
        for (row, term), count in reversed(times.items()):
            document, length, _ = self._rows[row]
            place = document // BLOCK * BLOCK, posting(document, count, length)
            found.setdefault(term, []).append(place)
        return found


class IndexWriter:
    """Adds documents within the fold's transaction; `flush` before it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._new: dict[int, list[tuple[int, int, Mapping[str, int]]]] = {}

    def add(self, session: int, document: int, counts: Counter[str]) -> None:
        """The session's next document."""
        row = (document, length_code(counts.total()), counts)
        self._new.setdefault(session, []).append(row)

    def flush(self) -> None:
        """Write what was added: full segments as postings, the rest to the tail."""
        for session, documents in self._new.items():
            self._write(session, documents)
        self._new.clear()

    def discard(self) -> None:
        """Forget what was added: the transaction failed."""
        self._new.clear()

    def _write(self, session: int, new: list[tuple[int, int, Mapping[str, int]]]) -> None:
        first, end = new[0][0], new[-1][0] + 1
        start, sealed = first // SEGMENT * SEGMENT, end // SEGMENT * SEGMENT
        if sealed > start:
            old = [
                (document, length, read_terms(written))
                for document, length, written in self._db.execute(_sql.tail, (session, start))
            ]
            documents = [*old, *new]
            for at in range(0, sealed - start, SEGMENT):
                self._seal(session, documents[at : at + SEGMENT])
            if old:
                self._db.execute(_sql.drop_tail, (session, sealed))
        rows = (
            (session, document, length, write_terms(counts))
            for document, length, counts in new
            if document >= sealed
        )
        self._db.executemany(_sql.add_tail, rows)

    def _seal(self, session: int, documents: list[tuple[int, int, Mapping[str, int]]]) -> None:
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for document, length, counts in documents:
            once = posting(document, 0, length)
            for term, count in counts.items():
                postings[term].append(once | (count if count < 256 else 255) << 8)
        block = documents[0][0] // BLOCK
        rows = ((session, term, block, pack(postings[term])) for term in sorted(postings))
        self._db.executemany(_sql.add_postings, rows)
