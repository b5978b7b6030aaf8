"""Finds the records of a tenant's log that belong to a scope, one by one and in order. Pure. They
are: the scope's items, from every publisher; everything that has the id of such an item; slices of
their bodies; what was derived from any of these; what is remembered for the scope; and events about
a session as a whole, from its first erased item on."""

from __future__ import annotations

from typing import Any

import msgspec

from weft.log.record import LogRecord
from weft.references.bodies import body_in
from weft_schemas.errors import InvalidInput
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    Event,
    FactsEvent,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem


class ScopeSurvey:
    """Filled record by record, over the whole log of a tenant. `again` begins a second pass, for
    records that only the first pass could reveal."""

    def __init__(self, scope: str, before: int) -> None:
        """Only what is before this sequence counts."""
        self._scope = scope
        self._before = before
        self._written = msgspec.json.encode(scope)
        self._ids: set[tuple[str, str]] = set()
        """Session and id of the items."""
        self._handles: set[str] = set()
        self._first: dict[str, int] = {}
        """Session → its first item that is erased."""
        self._kept_bodies: set[str] = set()
        self._bodies: set[str] = set()
        self.events: set[int] = set()
        self.unreadable: set[int] = set()
        """Of these, items that cannot be decoded."""

    @property
    def sessions(self) -> list[str]:
        """Sessions that held items of it."""
        return sorted(self._first)

    @property
    def bodies(self) -> list[str]:
        """Digests of bodies that only such items refer to."""
        return sorted(self._bodies - self._kept_bodies)

    def take(self, record: LogRecord) -> bool:
        """Take in a record. Returns whether it is to be erased and was not known to be so."""
        if record.sequence in self.events:
            return False
        try:
            place, event = record.address(), record.event()
        except InvalidInput:
            return self._take_unreadable(record)
        body = body_in(event)
        if not self._goes(record, place.session, event):
            if body is not None:
                self._kept_bodies.add(body.sha256)
            return False
        self.events.add(record.sequence)
        if body is not None:
            self._bodies.add(body.sha256)
        if isinstance(event, ContextItem):
            self._ids.add((place.session, event.id))
            self._first[place.session] = min(
                record.sequence, self._first.get(place.session, record.sequence)
            )
        if isinstance(event, EnvelopeEvent):
            self._handles.update(one.handle for one in event.envelope.artifacts)
        return True

    def again(self) -> None:
        """Call it before the second pass."""
        self._kept_bodies.clear()

    def _take_unreadable(self, record: LogRecord) -> bool:
        """What it names is unknown; it is erased if it contains the scope."""
        if self._written not in record.payload or record.sequence >= self._before:
            return False
        self.events.add(record.sequence)
        self.unreadable.add(record.sequence)
        return True

    def _goes(self, record: LogRecord, session: str, event: Event) -> bool:
        if isinstance(event, ContextItem):
            named = (session, event.id) in self._ids
            return record.sequence < self._before and (named or self._names(event.metadata))
        if isinstance(event, SessionClosedEvent):
            return False
        origin = getattr(event, "origin", None)
        if origin is None:
            return False
        if origin.sequence in self.events:
            return True
        if origin.sequence >= self._before:
            return False
        tells = isinstance(event, SummaryEvent | EpisodeEvent) and not origin.item_id
        if tells and self._first.get(session, record.sequence) < record.sequence:
            return True
        if isinstance(event, FactsEvent | EpisodeEvent | SummaryEvent):
            return event.scope == self._scope
        return False

    def _names(self, metadata: dict[str, Any]) -> bool:
        return metadata.get("scope") == self._scope or metadata.get("slice_of") in self._handles
