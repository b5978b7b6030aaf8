"""A tenant's policies, grants, catalogues and the tombstones of its sessions outlive the log's age
limit: they are published again before they leave it, and from a read model if they have left."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from weft.erasure.history import Target
from weft.erasure.records import erasure_history, publish_own
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.message import event_headers
from weft.log.publishing import Publisher
from weft.log.reading import nanoseconds, read_matching
from weft.log.record import LogRecord
from weft.readmodel.database import Database
from weft.readmodel.folded_log import folded_log_of, not_held
from weft.readmodel.generations import Generations
from weft.snapshots.erasure_mark import RENEWED, last_erasure, mark_erasures
from weft_schemas.errors import Conflict, Corrupt, InvalidInput
from weft_schemas.events import ErasedEvent, ErasureReceiptEvent, Event, encode_event
from weft_schemas.grants import ScopeGrants
from weft_schemas.ids import TENANT_SESSION, digest
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog
from weft_schemas.subjects import STREAM, derived_subject, stored_filter

Kind = Literal["context_policy", "scope_grants", "catalog", "erased"]
KINDS: tuple[Kind, ...] = ("context_policy", "scope_grants", "catalog", "erased")
RENEWED_SHARE = 0.5
"""Share of the age limit after which an event is published again."""
OVERDUE_SHARE = 0.75
"""After this share it should have been: nobody does it."""

_FOLDED = (
    "SELECT tenant, 'context_policy', session, max(version), body FROM policies "
    "GROUP BY tenant, session UNION ALL "
    "SELECT tenant, 'scope_grants', '', max(version), body FROM grants GROUP BY tenant UNION ALL "
    "SELECT tenant, 'catalog', name, max(version), body FROM catalogs GROUP BY tenant, name "
    "UNION ALL SELECT tenant, 'erased', session, max(version), CAST(reason AS BLOB) "
    "FROM tombstones WHERE session IS NOT NULL GROUP BY tenant, session"
)


class OwnEvent(msgspec.Struct, frozen=True):
    """One that is in force."""

    tenant: str
    kind: Kind
    name: str
    """The session that a policy or a tombstone is for, or a catalogue's name; else empty."""
    sequence: int
    payload: bytes
    share: float
    """How much of its time in the log has passed; over 1 if it has left by age."""

    def __str__(self) -> str:
        what = "tombstone" if self.kind == "erased" else self.kind
        named = f" {self.name!r}" if self.name else ""
        return f"{what}{named} of tenant {self.tenant!r} (event {self.sequence})"


class OwnEvents(msgspec.Struct, frozen=True):
    """Those of all tenants, in a log with an age limit."""

    in_force: list[OwnEvent]
    """In order of the log."""
    lasts: dict[tuple[str, str], int]
    """Tenant and kind → sequence of the last event in the log."""


async def own_events(connection: Connection, data_dir: Path) -> OwnEvents:
    """What is in force by the log and by the read model in a data folder; nothing if the log has no
    age limit."""
    info = await call(connection, f"STREAM.INFO.{STREAM}")
    most = info["config"].get("max_age", 0)
    found: dict[tuple[str, str, str], OwnEvent] = {}
    lasts: dict[tuple[str, str], int] = {}
    if not most:
        return OwnEvents([], lasts)
    now = nanoseconds(info["ts"])
    for one in await _folded(connection, data_dir, info["state"]["first_seq"]):
        found[one.tenant, one.kind, one.name] = one
    for kind in KINDS:
        subjects = stored_filter(session=TENANT_SESSION, direction="out", event=kind)
        async for record in read_matching(connection, subjects):
            with suppress(InvalidInput):
                one = _of(record, kind, (now - record.published_ns) / most)
                lasts[one.tenant, kind] = record.sequence
                found[one.tenant, kind, one.name] = one
    return OwnEvents(sorted(found.values(), key=lambda one: one.sequence), lasts)


async def renew(connection: Connection, data_dir: Path) -> list[OwnEvent]:
    """Publish again what is in force and has been in the log for half of its age limit, or has left
    it. Returns these; a newer event that somebody publishes meanwhile stays the last."""
    await mark_erasures(connection)
    known = await own_events(connection, data_dir)
    due = [one for one in known.in_force if one.share > RENEWED_SHARE]
    erasing = (await erasure_history(connection)).unfinished() if due else []
    renewed = []
    async with Publisher(connection) as publisher:
        for one in due:
            place = one.tenant, one.kind
            with suppress(Conflict):
                known.lasts[place] = at = await _again(publisher, one, known.lasts.get(place, 0))
                renewed.append(one)
                if one.kind == "erased" and Target(one.tenant, one.name or None) not in erasing:
                    receipt = ErasureReceiptEvent(one.name or None, at, {}, ())
                    await publish_own(publisher, one.tenant, receipt)
    return renewed


async def _again(publisher: Publisher, one: OwnEvent, last: int) -> int:
    id = RENEWED + digest("renewed", one.tenant, one.kind, one.name, one.sequence)[:32]
    headers = event_headers(id, f"weft.{one.kind}", "/weft/provision")
    headers["Nats-Expected-Last-Subject-Sequence"] = str(last)
    subject = derived_subject(one.tenant, TENANT_SESSION, one.kind)
    return (await publisher.publish(subject, one.payload, id, headers)).sequence


async def _folded(connection: Connection, data_dir: Path, first: int) -> list[OwnEvent]:
    """What a replica's read model has of events before the log's `first`. One that is not of this
    log, or has not folded an erasure, has nothing to say."""
    if not (data_dir / "replica").is_dir():
        return []
    path = Generations(data_dir).current()
    if path is None:
        return []
    try:
        folded = await folded_log_of(path)
        is_behind = folded.sequence < await last_erasure(connection)
        if is_behind or await not_held(connection, folded):
            return []
        async with Database.reading(path) as db:
            rows = await db.run(_rows)
    except Corrupt:
        return []
    return [one for one in rows if one.sequence < first]


def _rows(db: sqlite3.Connection) -> list[OwnEvent]:
    left = 2.0
    return [
        OwnEvent(tenant, kind, name, version, _payload(kind, name, body), left)
        for tenant, kind, name, version, body in db.execute(_FOLDED)
    ]


def _payload(kind: Kind, name: str, stored: bytes) -> bytes:
    """Of a tombstone a read model has the reason."""
    return encode_event(ErasedEvent(name or None, stored.decode())) if kind == "erased" else stored


def _of(record: LogRecord, kind: Kind, share: float) -> OwnEvent:
    """Raises `InvalidInput` for a malformed event."""
    tenant, name = record.address().tenant, _name(record.event())
    return OwnEvent(tenant, kind, name, record.sequence, record.payload, share)


def _name(event: Event) -> str:
    match event:
        case ContextPolicy() | ErasedEvent():
            return event.session or ""
        case Catalog():
            return event.name
        case ScopeGrants():
            return ""
    raise InvalidInput("this is none of a tenant's own events that stay in force")
