"""The state of a read model: its checkpoint; items that collided, are pending or parked; quiet and
active sessions; and where an artifact's body is."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from weft.readmodel.rows import effective
from weft.readmodel.store import OPEN, get_meta, snapshot, statements
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.errors import erased_session, no_artifact
from weft_schemas.ids import artifact_handle
from weft_schemas.items import BodyRef, ItemKind, Sensitivity
from weft_schemas.status import (
    HISTORY,
    LISTED,
    Collision,
    DeadLetter,
    SessionsReply,
    SessionsRequest,
    SessionSummary,
    StatusReply,
    StatusRequest,
    Waiting,
)

_sql = statements("status")
_view = statements("view")

_MAX_TRIED = 2_000
"""Items without an envelope whose handles are computed to find one: 5 ms."""


class SessionRow(msgspec.Struct, frozen=True):
    """A session as of the newest folded sequence."""

    tenant: str
    session: str
    last_sequence: int
    """Of its newest item."""


class LoggedArtifact(msgspec.Struct, frozen=True):
    """Where the raw body behind a handle is."""

    handle: str
    session: str
    item_id: str
    sequence: int
    """Of the item: its event holds the body, unless `body` is set."""
    kind: ItemKind
    size: int
    """Bytes."""
    content_type: str
    sensitivity: Sensitivity
    """Effective now."""
    body: BodyRef | None
    envelope: ResultEnvelope | None
    """None while it waits for its envelope."""
    untrusted: bool


def status(
    db: sqlite3.Connection, tenant: str, session: str | None, request: StatusRequest
) -> StatusReply:
    """The status of a tenant, or of one of its sessions. Raises `Conflict` for a session that was
    erased if the request is about publishing to it, with `contents` or `history`."""
    rows = partial(_rows, db, {"tenant": tenant, "session": session, "open": OPEN})
    with snapshot(db):
        is_published_to = request.history or request.contents is not msgspec.UNSET
        place = {"tenant": tenant, "session": session, "at": OPEN}
        if session and is_published_to and db.execute(_view.erased, place).fetchone()[0]:
            raise erased_session(tenant, session)
        counted = rows("counts", 1) or [(0,) * 7]
        sessions, items, duplicates, collisions, conflicts, pending, parked = counted[0]
        span = {"first": 0, "last": OPEN}
        if request.first or request.last:
            span = {"first": request.first, "last": min(request.last, OPEN), "limit": -1}
        return StatusReply(
            tenant=tenant,
            session=session,
            sequence=int(get_meta(db, "checkpoint") or 0),
            encoding=str(get_meta(db, "encoding") or ""),
            sessions=sessions,
            items=items,
            duplicates=duplicates,
            conflicts=conflicts,
            pending=pending,
            parked=parked,
            collisions=tuple(
                Collision(name, item_id, at, first, bool(conflict))
                for name, item_id, at, first, conflict in rows("collisions", collisions, **span)
            ),
            waiting=tuple(Waiting(*row) for row in rows("waiting", pending)),
            dead_letters=tuple(DeadLetter(*row) for row in rows("dead_letters", parked)),
            places=_places(db, tenant, session, request),
            history=_history(db, tenant, session) if request.history else msgspec.UNSET,
            others=_others(db, tenant, session, request.contents),
        )


def _rows(
    db: sqlite3.Connection, place: Mapping[str, object], name: str, count: int, **limits: int
) -> list[Any]:
    """What is found of a tenant, or of its session if one is given. No query if `count` is 0."""
    whose = "tenant" if place["session"] is None else "session"
    where = {**place, "limit": LISTED, **limits}
    return db.execute(getattr(_sql, f"{name}_of_{whose}"), where).fetchall() if count else []


def _places(
    db: sqlite3.Connection, tenant: str, session: str | None, request: StatusRequest
) -> dict[str, int]:
    ids = (*request.ids, *(item_id for item_id, _ in request.contents or ()))
    found = ((id, db.execute(_sql.place, (tenant, session, id)).fetchone()) for id in ids)
    return {id: row[0] for id, row in found if row is not None}


def _others(
    db: sqlite3.Connection,
    tenant: str,
    session: str | None,
    contents: tuple[tuple[str, str], ...] | msgspec.UnsetType,
) -> tuple[Collision, ...] | msgspec.UnsetType:
    """Those whose id belongs to other content. Digests are compared here and not given out: a short
    secret can be found from its digest by trying all possibilities."""
    if contents is msgspec.UNSET or session is None:
        return msgspec.UNSET
    found: list[Collision] = []
    lost: dict[tuple[str, str], int] | None = None
    for item_id, digest in contents:
        row = db.execute(_sql.content, (tenant, session, item_id)).fetchone()
        if row is None or row[1].hex() == digest:
            continue
        first, _, number = row
        if lost is None:
            rows = db.execute(_sql.lost, (number,))
            lost = {(id, hash.hex()): sequence for id, hash, sequence in rows}
        at = lost.get((item_id, digest), 0)
        found.append(Collision(session, item_id, at, first, conflict=True))
    return tuple(found)


def sessions_of(db: sqlite3.Connection, tenant: str, request: SessionsRequest) -> SessionsReply:
    """One page of a tenant's sessions, by name."""
    size = request.limit
    where = {"tenant": tenant, "beyond": request.beyond, "limit": size + 1}
    with snapshot(db):
        rows = db.execute(_sql.sessions_of_tenant, where).fetchall()
        sequence = int(get_meta(db, "checkpoint") or 0)
    found = tuple(
        SessionSummary(session, items, last_sequence, last_ns, bool(closed))
        for session, items, last_sequence, last_ns, closed in rows[:size]
    )
    following = found[-1].session if len(rows) > size else None
    return SessionsReply(tenant, found, sequence, following)


