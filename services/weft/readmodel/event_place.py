"""Checks that an event is on a subject of its type."""

from __future__ import annotations

from weft_schemas.errors import InvalidInput
from weft_schemas.events import (
    ErasedEvent,
    ErasingEvent,
    ErasureReceiptEvent,
    Event,
    RevivedEvent,
    ScopeErasedEvent,
    SessionClosedEvent,
)
from weft_schemas.grants import ScopeGrants
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog
from weft_schemas.subjects import StoredSubject

TENANTS_OWN = (
    ContextPolicy
    | Catalog
    | ScopeGrants
    | ErasedEvent
    | ScopeErasedEvent
    | ErasingEvent
    | ErasureReceiptEvent
)


def check_place(address: StoredSubject, event: Event) -> None:
    """Raises `InvalidInput` if the event is not on a subject of its type."""
    name = str(type(event).__struct_config__.tag)
    expected = event.kind.value if isinstance(event, ContextItem) else name
    if address.event != expected:
        raise InvalidInput(f"event {expected!r} stands on a subject of another event or kind")
    if isinstance(event, ContextItem):
        direction_fits = address.direction == "in"
    else:
        agents_too = isinstance(event, SessionClosedEvent | RevivedEvent)
        direction_fits = address.direction == "out" or agents_too
    if not direction_fits:
        raise InvalidInput(f"event {expected!r} stands on an {address.direction!r} subject")
    if isinstance(event, ContextPolicy | ErasedEvent) and event.session == "":
        raise InvalidInput(f"event {expected!r} names the session ''; null means the whole tenant")
    tenants_own = isinstance(event, TENANTS_OWN)
    if tenants_own != (address.session == TENANT_SESSION):
        raise InvalidInput(f"event {expected!r} does not belong in this session")
