"""The passages by which items are found, as documents of the text index."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

import msgspec

from weft.readmodel.postings import (
    BLOCK,
    SEGMENT,
    UNSEALED,
    Document,
    Passage,
    Postings,
    invert,
    pack_all,
)
from weft.readmodel.session_counters import SessionState
from weft.readmodel.store import OPEN, statements

_sql = statements("postings")


class Documents:
    """Writes within the fold's transaction; call `flush` before it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._new: defaultdict[int, list[Document]] = defaultdict(list)
        """By session, in order."""
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        """Of the table of documents, not written yet."""
        self.full: set[int] = set()
        """Sessions with full segments that are not sealed."""

    def add(
        self, state: SessionState, item: int, version: int, passages: Sequence[Passage]
    ) -> None:
        """Index the passages of an item, which is found by them from the sequence `version` on."""
        for passage, words, length, terms, times in passages:
            number = state.add_document(words)
            self._rows.append((state.number, number, item, passage, version, state.words))
            self._new[state.number].append((number, length, terms, times))

    def supersede(self, item: int, until: int) -> None:
        """From `until` on, the item's earlier documents no longer match."""
        self.flush()
        self._db.execute(_sql.supersede, (until, item))

    def flush(self) -> None:
        """Write the added documents, unsealed, and seal full segments if that makes many."""
        self._db.executemany(_sql.add_document, self._rows)
        self._rows.clear()
        rows: list[tuple[int, int, int, str, bytes]] = []
        for session, documents in self._new.items():
            sealed = self._seal_long(session, documents)
            rows += (
                (session, number, length, "\n".join(terms), times)
                for number, length, terms, times in documents
                if number >= sealed
            )
        self._db.executemany(_sql.add_unsealed, rows)
        self._new.clear()

    def seal(self) -> None:
        """Seal the full segments that `flush` left, in a transaction that no request waits for."""
        for session in sorted(self.full):
            if documents := self._unsealed(session, OPEN):
                self._seal_full(session, documents)
        self.full.clear()

    def forget(self) -> None:
        """Drop the documents in memory, after the transaction failed or others erased some."""
        self._new.clear()
        self._rows.clear()

    def _seal_long(self, session: int, new: list[Document]) -> int:
        """Seal the full segments if many or at the end of a block. Returns the first left."""
        first, end = new[0][0], new[-1][0] + 1
        if first // SEGMENT == end // SEGMENT:
            return first
        stored = self._db.execute(_sql.first_unsealed, (session,)).fetchone()[0]
        start = first if stored is None else stored
        full = end // SEGMENT * SEGMENT
        if full - start <= UNSEALED and full // BLOCK == start // BLOCK:
            self.full.add(session)
            return first
        self.full.discard(session)
        return self._seal_full(session, [*self._unsealed(session, first), *new])

    def _seal_full(self, session: int, documents: list[Document]) -> int:
        """Seal the full segments of these. Returns the first document that stays unsealed."""
        start, end = documents[0][0], documents[-1][0] + 1
        sealed = end // SEGMENT * SEGMENT
        for _, block in groupby(documents[: sealed - start], lambda one: one[0] // BLOCK):
            self._seal(session, list(block))
        self._db.execute(_sql.drop_unsealed, (session, sealed))
        return sealed

    def _unsealed(self, session: int, until: int) -> list[Document]:
        """The documents in the file before the document `until`."""
        return [
            (number, length, terms.split("\n"), times)
            for number, length, terms, times in self._db.execute(_sql.unsealed, (session, 0, until))
        ]

    def _seal(self, session: int, documents: list[Document]) -> None:
        """Append the postings of a block's next documents to the rows of their terms."""
        block, postings = documents[0][0] // BLOCK, Postings(list)
        for one in documents:
            invert(one, postings)
        terms, entries = pack_all(postings)
        row = {"session": session, "block": block, "entries": entries}
        self._db.execute(_sql.add_postings, {**row, "terms": msgspec.json.encode(terms).decode()})
