"""The passages by which items are found, as documents of the text index."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from weft.readmodel.postings import IndexWriter, clip
from weft.readmodel.sessions import SessionState
from weft.readmodel.sql import statements
from weft.readmodel.terms import words

_sql = statements("postings")


class Documents:
    """Written within the fold's transaction; `flush` before it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._index = IndexWriter(db)

    def add(self, state: SessionState, item: int, version: int, passages: Sequence[str]) -> None:
        """Index the passages by which an item is found from the sequence `version` on."""
        for passage, text in enumerate(passages):
            terms = clip(words(text))
            if terms:
                document = state.add_document(len(terms))
                row = (state.number, document, item, passage, version, state.words)
                self._db.execute(_sql.add_document, row)
                self._index.add(state.number, document, terms)

    def supersede(self, item: int, until: int) -> None:
        """From `until` on, the item's earlier documents no longer match."""
        for place in self._db.execute(_sql.documents_of_item, (item,)).fetchall():
            self._db.execute(_sql.supersede, (*place, until))

    def flush(self) -> None:
        self._index.flush()

    @property
    def is_due(self) -> bool:
        """Whether `seal` has something to do."""
        return self._index.is_due

    def seal(self) -> None:
        """Seal what `flush` left to be sealed, in a transaction."""
        self._index.seal()

    def forget(self) -> None:
        """The transaction failed."""
        self._index.discard()
