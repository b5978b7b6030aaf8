"""Read models of a few events, for tests of what each event does to them."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from weft.readmodel.digest import session_digests
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.status import status
from weft.terms import analyse
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import (
    EnvelopeEvent,
    Event,
    FactsEvent,
    MemoryFact,
    Origin,
)
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.status import StatusReply, StatusRequest


class Fault(NamedTuple):
    """A record that the fold skipped."""

    sequence: int
    tenant: str
    session: str
    code: str
    error: str


def faults(db: sqlite3.Connection) -> list[Fault]:
    """Newest first."""
    rows = db.execute("SELECT sequence, tenant, session, code, error FROM faults ORDER BY 1 DESC")
    return [Fault(*row) for row in rows]


def session_digest(db: sqlite3.Connection, tenant: str, session: str) -> str:
    """Empty if the session has no content."""
    found = (value for *place, value in session_digests(db) if place == [tenant, session])
    return next(found, "")


def model(*events: Event) -> ReadModel:
    """Events of tenant t, session s, as sequences 1, 2, …"""
    return ReadModel.in_memory(records_of(events, "t", "s"))


def turn(id: str, text: str = "", **fields: object) -> ContextItem:
    return ContextItem(id, ItemKind.USER_TURN, text or f"turn {id}", **fields)  # type: ignore[arg-type]


def result(id: str, text: str = "raw output", **fields: object) -> ContextItem:
    return ContextItem(id, ItemKind.TOOL_RESULT, text, **fields)  # type: ignore[arg-type]


def envelope(source: int, id: str, summary: str, run: str = "", **fields: object) -> EnvelopeEvent:
    origin = Origin(source, id, "firewall", "1", run=run)
    return EnvelopeEvent(origin, ResultEnvelope(summary, **fields))  # type: ignore[arg-type]


def fact(source: int, id: str, key: str, value: str, scope: str = "u", run: str = "") -> FactsEvent:
    origin = Origin(source, id, "memory", "1", run=run)
    return FactsEvent(origin, scope, (MemoryFact(key, value, (id,)),))


def found(read: ReadModel, text: str, as_of: int | None = None) -> list[int]:
    """Sequences of the items that match a text."""
    view = read.view("t", "s", as_of)
    return [match.sequence for match in view.search(list(analyse(text)), 10)]


def values(read: ReadModel, as_of: int | None = None) -> dict[str, str]:
    """The facts of scope u."""
    return {fact.key: fact.value for fact in read.view("t", "s", as_of).facts(["u"])}


def codes(read: ReadModel) -> list[str]:
    """Of the faults."""
    return [fault.code for fault in faults(read.db)]


def of_tenant(read: ReadModel) -> StatusReply:
    return status(read.db, "t", None, StatusRequest())
