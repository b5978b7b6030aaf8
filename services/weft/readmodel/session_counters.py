"""The fold's running counters of each session, kept in memory between records of a batch."""

from __future__ import annotations

import sqlite3

import msgspec
from msgspec.structs import asdict

from weft.readmodel.store import statements
from weft_schemas.policy import FirewallRules

_sql = statements("fold")


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
    rules: FirewallRules | None = None
    """In force, once an item needed them."""

    def add_item(self, sequence: int, published_ns: int) -> None:
        self.items += 1
        self.last_sequence = sequence
        self.last_ns = max(self.last_ns, published_ns)

    def add_document(self, length: int) -> int:
        """Count a document of `length` words in; gives its number."""
        self.documents += 1
        self.words += length
        return self.documents - 1


class Sessions:
    """Session states by tenant and id; rows are made at first use."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[tuple[str, str], SessionState] = {}

    def find(self, tenant: str, session: str) -> SessionState | None:
        """The state of a session that has rows."""
        key = (tenant, session)
        if key not in self._known and (row := self._db.execute(_sql.sessions, key).fetchone()):
            self._known[key] = SessionState(*row)
        return self._known.get(key)

    def get(self, tenant: str, session: str, published_ns: int) -> SessionState:
        """The state of a session; a new one gets its row here."""
        state = self.find(tenant, session)
        if state is None:
            values = (tenant, session, published_ns)
            number = self._db.execute(_sql.add_session, values).lastrowid or 0
            state = self._known[tenant, session] = SessionState(number)
        return state

    def flush(self) -> None:
        """Write the counters; later counts start from the rows."""
        self._db.executemany(_sql.update_session, map(asdict, self._known.values()))
        self._known.clear()

    def forget(self) -> None:
        """Drop the state, after rows were changed elsewhere or the transaction failed."""
        self._known.clear()
