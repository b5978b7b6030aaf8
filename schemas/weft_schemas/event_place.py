"""Which events go in and which out, which are a tenant's own, and whether one is on a subject of
its type."""

from __future__ import annotations

from weft_schemas.errors import InvalidInput
from weft_schemas.events import ERASURE_RECORDS, ErasedEvent, Event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import SESSION_CLOSED, StoredSubject

IN_EVENTS = ("item", SESSION_CLOSED, "revived")
"""Published by agents and their operators; workers publish the rest."""
TENANT_EVENTS = ("context_policy", "catalog", "scope_grants", *ERASURE_RECORDS)
"""Published under a tenant's reserved session."""


def check_place(address: StoredSubject, event: Event) -> None:
    """Raises `InvalidInput` if the event is not on a subject of its type."""
    name = str(type(event).__struct_config__.tag)
    expected = event.kind.value if isinstance(event, ContextItem) else name
    if address.event != expected:
        raise InvalidInput(f"event {expected!r} stands on a subject of another event or kind")
    fits = name in IN_EVENTS if address.direction == "in" else not isinstance(event, ContextItem)
    if not fits:
        raise InvalidInput(f"event {expected!r} stands on an {address.direction!r} subject")
    if isinstance(event, ContextPolicy | ErasedEvent) and event.session == "":
        raise InvalidInput(f"event {expected!r} names the session ''; null means the whole tenant")
    if (name in TENANT_EVENTS) != (address.session == TENANT_SESSION):
        raise InvalidInput(f"event {expected!r} does not belong in this session")
