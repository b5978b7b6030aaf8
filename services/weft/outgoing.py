"""Items as messages of the log: checked, named, large texts put into the object store first."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence

import msgspec

from weft.log.api import call
from weft.log.bodies import THRESHOLD_BYTES, Bodies
from weft.log.connection import Connection
from weft.log.publishing import Ack, Message, Publisher, event_headers
from weft.log.topology import BODIES_STREAM
from weft_schemas.errors import Forbidden, InvalidInput
from weft_schemas.events import Event, SessionClosedEvent, encode_event
from weft_schemas.ids import TENANT_SESSION, encode_token, item_message_id
from weft_schemas.items import ContextItem, check_item
from weft_schemas.subjects import SESSION_CLOSED, derived_subject, item_subject

Items = ContextItem | Iterable[ContextItem] | AsyncIterable[ContextItem]


class PublishAck(msgspec.Struct, frozen=True):
    """Everything is stored."""

    session: str
    sequence: int
    """The highest in the log: give it to a compile as `after`. 0 where nothing was published."""
    first: int
    """The lowest."""
    count: int
    """Items acknowledged."""
    duplicates: int
    """How many of them the server knew already; `Client.confirm` finds all."""
    sequences: tuple[int, ...]
    """Of the items, in their order."""

    @classmethod
    def of(cls, session: str, acks: Sequence[Ack]) -> PublishAck:
        sequences = tuple(ack.sequence for ack in acks)
        return cls(
            session,
            max(sequences, default=0),
            min(sequences, default=0),
            len(acks),
            sum(ack.duplicate for ack in acks),
            sequences,
        )


class Outgoing:
    """Makes messages of one tenant's items."""

    def __init__(self, connection: Connection, publisher: Publisher, tenant: str) -> None:
        self.tenant = tenant
        self._connection = connection
        self._bodies = Bodies(connection, publisher)
        self._has_store: bool | None = None

    async def messages(
        self, session: str, items: Items, traceparent: str = ""
    ) -> AsyncIterator[Message]:
        """A message for each item, in order. Raises `InvalidInput` naming the item; of a sequence
        every item is checked before the first message."""
        if isinstance(items, ContextItem):
            items = [items]
        if isinstance(items, Sequence):
            for item in items:
                encode_event(_checked(item))
        source = f"/weft/{encode_token(self.tenant)}/{encode_token(session)}"
        async for item in _each(items):
            payload = await self._payload(_checked(item))
            message_id = item_message_id(self.tenant, session, item.id, payload)
            subject = item_subject(self.tenant, session, item.kind)
            headers = event_headers(message_id, "weft.item", source, traceparent)
            yield Message(subject, payload, message_id, headers)

    def closing(self, session: str, reason: str) -> Message:
        """The message that a session has ended."""
        subject = item_subject(self.tenant, session, SESSION_CLOSED)
        return self._decided(subject, SessionClosedEvent(reason=reason), session)

    def tenants(self, event: Event) -> Message:
        """A message of the tenant's own: a policy, a catalogue."""
        tag = str(type(event).__struct_config__.tag)
        subject = derived_subject(self.tenant, TENANT_SESSION, tag)
        return self._decided(subject, event, TENANT_SESSION)

    def _decided(self, subject: str, event: Event, session: str) -> Message:
        """A decision can be made again (policy A, B and A), so its id is its own, not its
        content's; a retry of this message still reuses it."""
        message_id = secrets.token_hex(16)
        tag = str(type(event).__struct_config__.tag)
        source = f"/weft/{encode_token(self.tenant)}/{encode_token(session)}"
        headers = event_headers(message_id, f"weft.{tag}", source)
        return Message(subject, encode_event(event), message_id, headers)

    async def _payload(self, item: ContextItem) -> bytes:
        # A character is at most four bytes, so most texts need no encoding to be known as small.
        if len(item.text) * 4 > THRESHOLD_BYTES:
            body = item.text.encode()
            if len(body) > THRESHOLD_BYTES and await self._store_is_here():
                reference = await self._bodies.put(body)
                item = msgspec.structs.replace(item, text="", body=reference)
        return encode_event(item)

    async def _store_is_here(self) -> bool:
        """Credentials of agents may be kept from the object store; their bodies then stay in the
        event, up to the server's max_payload."""
        if self._has_store is None:
            try:
                await call(self._connection, f"STREAM.INFO.{BODIES_STREAM}")
                self._has_store = True
            except Forbidden:
                self._has_store = False
        return self._has_store


async def _each(
    items: Iterable[ContextItem] | AsyncIterable[ContextItem],
) -> AsyncIterator[ContextItem]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def _checked(item: ContextItem) -> ContextItem:
    if not isinstance(item, ContextItem):
        raise InvalidInput(f"expected a ContextItem, got {type(item).__name__}: {item!r:.60}")
    return check_item(item)
