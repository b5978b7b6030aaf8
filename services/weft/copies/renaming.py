"""The parts of an event that name its session, and their replacement in a copy. Pure."""

from __future__ import annotations

import msgspec

from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import EnvelopeEvent, EpisodeEvent, Event, FactsEvent, SummaryEvent
from weft_schemas.ids import SessionName, artifact_handle

_NAMELESS = SessionName("", "")


def without_session_name(event: Event, old: SessionName) -> Event:
    """The event as of a session without a name: what all copies of it have in common."""
    event = renamed(event, old, _NAMELESS)
    if not isinstance(event, EnvelopeEvent):
        return event
    artifacts = tuple(msgspec.structs.replace(one, handle="") for one in event.envelope.artifacts)
    envelope = msgspec.structs.replace(event.envelope, artifacts=artifacts)
    return msgspec.structs.replace(event, envelope=envelope)


def renamed(event: Event, old: SessionName, new: SessionName, *, own_memory: bool = False) -> Event:
    """The event as of session `new`: with handles and the session scope of that session. With
    `own_memory`, facts of a wider scope, such as a user's, get the new session's scope, too: a copy
    must not teach the user's other sessions what they know already, or knew once."""
    if old == new:
        return event
    if isinstance(event, EnvelopeEvent):
        envelope = _envelope(event.envelope, event.origin.item_id, new)
        return msgspec.structs.replace(event, envelope=envelope)
    if not isinstance(event, FactsEvent | EpisodeEvent | SummaryEvent) or not event.scope:
        return event
    moves = own_memory or event.scope == old.scope
    return msgspec.structs.replace(event, scope=new.scope) if moves else event


def _envelope(envelope: ResultEnvelope, item_id: str, new: SessionName) -> ResultEnvelope:
    # Keyed with the old name: without that, nobody can compute it, and no secret is needed.
    artifacts = tuple(
        msgspec.structs.replace(
            one, handle=artifact_handle(new.tenant, new.session, item_id, one.handle.encode())
        )
        for one in envelope.artifacts
    )
    return msgspec.structs.replace(envelope, artifacts=artifacts)
