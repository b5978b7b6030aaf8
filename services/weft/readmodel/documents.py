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
    Postings,
    clip,
    invert,
    length_code,
    pack_all,
)
from weft.readmodel.session_counters import SessionState
from weft.readmodel.sql import statements
from weft.terms import words

_sql = statements("postings")


class Documents:
    """Writes within the fold's transaction; call `flush` before it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._new: defaultdict[int, list[Document]] = defaultdict(list)
        """By session, in order."""
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        """Of the table of documents, not written yet."""
        self._full: set[int] = set()
        """Sessions with full segments that are not sealed."""

    def add(self, state: SessionState, item: int, version: int, passages: Sequence[str]) -> None:
        """Index the passages of an item, which is found by them from the sequence `version` on."""
        for passage, text in enumerate(passages):
            terms = clip(words(text))
            if terms:
                document = state.add_document(len(terms))
                row = (state.number, document, item, passage, version, state.words)
                self._rows.append(row)
                self._new[state.number].append((document, length_code(len(terms)), terms))

    def supersede(self, item: int, until: int) -> None:
        """From `until` on, the item's earlier documents no longer match."""
        self._write_rows()
        self._db.execute(_sql.supersede, (until, item))

    def _write_rows(self) -> None:
        self._db.executemany(_sql.add_document, self._rows)
        self._rows.clear()

    def flush(self) -> None:
        """Write the added documents, unsealed; if there would be many of these, seal their full
        segments."""
        self._write_rows()
        rows: list[tuple[int, int, int, str]] = []
        for session, documents in self._new.items():
            sealed = self._seal_long(session, documents)
            rows += (
                (session, document, length, "\n".join(terms))
                for document, length, terms in documents
                if document >= sealed
            )
        self._db.executemany(_sql.add_unsealed, rows)
        self._new.clear()

    @property
    def is_due(self) -> bool:
        """Whether `seal` has something to do."""
        return bool(self._full)

    def seal(self) -> None:
        """Seal the full segments that `flush` left. Call it in a transaction, when no request waits
        for the new documents."""
        for session in sorted(self._full):
            stored = self._unsealed(session)
            if stored:
                self._seal_full(session, stored, stored, stored[-1][0] + 1)
        self._full.clear()

    def forget(self) -> None:
        """Drop what was added, after the transaction failed."""
        self._new.clear()
        self._rows.clear()

    def _seal_long(self, session: int, new: list[Document]) -> int:
        """Seal the full segments if they are many, or end a block. Returns the first document that
        stays unsealed."""
        first, end = new[0][0], new[-1][0] + 1
        if first // SEGMENT == end // SEGMENT:
            return first
        stored = self._db.execute(_sql.first_unsealed, (session,)).fetchone()[0]
        start = first if stored is None else stored
        full = end // SEGMENT * SEGMENT
        if full - start <= UNSEALED and full // BLOCK == start // BLOCK:
            self._full.add(session)
            return first
        old = self._unsealed(session)
        return self._seal_full(session, [*old, *new], old, end)

    def _seal_full(
        self, session: int, documents: list[Document], stored: list[Document], end: int
    ) -> int:
        """Seal the full segments of the unsealed `documents`, of which `stored` are in the file.
        Returns the first that stays unsealed."""
        start, sealed = documents[0][0], end // SEGMENT * SEGMENT
        for _, block in groupby(documents[: sealed - start], lambda one: one[0] // BLOCK):
            self._seal(session, list(block))
        if stored:
            self._db.execute(_sql.drop_unsealed, (session, sealed))
        return sealed

    def _unsealed(self, session: int) -> list[Document]:
        return [
            (document, length, written.split("\n"))
            for document, length, written in self._db.execute(_sql.unsealed, (session, 0))
        ]

    def _seal(self, session: int, documents: list[Document]) -> None:
        """Append the postings of a block's next documents to the rows of their terms."""
        block, postings = documents[0][0] // BLOCK, Postings(list)
        for document in documents:
            invert(document, postings)
        terms, entries = pack_all(postings)
        row = {"session": session, "block": block, "entries": entries}
        self._db.execute(_sql.add_postings, {**row, "terms": msgspec.json.encode(terms).decode()})
