"""Drill-down as a service: a slice of a raw body by its handle, masked as its envelope is."""

from __future__ import annotations

import asyncio

from weft.firewall.seal import seal_of
from weft.firewall.views.drill import drill
from weft.log.publishing import Publisher
from weft.readmodel.status import artifact
from weft.runtime.answering import Answering
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.requests import Asked
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.errors import Unavailable


async def answer(
    process: Process, replica: Replica, publisher: Publisher, answering: Answering
) -> None:
    """Answer `drilldown` from now on."""
    artifacts = ArtifactStore(process.connection, publisher)
    drilldowns = _Drilldowns(process, replica, artifacts)
    await answering.answer("drilldown", DrilldownRequest, drilldowns.drilldown)


class _Drilldowns:
    def __init__(self, process: Process, replica: Replica, artifacts: ArtifactStore) -> None:
        self._replica = replica
        self._artifacts = artifacts
        self._key = process.settings.fingerprint_key.encode()
        self._encoding = process.settings.encoding

    async def drilldown(self, asked: Asked[DrilldownRequest]) -> DrilldownReply:
        """Raises `NotFound` for a handle that the tenant does not have, `InvalidInput` for a view
        or an argument that there is not, `Unavailable` before the envelope is there."""
        request = asked.request
        found = await self._replica.read(
            lambda model: artifact(model.db, asked.tenant, request.handle), short=True
        )
        if found.untrusted and found.envelope is None:
            raise Unavailable(
                f"artifact {found.handle!r} has no envelope yet, so nobody may look into it; try "
                "again, or look at `weft status` for why"
            )
        item = await self._artifacts.item(found.sequence, found.item_id)
        async with self._artifacts.body(asked.tenant, item) as body:
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
