"""OTLP over HTTP into the log. Spans that the log holds already are not published again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec

from weft.client import Client
from weft.traces import otlp
from weft.traces.conversion import Converted, converted
from weft.traces.spans_from_logs import SpanAssembler
from weft_schemas.errors import Conflict, Forbidden, Unavailable
from weft_schemas.items import ContextItem
from weft_schemas.status import ASKED

TYPES = (otlp.PROTOBUF, otlp.JSON)
MAX_IDS = 100_000
"""Ids that are remembered, some 20 MB; for others a replica is asked."""


class PublishedIds:
    """The ids that came most recently from traces, of any session."""

    def __init__(self, most: int = MAX_IDS) -> None:
        self._most = most
        self._ids: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def new(self, tenant: str, session: str, items: Iterable[ContextItem]) -> list[ContextItem]:
        """The ids that are not remembered."""
        found = []
        for item in items:
            key = tenant, session, item.id
            if key in self._ids:
                self._ids.move_to_end(key)
            else:
                found.append(item)
        return found

    def remember(self, tenant: str, session: str, items: Iterable[ContextItem]) -> None:
        """Remember ids that are in the log."""
        for item in items:
            self._ids[tenant, session, item.id] = None
            self._ids.move_to_end((tenant, session, item.id))
        while len(self._ids) > self._most:
            self._ids.popitem(last=False)

    def __len__(self) -> int:
        return len(self._ids)


class Telemetry:
    """The OTLP receiver of this process."""

    def __init__(self, published: PublishedIds | None = None) -> None:
        self._published = PublishedIds() if published is None else published
        self._joining = SpanAssembler()

    async def take_traces(self, client: Client, content: bytes, media_type: str) -> bytes:
        """Publish the new items of an export, and answer it. Raises `InvalidInput` if it is not an
        export, and what `Client.publish` raises: an exporter then sends it again, and nothing is
        stored twice."""
        found = await self._publish(client, converted(otlp.spans(content, media_type)))
        return otlp.answer(media_type, found.rejected, found.why)

    async def take_logs(self, client: Client, content: bytes, media_type: str) -> bytes:
        """The same for an export of logs."""
        records = otlp.log_records(content, media_type)
        spans = self._joining.spans(client.tenant, records)
        found = await self._publish(client, converted(spans))
        return otlp.logs_answer(media_type, found.rejected, found.why)

    async def _publish(self, client: Client, found: Converted) -> Converted:
        """Publish session by session. Returns what was found, with the spans of erased sessions
        among the rejected: no retry would make them count, and the others are stored."""
        for session, items in found.sessions.items():
            try:
                await self._publish_new(client, session, items)
            except Conflict as error:
                rejected, why = found.rejected + found.spans[session], found.why or str(error)
                found = msgspec.structs.replace(found, rejected=rejected, why=why)
        return found

    async def _publish_new(
        self, client: Client, session: str, items: Sequence[ContextItem]
    ) -> None:
        new = self._published.new(client.tenant, session, items)
        if not new:
            return
        held = await _held(client, session, new)
        unheard = [item for item in new if item.id not in held]
        if unheard:
            await client.publish(session, unheard)
        self._published.remember(client.tenant, session, new)


async def _held(client: Client, session: str, items: Sequence[ContextItem]) -> set[str]:
    """The ids that a replica knows; none if no replica answers, or if the credential may only
    publish. What is then published twice still counts once."""
    ids = [item.id for item in items]
    held: set[str] = set()
    try:
        for start in range(0, len(ids), ASKED):
            reply = await client.status(session, ids=ids[start : start + ASKED])
            held.update(reply.places)
    except (Unavailable, Forbidden):
        return set()
    return held
