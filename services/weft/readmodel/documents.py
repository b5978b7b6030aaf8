"""The passages by which items are found, as documents of the text index."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from weft.readmodel.postings import (
    BLOCK,
    SEGMENT,
    Document,
    Postings,
    clip,
    invert,
    length_code,
    pack,
)
from weft.readmodel.sessions import SessionState
from weft.readmodel.sql import statements
from weft.terms import words

_sql = statements("postings")


class Documents:
    """Written within the fold's transaction; `flush` before it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._new: defaultdict[int, list[Document]] = defaultdict(list)
        """By session, in order."""

    def add(self, state: SessionState, item: int, version: int, passages: Sequence[str]) -> None:
        """Index the passages by which an item is found from the sequence `version` on."""
        for passage, text in enumerate(passages):
            terms = clip(words(text))
            if terms:
                document = state.add_document(len(terms))
                row = (state.number, document, item, passage, version, state.words)
                self._db.execute(_sql.add_document, row)
                self._new[state.number].append((document, length_code(len(terms)), terms))

    def supersede(self, item: int, until: int) -> None:
        """From `until` on, the item's earlier documents no longer match."""
        self._db.execute(_sql.supersede, (until, item))

    def flush(self) -> None:
        """Write what was added: full segments as postings, the rest to the tail."""
        rows: list[tuple[int, int, int, str]] = []
        for session, documents in self._new.items():
            sealed = self._seal_full(session, documents)
            rows += (
                (session, document, length, "\n".join(terms))
                for document, length, terms in documents
                if document >= sealed
            )
        self._db.executemany(_sql.add_tail, rows)
        self._new.clear()

    def forget(self) -> None:
        """The transaction failed."""
        self._new.clear()

    def _seal_full(self, session: int, new: list[Document]) -> int:
        """Seal the segments that are full with these; gives the first document that is not."""
        first, end = new[0][0], new[-1][0] + 1
        start, sealed = first // SEGMENT * SEGMENT, end // SEGMENT * SEGMENT
        if sealed > start:
            old = [
                (document, length, written.split("\n"))
                for document, length, written in self._db.execute(_sql.tail, (session, start))
            ]
            full = [*old, *new][: sealed - start]
            for _, block in groupby(full, lambda document: document[0] // BLOCK):
                self._seal(session, list(block))
            if old:
                self._db.execute(_sql.drop_tail, (session, sealed))
        return sealed

    def _seal(self, session: int, documents: list[Document]) -> None:
        """Append the postings of a block's next documents to the rows of their terms."""
        block, postings = documents[0][0] // BLOCK, Postings(list)
        for document in documents:
            invert(document, postings)
        rows = ((session, term, block, pack(postings[term])) for term in sorted(postings))
        self._db.executemany(_sql.add_postings, rows)
