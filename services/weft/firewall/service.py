"""Drill-down as a service: returns a slice of a raw body by its handle, masked like its
envelope."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import msgspec

from weft import tokens
from weft.firewall.body import Body
from weft.firewall.slice_hmac import slice_hmac
from weft.firewall.views.drill import Slice, drill
from weft.log.publishing import Publisher
from weft.readmodel.model import ReadModel
from weft.readmodel.status import LoggedArtifact, artifact
from weft.readmodel.view import SessionView
from weft.redaction import redaction_hook
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.pool import Pool
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.request_server import RequestServer
from weft.runtime.requests import ReceivedRequest
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.envelope import Signal
from weft_schemas.errors import Forbidden, NotFound, Unavailable, no_artifact
from weft_schemas.ids import handle_key
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.policy import (
    FirewallRules,
    SensitivityAction,
    SignalAction,
    action_on,
    rule_of_result,
)

SHORT_BYTES = 32 * 1024
SHORT_SLICE = 4_000
"""Up to this many bytes of a body, and tokens of them, are read in this process: it takes 1 to 5
ms, as long as a compile. A body of 250 KB takes up to 100 ms, one of 6 MB one to two seconds."""


async def answer(
    process: Process,
    replica: Replica,
    pool: Pool,
    publisher: Publisher,
    request_server: RequestServer,
) -> None:
    """Answer `drilldown` requests from now on."""
    artifacts = ArtifactStore(process.connection, publisher)
    drilldowns = _Drilldowns(process, replica, pool, artifacts)
    await request_server.answer("drilldown", DrilldownRequest, drilldowns.drilldown)


class _Drilldowns:
    def __init__(
        self, process: Process, replica: Replica, pool: Pool, artifacts: ArtifactStore
    ) -> None:
        self._replica = replica
        self._pool = pool
        self._artifacts = artifacts
        self._key = process.settings.fingerprint_key.encode()
        self._handles = handle_key(self._key)
        self._encoding = process.settings.encoding

    async def drilldown(
        self, asked: ReceivedRequest[DrilldownRequest]
    ) -> DrilldownReply | msgspec.Raw:
        """Raises `NotFound` if the tenant has no such handle, `InvalidInput` for a view or an
        argument that does not exist, `Forbidden` if the policy in force drops the item, and
        `Unavailable` while there is no envelope yet."""
        request = asked.request
        found, rules, redacted = await self._replica.read_fairly(
            asked.tenant,
            lambda model: allowed(model, asked.tenant, request.handle, self._handles),
        )
        if found.untrusted and found.envelope is None:
            raise Unavailable(
                f"artifact {found.handle!r} has no envelope yet, so nobody may look into it; try "
                "again, or look at `weft status` for why"
            )
        if redacted is not None:
            # No argument may change the reply: that would reveal the content.
            count = tokens.count(redacted, self._encoding)
            shown_of = Slice(redacted, count, False, None, ())
            return reply_of(asked.tenant, found, request, self._key, shown_of)
        shown = partial(
            slice_of, asked.tenant, msgspec.structs.replace(found, envelope=None), request,
            self._key, self._encoding, rules, signals=signals_of(found),
        )  # fmt: skip
        is_short = found.size <= SHORT_BYTES and request.max_tokens <= SHORT_SLICE
        is_crowding = self._replica.is_crowding(asked.tenant)
        if is_short and not self._pool.is_isolated(asked.tenant, is_crowding):
            return await self._answered_here(asked.tenant, found, shown)
        return await self._answered_by_pool(asked.tenant, found, shown, is_short)

    async def _answered_here(
        self, tenant: str, found: LoggedArtifact, shown: partial[DrilldownReply]
    ) -> DrilldownReply:
        async with self._body(tenant, found) as body, self._replica.turn(tenant):
            with self._pool.watched(tenant):
                return shown(body)

    async def _answered_by_pool(
        self, tenant: str, found: LoggedArtifact, shown: partial[DrilldownReply], is_short: bool
    ) -> msgspec.Raw:
        # The body is fetched within the turn too, so that no tenant fetches many at once.
        async with (
            self._pool.turn(tenant, found.session, is_short) as worker,
            self._body(tenant, found) as body,
        ):
            return msgspec.Raw(await worker.run(encoded_slice, shown, body))

    @asynccontextmanager
    async def _body(self, tenant: str, found: LoggedArtifact) -> AsyncIterator[Body]:
        """The read model outlives what is trimmed, so prompts still offer such handles: a compile
        at a sequence gives the same prompt before and after."""
        try:
            async with AsyncExitStack() as opened:
                item = await self._artifacts.item(found.sequence, found.item_id)
                body = await opened.enter_async_context(self._artifacts.body(tenant, item))
                left = opened.pop_all()
        except NotFound:
            raise NotFound(
                f"the full result behind {found.handle!r} is no longer in the log: it was trimmed, "
                "or erased. Only what the prompt shows of it is left; call its tool again for more"
            ) from None
        async with left:
            yield body


def slice_of(
    tenant: str,
    found: LoggedArtifact,
    request: DrilldownRequest,
    key: bytes,
    encoding: str,
    rules: FirewallRules,
    body: Body,
    signals: tuple[Signal, ...] = (),
) -> DrilldownReply:
    """The reply to a drill-down into a body."""
    shown = drill(
        body,
        request,
        content_type=found.content_type,
        fingerprint_key=key,
        encoding=encoding,
        rules=rules,
    )
    return reply_of(tenant, found, request, key, shown, signals)


def signals_of(found: LoggedArtifact) -> tuple[Signal, ...]:
    """What the guards find in the whole body."""
    return found.envelope.signals if found.envelope is not None else ()


def reply_of(
    tenant: str,
    found: LoggedArtifact,
    request: DrilldownRequest,
    key: bytes,
    shown: Slice,
    signals: tuple[Signal, ...] = (),
) -> DrilldownReply:
    """A slice, together with where it comes from."""
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
        seal=slice_hmac(key, tenant, found.handle, found.sensitivity, shown.text),
        signals=signals or msgspec.UNSET,
    )


def encoded_slice(shown: partial[DrilldownReply], body: Body) -> bytes:
    """The same as JSON, as another process returns it."""
    return msgspec.json.encode(shown(body))


def allowed(
    model: ReadModel, tenant: str, handle: str, key: bytes
) -> tuple[LoggedArtifact, FirewallRules, str | None]:
    """The artifact, the rules that are in force in its session, and the text shown instead if the
    policy in force redacts it. Raises `Forbidden` if the policy drops it."""
    found = artifact(model.db, tenant, handle, key)
    view = model.view(tenant, found.session)
    policy = view.policy()[1]
    found = msgspec.structs.replace(found, sensitivity=_level(view, found, policy.firewall))
    action = action_on(policy.firewall, signals_of(found))
    if action is SignalAction.DROP:
        raise Forbidden(
            f"artifact {handle!r} is flagged by the guards, and the policy in force drops such "
            "items; an operator can publish another policy"
        )
    is_sensitive = found.sensitivity.reaches(policy.sensitivity_floor)
    if not is_sensitive and action is not SignalAction.REDACT:
        return found, policy.firewall, None
    if is_sensitive and policy.sensitivity_action is SensitivityAction.DROP:
        raise Forbidden(
            f"artifact {handle!r} is {found.sensitivity.value}, and the policy in force drops what "
            f"is {policy.sensitivity_floor.value} or above; an operator can publish another policy"
        )
    rows = view.by_ids([found.item_id])
    if not rows:
        raise no_artifact(tenant, handle)
    hook = redaction_hook(policy.redaction_hook)
    return found, policy.firewall, hook(rows[0].text, found.sensitivity, rows[0])


def _level(view: SessionView, found: LoggedArtifact, rules: FirewallRules) -> Sensitivity:
    """The artifact's level. For a result that does not name its tool, the level of its call's tool
    counts too, which its envelope may not know."""
    if not rules.tools or found.kind is not ItemKind.TOOL_RESULT:
        return found.sensitivity
    for row in view.by_ids([found.item_id]):
        calls = view.by_ids([row.parent_id]) if row.parent_id and not row.tool_name else []
        named = calls[0].tool_name if calls else ""
        rule = None if row.tool_name else rule_of_result(rules, "", named)
        if rule is not None and rule.sensitivity is not None:
            return found.sensitivity.raised_to(rule.sensitivity)
    return found.sensitivity
