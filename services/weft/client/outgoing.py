"""Items as messages of the log: checked and named; large texts are put into the object store
first."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from weft.client.event_check import checked
from weft.client.refusals import ItemRefused
from weft.log.bodies import THRESHOLD_BYTES, Bodies
from weft.log.connection import Connection
from weft.log.message import Message, event_headers
from weft.log.publishing import Publisher
from weft.router.item_faults import check_catalogue
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.crashpoints import crash_point
from weft_schemas.errors import InvalidInput
from weft_schemas.events import Event, SessionClosedEvent, content_digest, encode_event
from weft_schemas.ids import TENANT_SESSION, encode_token, item_message_ids
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.routing import Catalog
from weft_schemas.subjects import SESSION_CLOSED, derived_subject, item_subject

_ROOM_FOR_HEADERS = 4_096
"""Bytes of max_payload; ours take about 400, and ids may be long."""
_SHOWN_CHARACTERS = 60
"""Characters of a metadata key that an error shows."""

Items = ContextItem | Iterable[ContextItem] | AsyncIterable[ContextItem]


class PublishAck(msgspec.Struct, frozen=True):
    """Everything is stored."""

    session: str
    sequence: int
    """All of it is at or before this place in the log: pass it to a compile as `after`."""
    first: int
    """New items are at or after this place."""
    count: int
    """How many items were acknowledged."""
    duplicates: int | None
    """How many of them the server recognised as duplicates; None if it does not say (batches).
    `Client.confirm` finds them all, and the conflicts."""
    ids: tuple[str, ...]
    """Of the items, in their order."""
    digests: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Digests of the items' contents, in the same order; `Client.confirm` finds conflicts by
    them."""


class Sent:
    """Which items were handed over to be sent."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.digests: list[str] = []

    def add(self, item_id: str, payload: bytes) -> None:
        self.ids.append(item_id)
        self.digests.append(content_digest(payload))


class Outgoing:
    """Makes messages from one tenant's items."""

    def __init__(
        self,
        connection: Connection,
        publisher: Publisher,
        tenant: str,
        key: bytes = b"",
        principal: str = "",
    ) -> None:
        """Publishes as `principal`, if one is given. `key` makes the ids of items unpredictable to
        everybody else. All processes of an agent use the same key, so that publishing again is
        recognised."""
        self.tenant = tenant
        self._key = key
        self._principal = principal
        self._connection = connection
        self._bodies = Bodies(connection, publisher, tenant)
        self._artifacts = ArtifactStore(connection, publisher)
        self._after_store_body = crash_point("publisher.after_store_body")

    async def messages(
        self, session: str, items: Items, traceparent: str = "", sent: Sent | None = None
    ) -> AsyncIterator[Message]:
        """A message for each item, in order; `sent` notes them.

        Raises `ItemRefused` for an item that can never be published. The items of a sequence are
        all checked before the first message.
        """
        _check_session(session)
        source = f"/weft/{encode_token(self.tenant)}/{encode_token(session)}"
        message_id_of = item_message_ids(self.tenant, session, self._key)
        subjects = {
            kind: item_subject(self.tenant, session, kind, self._principal) for kind in ItemKind
        }
        check_items(items)
        limit = self._connection.max_payload - _ROOM_FOR_HEADERS
        index = -1
        async for item, payload in _encoded(items, limit):
            index += 1
            if len(payload) > THRESHOLD_BYTES and len(item.text) * 4 > THRESHOLD_BYTES:
                payload = await self._lightened(item, payload)
            elif item.body is not None:
                await self._check_body(index, item)
            if len(payload) > limit:
                raise _at(index, _too_long(item, len(payload), limit))
            message_id = message_id_of(item.id, payload)
            headers = event_headers(message_id, "weft.item", source, traceparent)
            if sent is not None:
                sent.add(item.id, payload)
            yield Message(subjects[item.kind], payload, message_id, headers)

    def closing(self, session: str, reason: str) -> Message:
        """The message that a session has ended."""
        _check_session(session)
        subject = item_subject(self.tenant, session, SESSION_CLOSED, self._principal)
        return self._decided(subject, SessionClosedEvent(reason=reason), session)

    async def catalogue(self, catalog: Catalog) -> Message:
        """A message that a catalogue has a new version; the items of a large one are stored
        separately. Raises `InvalidInput` with every fault of its tools: a router would go on with
        the version before."""
        checked(catalog)
        check_catalogue(catalog)
        items = msgspec.json.encode(catalog.items, order="deterministic")
        if len(items) > THRESHOLD_BYTES:
            reference = await self._bodies.put(items)
            catalog = msgspec.structs.replace(catalog, items=(), body=reference)
        return self.tenants(catalog)

    def tenants(self, event: Event) -> Message:
        """A message of the tenant's own, such as a policy."""
        tag = str(type(event).__struct_config__.tag)
        subject = derived_subject(self.tenant, TENANT_SESSION, tag)
        return self._decided(subject, event, TENANT_SESSION)

    def _decided(self, subject: str, event: Event, session: str) -> Message:
        """The same decision can be made again (policy A, B and A), so its id is not derived from
        its content; a retry of this message still has the same id."""
        message_id = secrets.token_hex(16)
        tag = str(type(event).__struct_config__.tag)
        source = f"/weft/{encode_token(self.tenant)}/{encode_token(session)}"
        headers = event_headers(message_id, f"weft.{tag}", source)
        return Message(subject, checked(event), message_id, headers)

    async def _check_body(self, index: int, item: ContextItem) -> None:
        try:
            await self._artifacts.check(self.tenant, item)
        except InvalidInput as error:
            raise _at(index, ItemRefused(str(error))) from None

    async def _lightened(self, item: ContextItem, payload: bytes) -> bytes:
        """The item with its text in the object store, if that is large and the store is open."""
        kept = await self._artifacts.keep(self.tenant, item)
        if kept is item:
            return payload
        self._after_store_body()
        return encode_event(kept)


