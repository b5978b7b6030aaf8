"""Which large body an event refers to."""

from __future__ import annotations

from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.events import Event
from weft_schemas.ids import is_digest
from weft_schemas.items import BodyRef


def body_of(record: LogRecord) -> BodyRef | None:
    """The body that holds a record's item or catalogue."""
    if b'"sha256"' not in record.payload:
        return None
    try:
        return body_in(record.event())
    except InvalidInput:
        return None


def body_in(event: Event) -> BodyRef | None:
    """The body that holds an item or a catalogue. An agent may write anything in place of the
    digest; that refers to nothing, and does not stop readers of the log."""
    body = getattr(event, "body", None)
    return body if isinstance(body, BodyRef) and is_digest(body.sha256) else None
