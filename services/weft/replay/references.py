"""Which large body an event refers to."""

from __future__ import annotations

from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.items import BodyRef


def body_of(record: LogRecord) -> BodyRef | None:
    """The body that a record's item or catalogue lies in."""
    if b'"sha256"' not in record.payload:
        return None
    try:
        body = getattr(record.event(), "body", None)
    except InvalidInput:
        return None
    return body if isinstance(body, BodyRef) else None
