"""The text index: which documents of a session hold a term, as packed bytes.

A document is one version of an item's text, numbered within its session in log order. Every 256 of
them are sealed into a segment: for each term one row with three bytes a posting (place in the
segment, frequency, length on a logarithmic scale). Newer documents wait in the tail, word for word.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from math import log2

from weft.readmodel.sql import statements

SEGMENT = 256
"""Documents per segment: the place of a document in it is one byte."""
WIDTH = 3
"""Bytes per posting."""
MAX_TERM = 40
"""Characters of a term that count; longer ones are hashes and base64."""

_STEPS = 12
"""Steps per doubling of the length scale: a length is kept to within 3 %."""
LENGTHS = tuple(2 ** (code / _STEPS) for code in range(256))
"""Length in words for each code of the scale."""

_sql = statements("postings")


def clip(counts: Mapping[str, int]) -> Counter[str]:
    """The terms as indexed: cut to `MAX_TERM` characters."""
    if all(len(term) <= MAX_TERM for term in counts):
        return counts if isinstance(counts, Counter) else Counter(counts)
    clipped: Counter[str] = Counter()
    for term, count in counts.items():
        clipped[term[:MAX_TERM]] += count
    return clipped


def length_code(words: int) -> int:
    """Where a length in words stands on the logarithmic scale."""
    return min(255, round(_STEPS * log2(max(1, words))))


def write_terms(counts: Mapping[str, int]) -> str:
    """Terms as a tail row holds them: each on a line, `term` or `term<TAB>frequency`."""
    lines = (term if count == 1 else f"{term}\t{count}" for term, count in counts.items())
    return "\n" + "\n".join(lines) + "\n"


def read_terms(written: str) -> Iterable[tuple[str, int]]:
    for line in written.split("\n"):
        if line:
            term, _, count = line.partition("\t")
            yield term, int(count or 1)


def frequency(written: str, term: str) -> int:
    """How often the document of a tail row holds `term`, without taking the row apart."""
    if f"\n{term}\n" in written:
        return 1
    at = written.find(f"\n{term}\t")
    if at < 0:
        return 0
    start = at + len(term) + 2
    return int(written[start : written.index("\n", start)])


class IndexWriter:
    """Adds documents within the fold's transaction; `flush` before it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._new: dict[int, list[tuple[int, int, str]]] = {}

    def add(
        self,
        session: int,
        document: int,
        item: int,
        version: int,
        counts: Mapping[str, int],
        words: int,
        length: int,
    ) -> None:
        """`words`: of the session with this document; `length`: of this document."""
        self._db.execute(_sql.add_document, (session, document, item, version, words))
        row = (document, length_code(length), write_terms(counts))
        self._new.setdefault(session, []).append(row)

    def supersede(self, item: int, until: int) -> None:
        """From `until` on, no document so far of this item matches."""
        for session, document in self._db.execute(_sql.documents_of_item, (item,)).fetchall():
            self._db.execute(_sql.supersede, (session, document, until))

    def forget(self, session: int) -> None:
        """Drop what was added and not flushed: the session is being erased."""
        self._new.pop(session, None)

    def flush(self) -> None:
        """Write what was added: full segments as postings, the rest to the tail."""
        for session, rows in self._new.items():
            self._write(session, rows)
        self._new.clear()

    def discard(self) -> None:
        """Forget what was added: the transaction failed."""
        self._new.clear()

    def _write(self, session: int, rows: list[tuple[int, int, str]]) -> None:
        first, last = rows[0][0], rows[-1][0]
        sealed = (last + 1) // SEGMENT * SEGMENT
        start = first // SEGMENT * SEGMENT
        if sealed > start:
            old = self._db.execute(_sql.tail, (session, start)).fetchall()
            documents = [row for row in (*old, *rows) if row[0] < sealed]
            for at in range(0, len(documents), SEGMENT):
                self._seal(session, documents[at : at + SEGMENT])
            if old:
                self._db.execute(_sql.drop_tail, (session, sealed))
        kept = ((session, *row) for row in rows if row[0] >= sealed)
        self._db.executemany(_sql.add_tail, kept)

    def _seal(self, session: int, documents: list[tuple[int, int, str]]) -> None:
        entries: dict[str, bytearray] = {}
        for document, length, written in documents:
            place = document % SEGMENT
            for term, count in read_terms(written):
                packed = bytes((place, min(count, 255), length))
                found = entries.get(term)
                if found is None:
                    entries[term] = bytearray(packed)
                else:
                    found += packed
        segment = documents[0][0] // SEGMENT
        rows = ((session, term, segment, bytes(entries[term])) for term in sorted(entries))
        self._db.executemany(_sql.add_postings, rows)
