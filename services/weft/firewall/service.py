"""Drill-down as a service: a slice of a raw body by its handle, masked as its envelope is."""

from __future__ import annotations

import asyncio

from weft.firewall.seal import seal_of
from weft.firewall.views.drill import drill
from weft.log.bodies import Bodies
from weft.log.event_log import EventLog
from weft.log.publishing import Publisher
from weft.readmodel.status import Artifact, artifact
from weft.runtime.answering import Answering, Asked
from weft.runtime.application import Process
from weft.runtime.fetching import body_of
from weft.runtime.replica import Replica
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.errors import Corrupt, Unavailable
from weft_schemas.items import ContextItem


async def answer(
    process: Process, replica: Replica, publisher: Publisher, answering: Answering
) -> None:
    """Answer `drilldown` from now on."""
    drilldowns = _Drilldowns(process, replica, Bodies(process.connection, publisher))
    await answering.answer("drilldown", DrilldownRequest, drilldowns.drilldown)


class _Drilldowns:
    def __init__(self, process: Process, replica: Replica, bodies: Bodies) -> None:
        self._log = EventLog(process.connection)
        self._replica = replica
        self._bodies = bodies
        self._key = process.settings.fingerprint_key.encode()
        self._encoding = process.settings.encoding

    async def drilldown(self, asked: Asked[DrilldownRequest]) -> DrilldownReply:
        """Raises `NotFound` for a handle that the tenant does not have, `InvalidInput` for a view
        or an argument that there is not, `Unavailable` before the envelope is there."""
        request = asked.request
        found = await self._replica.read(
            lambda model: artifact(model.db, asked.tenant, request.handle)
        )
        if found.untrusted and found.envelope is None:
            raise Unavailable(
                f"artifact {found.handle!r} has no envelope yet, so nobody may look into it; try "
                "again, or look at `weft status` for why"
            )
        async with body_of(await self._item(found), self._bodies) as body:
            shown = await asyncio.to_thread(
                drill,
                body,
                request,
                content_type=found.content_type,
                fingerprint_key=self._key,
                encoding=self._encoding,
            )
        return DrilldownReply(
            handle=found.handle,
            view=request.view,
            text=shown.text,
            tokens=shown.tokens,
            truncated=shown.truncated,
            item_id=found.item_id,
            session=found.session,
            sensitivity=found.sensitivity,
            content_type=found.content_type,
            views=shown.views,
            next=shown.next,
            seal=seal_of(self._key, asked.tenant, found.handle, found.sensitivity, shown.text),
        )

    async def _item(self, found: Artifact) -> ContextItem:
        event = (await self._log.read(found.sequence)).event()
        if not isinstance(event, ContextItem) or event.id != found.item_id:
            raise Corrupt(
                f"event {found.sequence} is not item {found.item_id!r}, as the read model says; "
                "rebuild it"
            )
        return event
