"""Drill-down as a service: a slice of a raw body by its handle, masked as its envelope is."""

from __future__ import annotations

import asyncio

from weft import tokens
from weft.firewall.seal import seal_of
from weft.firewall.views.drill import Slice, drill
from weft.log.publishing import Publisher
from weft.readmodel.model import ReadModel
from weft.readmodel.redaction import redaction_hook
from weft.readmodel.status import Artifact, artifact
from weft.runtime.answering import Answering
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.requests import Asked
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.errors import Forbidden, NotFound, Unavailable
from weft_schemas.ids import handle_key
from weft_schemas.policy import SensitivityAction


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
        self._handles = handle_key(self._key)
        self._encoding = process.settings.encoding

    async def drilldown(self, asked: Asked[DrilldownRequest]) -> DrilldownReply:
        """Raises `NotFound` for a handle that the tenant does not have, `InvalidInput` for a view
        or an argument that there is not, `Forbidden` where the policy in force drops the item, and
        `Unavailable` before the envelope is there."""
        request = asked.request
        found, redacted = await self._replica.read(
            lambda model: _allowed(model, asked.tenant, request.handle, self._handles), short=True
        )
        if found.untrusted and found.envelope is None:
            raise Unavailable(
                f"artifact {found.handle!r} has no envelope yet, so nobody may look into it; try "
                "again, or look at `weft status` for why"
            )
        if redacted is not None:
            # Nothing of what was asked may change it: that would tell what stands there.
            count = tokens.count(redacted, self._encoding)
            return self._reply(asked, found, Slice(redacted, count, False, None, ()))
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
        return self._reply(asked, found, shown)

    def _reply(
        self, asked: Asked[DrilldownRequest], found: Artifact, shown: Slice
    ) -> DrilldownReply:
        return DrilldownReply(
            handle=found.handle,
            view=asked.request.view,
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


def _allowed(model: ReadModel, tenant: str, handle: str, key: bytes) -> tuple[Artifact, str | None]:
    """The artifact, and what stands for it where the policy in force redacts it. Raises `Forbidden`
    where the policy drops it."""
    found = artifact(model.db, tenant, handle, key)
    view = model.view(tenant, found.session)
    policy = view.policy()[1]
    if not found.sensitivity.reaches(policy.sensitivity_floor):
        return found, None
    if policy.sensitivity_action is SensitivityAction.DROP:
        raise Forbidden(
            f"artifact {handle!r} is {found.sensitivity.value}, and the policy in force drops what "
            f"is {policy.sensitivity_floor.value} or above; an operator can publish another policy"
        )
    rows = view.by_ids([found.item_id])
    if not rows:
        raise NotFound(f"no artifact {handle!r} in tenant {tenant!r}; it may have been erased")
    hook = redaction_hook(policy.redaction_hook)
    return found, hook(rows[0].text, found.sensitivity, rows[0])
