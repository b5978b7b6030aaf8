"""What a handle stands for: from memory where it was made here a moment ago, else from the log, so
that a handle outlives the gateway and is good for every host of its tenant."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

import msgspec

from weft.client import Client
from weft.firewall.bounds import Bounds
from weft.firewall.seal import seal_of
from weft.firewall.unwrap import unwrap
from weft.firewall.views.drill import drill
from weft.gateway.results import Guard, clean_whole, envelope_of
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read, read_matching
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.asking import ask
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.errors import Forbidden, NotFound, Unavailable, WeftError
from weft_schemas.events import EnvelopeEvent
from weft_schemas.items import ContextItem, Sensitivity
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import stored_filter

KEPT_BYTES = 64 << 20
"""Of raw results that are remembered; the others come from the log."""
WAIT_SECONDS = 20.0
"""For services that start, and for the envelope of a result that has just come."""
CONFIRM_SECONDS = 3.0
"""For the log's firewall to tell the handle of a result."""
AGAIN_SECONDS = 60.0
"""After it did not, until it is waited for again."""
_LOOK_SECONDS = 0.1


class Known(msgspec.Struct, frozen=True):
    """A result of this gateway's."""

    item: ContextItem
    session: str
    envelope: ResultEnvelope


class Handles:
    def __init__(self, client: Client, guard: Guard, is_own: bool) -> None:
        """`is_own` where the gateway is known to have the deployment's secret."""
        self.is_own = is_own
        self._not_before = 0.0
        self._client = client
        self._guard = guard
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._bytes = 0

    def remember(self, handle: str, item: ContextItem, session: str, made: ResultEnvelope) -> None:
        """Keep a result until others push it out."""
        if not self.is_own:
            return
        self._known[handle] = Known(item, session, made)
        self._bytes += len(item.text)
        while self._bytes > KEPT_BYTES and len(self._known) > 1:
            _, gone = self._known.popitem(last=False)
            self._bytes -= len(gone.item.text)

    async def confirmed(self, session: str, item_id: str, after: int, handle: str) -> str:
        """The handle that the log's firewall gives a result. It is the same where the gateway has
        the deployment's secret, which is found out once; without it, nothing is known here, and
        handles are looked up in the log."""
        now = asyncio.get_running_loop().time()
        if self.is_own or now < self._not_before:
            return handle
        try:
            async with asyncio.timeout(CONFIRM_SECONDS):
                told = await self._told(session, item_id, after)
        except (TimeoutError, WeftError):  # no firewall works now
            self._not_before = now + AGAIN_SECONDS
            return handle
        self.is_own = told == handle
        return told

    async def _told(self, session: str, item_id: str, after: int) -> str:
        subjects = stored_filter(self._client.tenant, session, "out", "envelope")
        while True:
            async for record in read_matching(self._client.connection, subjects, after=after):
                event = record.event()
                if isinstance(event, EnvelopeEvent) and event.origin.item_id == item_id:
                    return event.envelope.artifacts[0].handle
            await asyncio.sleep(_LOOK_SECONDS / 10)

    async def look(self, request: DrilldownRequest) -> DrilldownReply:
        """A slice. Raises `NotFound`, `InvalidInput`, `Unavailable`."""
        known = self._known.get(request.handle)
        if known is None:
            return await self._drilled(request)
        made, guard = known.envelope, self._guard
        shown = await asyncio.to_thread(
            drill,
            known.item.text,
            request,
            content_type=made.content_type,
            fingerprint_key=guard.key,
            encoding=guard.encoding,
        )
        return DrilldownReply(
            handle=request.handle,
            view=request.view,
            text=shown.text,
            tokens=shown.tokens,
            truncated=shown.truncated,
            item_id=known.item.id,
            session=known.session,
            sensitivity=made.sensitivity,
            content_type=made.content_type,
            views=shown.views,
            next=shown.next,
            seal=seal_of(guard.key, guard.tenant, request.handle, made.sensitivity, shown.text),
        )

    async def whole(self, handle: str) -> tuple[str, Sensitivity]:
        """All that a handle stands for as it may be handed on, and how sensitive it is.

        Raises `NotFound`, `Forbidden` where only a summary may be shown, `Unavailable`.
        """
        known = self._known.get(handle) or await self._logged(handle)
        text = await asyncio.to_thread(clean_whole, known.item.text, known.envelope)
        if text is None:
            raise Forbidden(
                f"{handle} cannot be handed on whole: it is no text, or its policy or size lets "
                "only its summary show; look into it and hand on what is needed"
            )
        return _meant(text), known.envelope.sensitivity

    async def _logged(self, handle: str) -> Known:
        """From the log, with the envelope made again: it is the same."""
        reply = await self._drilled(DrilldownRequest(handle, max_tokens=1))
        client = self._client
        asked = StatusRequest(ids=(reply.item_id,))
        address = (client.tenant, reply.session, "status")
        places = (await ask(client.connection, address, asked, StatusReply)).places
        sequence = places.get(reply.item_id)
        if sequence is None:
            raise NotFound(f"{handle}: its item {reply.item_id!r} is not in the log any more")
        event = (await read(client.connection, sequence)).event()
        if not isinstance(event, ContextItem):
            raise NotFound(f"{handle}: event {sequence} is no item")
        async with Publisher(client.connection) as publisher:
            store = ArtifactStore(client.connection, publisher)
            text = await store.text(client.tenant, event)
        item = msgspec.structs.replace(event, text=text, body=None)
        envelope = await asyncio.to_thread(envelope_of, item, reply.session, self._guard)
        envelope = msgspec.structs.replace(
            envelope, sensitivity=envelope.sensitivity.raised_to(reply.sensitivity)
        )
        self.remember(handle, item, reply.session, envelope)  # only where handles are its own
        return Known(item, reply.session, envelope)

    async def _drilled(self, request: DrilldownRequest) -> DrilldownReply:
        """By the service; waits for one that starts, or has not folded yet what the log holds."""
        client, loop = self._client, asyncio.get_running_loop()
        deadline = loop.time() + WAIT_SECONDS
        newest = await last_sequence(client.connection)
        while True:
            try:
                return await client.drilldown(
                    request.handle, request.view, max_tokens=request.max_tokens, **request.args
                )
            except NotFound:
                if (await client.status()).sequence >= newest or loop.time() >= deadline:
                    raise
            except Unavailable:
                if loop.time() >= deadline:
                    raise
            await asyncio.sleep(_LOOK_SECONDS)


def _meant(text: str) -> str:
    """What stood in a container, where the result was one of several blocks."""
    inside = unwrap(text, Bounds().depth)
    return "\n".join((*inside.texts, *inside.other)) if inside is not None else text
