"""OTLP over HTTP into the log: what the log holds already is not published again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from weft.client import Client
from weft.traces import otlp
from weft.traces.conversion import Converted, converted
from weft.traces.spans_from_logs import Joining
from weft_schemas.errors import Forbidden, Unavailable
from weft_schemas.items import ContextItem
from weft_schemas.status import ASKED

TYPES = (otlp.PROTOBUF, otlp.JSON)
MOST_IDS = 100_000
"""Ids that are remembered, some 20 MB; of any other one a replica is asked."""


class Published:
    """The ids that came from traces most recently, whatever their session."""

    def __init__(self, most: int = MOST_IDS) -> None:
        self._most = most
        self._ids: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def new(self, tenant: str, session: str, items: Iterable[ContextItem]) -> list[ContextItem]:
        """Those that are not remembered."""
        found = []
        for item in items:
            key = tenant, session, item.id
            if key in self._ids:
                self._ids.move_to_end(key)
            else:
                found.append(item)
        return found

    def remember(self, tenant: str, session: str, items: Iterable[ContextItem]) -> None:
        """They are in the log."""
        for item in items:
            self._ids[tenant, session, item.id] = None
            self._ids.move_to_end((tenant, session, item.id))
        while len(self._ids) > self._most:
            self._ids.popitem(last=False)

    def __len__(self) -> int:
        return len(self._ids)


class Telemetry:
    """What came in by OTLP, in this process."""

    def __init__(self, published: Published | None = None) -> None:
        self._published = Published() if published is None else published
        self._joining = Joining()

    async def take_traces(self, client: Client, content: bytes, media_type: str) -> bytes:
        """Publish the items of an export that are new, and answer it.

        Raises `InvalidInput` for what is no export, and as `Client.publish` does: an exporter then
        sends it again, which doubles nothing.
        """
        found = converted(otlp.spans(content, media_type))
        await self._publish(client, found)
        return otlp.answer(media_type, found.rejected, found.why)

    async def take_logs(self, client: Client, content: bytes, media_type: str) -> bytes:
        """The same of an export of logs."""
        records = otlp.log_records(content, media_type)
        found = converted(self._joining.spans(client.tenant, records))
        await self._publish(client, found)
        return otlp.logs_answer(media_type, found.rejected, found.why)

    async def _publish(self, client: Client, found: Converted) -> None:
        for session, items in found.sessions.items():
            new = self._published.new(client.tenant, session, items)
            if new:
                held = await _held(client, session, new)
                unheard = [item for item in new if item.id not in held]
                if unheard:
                    await client.publish(session, unheard)
                self._published.remember(client.tenant, session, new)


async def _held(client: Client, session: str, items: Sequence[ContextItem]) -> set[str]:
    """Ids that a replica knows. Where none answers, or the credential may only publish, it is none:
    what is published twice counts once all the same."""
    ids = [item.id for item in items]
    held: set[str] = set()
    try:
        for start in range(0, len(ids), ASKED):
            reply = await client.status(session, ids=ids[start : start + ASKED])
            held.update(reply.places)
    except (Unavailable, Forbidden):
        return set()
    return held
