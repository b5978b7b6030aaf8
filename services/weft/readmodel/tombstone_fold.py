"""Deletes what a tombstone names: the rows of a session, a tenant or a scope (its items in every
session, all derived from them, its memory). The rest is as if the log had never held these."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable

import msgspec

from weft.call_text import call_text
from weft.passages.splitting import passages_of
from weft.readmodel.derived_fold import envelope_text
from weft.readmodel.documents import Documents
from weft.readmodel.memory_fold import forget
from weft.readmodel.postings import counted
from weft.readmodel.session_counters import Sessions, SessionState
from weft.readmodel.store import insert, run_each, statements
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.items import ItemKind

_sql = statements("erasure")
_fold = statements("fold")
_scope = statements("scope_erasure")


def erase_session(db: sqlite3.Connection, tenant: str, session: str, at: int) -> None:
    """Delete a session's rows."""
    run_each(db, _sql.rows_of_session, (tenant, session))
    for number, *_ in db.execute(_fold.sessions, (tenant, session)).fetchall():
        forget(db, db.execute(_sql.memories_of_session, (number,)).fetchall(), at)
        db.execute(_sql.delete_session, (number,))


def erase_tenant(db: sqlite3.Connection, tenant: str, at: int) -> None:
    """Delete everything of a tenant except tombstones."""
    for (session,) in db.execute(_sql.sessions_of_tenant, (tenant,)).fetchall():
        erase_session(db, tenant, session, at)
    run_each(db, _sql.rows_of_tenant, (tenant,))


def erase_scope(
    db: sqlite3.Connection, tenant: str, scope: str, at: int, unreadable: Iterable[int] = ()
) -> None:
    """Delete what came before `at`; later items of the scope are not affected. `unreadable` are
    records that could not be decoded. Flush all pending rows first."""
    place = {"tenant": tenant, "scope": scope, "at": at}
    db.execute(_scope.collect)
    db.execute(_scope.clear)
    db.execute(_scope.naming, place)
    while db.execute(_scope.slices, place).rowcount:
        pass
    sessions = db.execute(_scope.sessions_of_items).fetchall()
    forget(db, db.execute(_scope.memories, place).fetchall(), at)
    run_each(db, _scope.derived)
    for sequence in unreadable:
        run_each(db, _scope.faults, (sequence, tenant))
    db.execute(_scope.scopes, {"tenant": tenant, "scope": scope})
    db.execute(_scope.items)
    db.execute(_scope.clear)
    documents, states = Documents(db), Sessions(db)
    for number, session in sessions:
        run_each(db, _scope.renumber, (number,))
        insert(db, "partly_erased", number, at, conflict="REPLACE")
        state = states.find(tenant, session)
        assert state is not None
        _index_again(db, state, documents)
    documents.flush()
    documents.seal()
    states.flush()


def _index_again(db: sqlite3.Connection, state: SessionState, documents: Documents) -> None:
    """The text index of the remaining items, built as the fold builds it."""
    for version, item, *row in db.execute(_scope.texts, (state.number,)).fetchall():
        if version != item:
            documents.supersede(item, version)
        documents.add(state, item, version, counted(_passages(*row)))


def _passages(
    kind: str, text: str, metadata: bytes | None, envelope: bytes | None, packed: bytes | None
) -> list[str]:
    content_type = ""
    if envelope is not None:
        made = msgspec.json.decode(envelope, type=ResultEnvelope)
        content_type = made.content_type
        if packed is not None:
            text = zlib.decompress(packed).decode()
        elif made.complete or made.passthrough:
            text = made.summary
        else:
            return [envelope_text(made)]
    elif kind == ItemKind.TOOL_CALL:
        text = call_text(text, msgspec.json.decode(metadata) if metadata else {})
    return passages_of(text, content_type)[1]


def newest_tombstone(db: sqlite3.Connection) -> int:
    """Sequence of the newest tombstone, 0 without one."""
    return int(db.execute(_sql.newest_tombstone).fetchone()[0])
