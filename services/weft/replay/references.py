"""Which large body an event refers to."""

from __future__ import annotations

from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.events import Event
from weft_schemas.ids import is_digest
from weft_schemas.items import BodyRef


def body_of(record: LogRecord) -> BodyRef | None:
    """The body that a record's item or catalogue lies in."""
    if b'"sha256"' not in record.payload:
        return None
    try:
        return body_in(record.event())
    except InvalidInput:
        return None


def body_in(event: Event) -> BodyRef | None:
    """The body that an item or a catalogue lies in. An agent may write anything where its digest
    belongs: that refers to nothing, and stops nobody who goes through the log."""
    body = getattr(event, "body", None)
    return body if isinstance(body, BodyRef) and is_digest(body.sha256) else None
