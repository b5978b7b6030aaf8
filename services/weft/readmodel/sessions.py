"""The fold's running counters of each session, kept in memory between records of a batch."""

from __future__ import annotations

import sqlite3

import msgspec

from weft.readmodel.sql import statements

_sql = statements("fold")
_MAX_CACHED = 20_000
"""Sessions whose counters stay in memory between batches; about 10 MB."""


class SessionState(msgspec.Struct):
    """Counters of one session as of the last folded record."""

    number: int
    items: int = 0
    documents: int = 0
    words: int = 0
    closed: int = 0
    duplicates: int = 0
    """New ones; the others are in the row."""
    last_ns: int = 0
    last_sequence: int = 0
    changed: bool = False

    def add_item(self, sequence: int, published_ns: int) -> None:
        self.items += 1
        self.last_sequence = sequence
        self.last_ns = max(self.last_ns, published_ns)
        self.changed = True

    def add_document(self, length: int) -> int:
        """Count a document of `length` words in; gives its number."""
        self.documents += 1
        self.words += length
        self.changed = True
        return self.documents - 1

    def add_duplicate(self) -> None:
        self.duplicates += 1
        self.changed = True

    def close(self, at: int) -> None:
        self.closed = at
        self.changed = True


class Sessions:
    """Session states by tenant and id; rows are made at first use."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[tuple[str, str], SessionState] = {}

    def find(self, tenant: str, session: str) -> SessionState | None:
        """The state of a session that has rows."""
        state = self._known.get((tenant, session))
        if state is None:
            row = self._db.execute(_sql.sessions, (tenant, session)).fetchone()
            if row is None:
                return None
            state = self._known[tenant, session] = SessionState(*row)
        return state

    def get(self, tenant: str, session: str, published_ns: int) -> SessionState:
        """The state of a session, which gets its row here where it is new."""
        state = self.find(tenant, session)
        if state is None:
            values = (tenant, session, published_ns)
            number = self._db.execute(_sql.add_session, values).lastrowid or 0
            state = self._known[tenant, session] = SessionState(number)
        return state

    def flush(self) -> None:
        """Write the changed counters."""
        changed = [state for state in self._known.values() if state.changed]
        self._db.executemany(_sql.update_session, map(msgspec.structs.asdict, changed))
        for state in changed:
            state.duplicates = 0
            state.changed = False
        if len(self._known) > _MAX_CACHED:
            self._known.clear()

    def forget(self) -> None:
        """Drop what is in memory: the rows changed underneath, or the transaction failed."""
        self._known.clear()
