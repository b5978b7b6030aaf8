"""OTLP over HTTP into the log: what was published before by this process is not published again."""

from __future__ import annotations

from collections import OrderedDict

from weft.client import Client
from weft.traces import otlp
from weft.traces.conversion import converted

TYPES = (otlp.PROTOBUF, otlp.JSON)
KEPT_SESSIONS = 1_000
"""Sessions of which the published ids are remembered. Of an older one they are published again, and
the log tells that they are not new."""


class Published:
    """The ids that came from traces, by tenant and session."""

    def __init__(self) -> None:
        self._ids: OrderedDict[tuple[str, str], set[str]] = OrderedDict()

    def of(self, tenant: str, session: str) -> set[str]:
        """Of one session, to add to."""
        ids = self._ids.setdefault((tenant, session), set())
        self._ids.move_to_end((tenant, session))
        while len(self._ids) > KEPT_SESSIONS:
            self._ids.popitem(last=False)
        return ids


async def take(client: Client, published: Published, content: bytes, media_type: str) -> bytes:
    """Publish the items of an export that are new, and answer it.

    Raises `InvalidInput` for what is no export, and as `Client.publish` does: an exporter then
    sends it again, which doubles nothing.
    """
    found = converted(otlp.spans(content, media_type))
    for session, items in found.sessions.items():
        known = published.of(client.tenant, session)
        new = [item for item in items if item.id not in known]
        if new:
            await client.publish(session, new)
            known.update(item.id for item in new)
    return otlp.answer(media_type, found.rejected, found.why)