def _history(db: sqlite3.Connection, tenant: str, session: str | None) -> tuple[str, ...]:
    rows = db.execute(_sql.history, (tenant, session, HISTORY)).fetchall()
    return tuple(row[0] for row in reversed(rows))


def sessions(db: sqlite3.Connection, limit: int) -> list[SessionRow]:
    """The sessions last active, of all tenants, the newest first."""
    return [SessionRow(*row) for row in db.execute(_sql.sessions, (limit,))]


def quiet_sessions(db: sqlite3.Connection, before_ns: int, limit: int) -> list[SessionRow]:
    """Open sessions whose newest item is of `before_ns`, nanoseconds since 1970 UTC, or older."""
    rows = db.execute(_sql.quiet, {"before": before_ns, "limit": limit})
    return [SessionRow(*row) for row in rows]


def artifact(db: sqlite3.Connection, tenant: str, handle: str, key: bytes = b"") -> LoggedArtifact:
    """Look up a handle: one in an envelope or, with the deployment's `key` for handles, that of an
    item without an envelope. Raises `NotFound` if the tenant has no such handle."""
    sequence = _place_of(db, tenant, handle, key)
    row = None if sequence is None else db.execute(_sql.artifact, (sequence,)).fetchone()
    if row is None or sequence is None:
        raise no_artifact(tenant, handle)
    session, item_id, kind, untrusted, size, sha256, level, metadata, packed, raised = row
    envelope = msgspec.json.decode(packed, type=ResultEnvelope) if packed else None
    named = msgspec.json.decode(metadata).get("content_type") if metadata else None
    return LoggedArtifact(
        handle=handle,
        session=session,
        item_id=item_id,
        sequence=sequence,
        kind=ItemKind(kind),
        size=size,
        content_type=envelope.content_type if envelope else named or "text/plain",
        sensitivity=effective(level, raised, envelope),
        body=BodyRef(sha256, size) if sha256 else None,
        envelope=envelope,
        untrusted=bool(untrusted),
    )


def _place_of(db: sqlite3.Connection, tenant: str, handle: str, key: bytes) -> int | None:
    if found := db.execute(_sql.of_handle, (tenant, handle)).fetchone():
        return int(found[0])
    # No envelope tells the handle of what waits for its own, nor that of a large trusted item.
    where = {"tenant": tenant, "limit": _MAX_TRIED}
    queries = (_sql.waiting_of_tenant, _sql.large_of_tenant)
    for session, item_id, sequence in chain(*(db.execute(query, where) for query in queries)):
        if artifact_handle(tenant, session, item_id, key) == handle:
            return int(sequence)
    return None