def check_items(items: object) -> None:
    """Raises `InvalidInput` for anything but an item or several items."""
    is_other = isinstance(items, str | bytes | Mapping) or not isinstance(
        items, ContextItem | Iterable | AsyncIterable
    )
    if is_other:
        raise InvalidInput(
            f"expected a ContextItem or several, got a value of type {type(items).__name__}; make "
            'items (`ContextItem("u1", ItemKind.USER_TURN, "…")`), or give messages to '
            "`publish_messages`"
        )


def _check_session(session: str) -> None:
    encode_token(session, "session")
    if session == TENANT_SESSION:
        raise InvalidInput(
            f"{TENANT_SESSION} carries the tenant's own events and no items; name a session"
        )


async def _encoded(items: Items, limit: int) -> AsyncIterator[tuple[ContextItem, bytes]]:
    """Items with their bytes, `limit` of which fit into a message. If a sequence is given, all of
    its items are encoded, and so checked, before the first is returned."""
    if isinstance(items, ContextItem):
        items = [items]
    if isinstance(items, AsyncIterable):
        index = 0
        async for item in items:
            yield item, _checked(index, item, limit)
            index += 1
    elif isinstance(items, Sequence):
        payloads = [_checked(index, item, limit) for index, item in enumerate(items)]
        for pair in zip(items, payloads, strict=True):
            yield pair
    else:
        for index, item in enumerate(items):
            yield item, _checked(index, item, limit)


def _checked(index: int, item: ContextItem, limit: int) -> bytes:
    if not isinstance(item, ContextItem):
        raise InvalidInput(
            f"items[{index}]: expected a ContextItem, got {type(item).__name__}: {item!r:.60}; "
            "make items, or give messages to `publish_messages`"
        )
    try:
        payload = checked(item)
        if len(payload) > limit:
            without_text = msgspec.structs.replace(item, text="")
            if (size := len(encode_event(without_text))) > limit:
                raise _too_long(without_text, size, limit)
    except ItemRefused as error:
        raise _at(index, error) from None
    return payload


def _at(index: int, error: ItemRefused) -> ItemRefused:
    error.index = index
    return error


def _too_long(item: ContextItem, size: int, limit: int) -> ItemRefused:
    """The error that names the longest field of the item. Only a text can be stored apart from its
    item."""
    fields = {name: value for name, value in msgspec.structs.asdict(item).items() if value}
    metadata: dict[str, object] = fields.pop("metadata", {})
    sizes = [(len(msgspec.json.encode(value)), f"$.{name}") for name, value in fields.items()]
    sizes += [
        (len(msgspec.json.encode({key: value})) - len("{}"), f"$.metadata.{_cut(key)}")
        for key, value in metadata.items()
    ]
    bytes_of_it, longest = max(sizes)
    is_value = longest.startswith("$.metadata.")
    todo = "shorten it, or give it as an item's text" if is_value else "shorten it"
    return ItemRefused(
        f"item {item.id!r}: {longest} has {bytes_of_it:,} bytes of {size:,}; a message "
        f"takes {limit:,} (the server's max_payload, less its headers): {todo}"
    )


def _cut(key: str) -> str:
    return key if len(key) <= _SHOWN_CHARACTERS else f"{key[:_SHOWN_CHARACTERS]}…"
