"""The event that closes an idle session. It is published, so a replay need not decide again."""

from __future__ import annotations

from weft.log.message import Message, event_headers
from weft.readmodel.status import SessionRow
from weft_schemas.events import SessionClosedEvent, encode_event
from weft_schemas.ids import digest
from weft_schemas.subjects import SESSION_CLOSED, derived_subject


def closing_event(session: SessionRow) -> Message:
    """The same on every replica for the same newest item."""
    id = digest("idle", session.tenant, session.session, session.last_sequence)[:32]
    subject = derived_subject(session.tenant, session.session, SESSION_CLOSED)
    event = SessionClosedEvent(session.last_sequence, "idle")
    headers = event_headers(id, "weft.session_closed", "/weft/indexer")
    return Message(subject, encode_event(event), id, headers)
