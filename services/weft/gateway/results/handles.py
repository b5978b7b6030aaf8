"""Resolves handles: from memory if this gateway made them a moment ago, else from the log. So a
handle outlives the gateway, and any host of the tenant can use it. Memory only saves time: it
serves what the log still holds and the policy in force shows unchanged; the service decides
everything else."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from weft.client import Client
from weft.firewall.slice_hmac import slice_hmac
from weft.firewall.views.drill import drill
from weft.gateway.masking import Masking
from weft.gateway.results.host_result import clean_whole, envelope_of
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read, read_matching
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.request_client import ask
from weft_schemas.compile import DrilldownReply, DrilldownRequest
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.errors import Forbidden, InvalidInput, NotFound, Unavailable, WeftError
from weft_schemas.events import EnvelopeEvent, SensitivityEvent
from weft_schemas.items import ContextItem, Sensitivity
from weft_schemas.policy import ContextPolicy, SignalAction, action_on
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import stored_filter

KEPT_BYTES = 64 << 20
"""Raw results that are remembered; others come from the log."""
WAIT_SECONDS = 20.0
"""For services that are starting, and for the envelope of a result that has just arrived."""
CONFIRM_SECONDS = 3.0
"""For the log's firewall to report the handle of a result."""
AGAIN_SECONDS = 60.0
"""After it did not, before it is asked again."""
_POLL_SECONDS = 0.1


class ReceivedResult(msgspec.Struct, frozen=True):
    """A result that this gateway received."""

    item: ContextItem
    session: str
    sequence: int
    envelope: ResultEnvelope
    masking: Masking
    """The rules under which the envelope was made."""


class Handles:
    def __init__(
        self,
        client: Client,
        policy: Callable[[str], ContextPolicy],
        masking: Callable[[str], Masking],
        is_own: bool,
    ) -> None:
        """`policy` and `masking` return those in force for a session. `is_own` says whether the
        gateway is known to have the deployment's secret."""
        self.is_own = is_own
        self._not_before = 0.0
        self._client = client
        self._policy = policy
        self._masking = masking
        self._received: OrderedDict[str, ReceivedResult] = OrderedDict()
        self._bytes = 0

    def remember(self, handle: str, received: ReceivedResult) -> None:
        """Remember a result until newer ones replace it."""
        if not self.is_own:
            return
        self._forget(handle)
        self._received[handle] = received
        self._bytes += len(received.item.text)
        while self._bytes > KEPT_BYTES and len(self._received) > 1:
            self._forget(next(iter(self._received)))

    def _forget(self, handle: str) -> None:
        forgotten = self._received.pop(handle, None)
        if forgotten is not None:
            self._bytes -= len(forgotten.item.text)

    async def confirmed(self, session: str, item_id: str, after: int, handle: str) -> str:
        """The handle that the log's firewall gives a result. The gateway computes the same one if
        it has the deployment's secret, which is checked once; without the secret, nothing is
        answered from memory."""
        now = asyncio.get_running_loop().time()
        if self.is_own or now < self._not_before:
            return handle
        try:
            async with asyncio.timeout(CONFIRM_SECONDS):
                actual = await self._handle_by_firewall(session, item_id, after)
        except (TimeoutError, WeftError):  # no firewall is running
            self._not_before = now + AGAIN_SECONDS
            return handle
        self.is_own = actual == handle
        return actual

    async def _handle_by_firewall(self, session: str, item_id: str, after: int) -> str:
        subjects = stored_filter(self._client.tenant, session, "out", "envelope")
        while True:
            async for record in read_matching(self._client.connection, subjects, after=after):
                event = record.event()
                if isinstance(event, EnvelopeEvent) and event.origin.item_id == item_id:
                    return event.envelope.artifacts[0].handle
            await asyncio.sleep(_POLL_SECONDS / 10)

    async def look(self, request: DrilldownRequest) -> DrilldownReply:
        """A slice of a result. Raises `NotFound`, `InvalidInput`, `Unavailable`."""
        received = await self._in_force(request.handle)
        if received is None:
            return await self._drilled(request)
        envelope, masking = received.envelope, received.masking
        shown = await asyncio.to_thread(
            drill,
            received.item.text,
            request,
            content_type=envelope.content_type,
            fingerprint_key=masking.key,
            encoding=masking.encoding,
            rules=masking.rules,
        )
        return DrilldownReply(
            handle=request.handle,
            view=request.view,
            text=shown.text,
            tokens=shown.tokens,
            truncated=shown.truncated,
            item_id=received.item.id,
            session=received.session,
            sensitivity=envelope.sensitivity,
            content_type=envelope.content_type,
            views=shown.views,
            next=shown.next,
            seal=slice_hmac(
                masking.key, masking.tenant, request.handle, envelope.sensitivity, shown.text
            ),
            signals=envelope.signals or msgspec.UNSET,
        )

    async def _in_force(self, handle: str) -> ReceivedResult | None:
        """The remembered result as it may be shown now; None if the service has to decide."""
        received = self._received.get(handle)
        if received is None:
            return None
        try:
            await read(self._client.connection, received.sequence)
            level = await self._level(received)
        except NotFound:  # erased, or trimmed
            self._forget(handle)
            return None
        except Forbidden:  # these credentials cannot tell
            return None
        received = await asyncio.to_thread(self._under_current_rules, received, level)
        return received if self._is_shown(received) else None

    async def _level(self, received: ReceivedResult) -> Sensitivity:
        """The item's sensitivity, as classifiers have raised it since."""
        level = received.envelope.sensitivity
        subjects = stored_filter(self._client.tenant, received.session, "out", "sensitivity")
        connection = self._client.connection
        async for record in read_matching(connection, subjects, after=received.sequence):
            try:
                event = record.event()
            except InvalidInput:
                continue
            if isinstance(event, SensitivityEvent) and event.origin.item_id == received.item.id:
                level = level.raised_to(event.sensitivity)
        return level

    def _under_current_rules(self, received: ReceivedResult, level: Sensitivity) -> ReceivedResult:
        """The result under the rules that are in force for its session now."""
        masking, envelope = self._masking(received.session), received.envelope
        if masking.rules != received.masking.rules:
            envelope = envelope_of(received.item, received.session, masking)
        envelope = msgspec.structs.replace(
            envelope, sensitivity=envelope.sensitivity.raised_to(level)
        )
        return msgspec.structs.replace(received, envelope=envelope, masking=masking)

    def _is_shown(self, received: ReceivedResult) -> bool:
        """Whether the policy in force for its session neither drops nor redacts it."""
        policy = self._policy(received.session)
        action = action_on(policy.firewall, received.envelope.signals)
        is_sensitive = received.envelope.sensitivity.reaches(policy.sensitivity_floor)
        return not is_sensitive and action not in (SignalAction.DROP, SignalAction.REDACT)

    async def whole(self, handle: str) -> tuple[str, Sensitivity]:
        """The whole result that a handle stands for, as it may be passed on, in its container if
        it has one, and its sensitivity.
        Raises `NotFound`, `Unavailable`, and `Forbidden` if only a summary may be shown."""
        received = await self._in_force(handle) or await self._logged(handle)
        if not self._is_shown(received):
            raise Forbidden(
                f"{handle} is {received.envelope.sensitivity.value} or flagged, and the policy in "
                f"force in its session does not show it; it goes to no other tool"
            )
        text = await asyncio.to_thread(clean_whole, received.item.text, received.envelope)
        if text is None:
            raise Forbidden(
                f"{handle} cannot be handed on whole: it is no text, or its policy or size lets "
                "only its summary show; look into it and hand on what is needed"
            )
        return text, received.envelope.sensitivity

    async def _logged(self, handle: str) -> ReceivedResult:
        """From the log, with the envelope made anew under the rules in force."""
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
        masking = self._masking(reply.session)
        envelope = await asyncio.to_thread(envelope_of, item, reply.session, masking)
        received = ReceivedResult(item, reply.session, sequence, envelope, masking)
        received = self._under_current_rules(received, reply.sensitivity)
        self.remember(handle, received)  # only if the gateway makes the same handles
        return received

    async def _drilled(self, request: DrilldownRequest) -> DrilldownReply:
        """Ask the service; waits while it starts, or until it has read what the log holds."""
        client, loop = self._client, asyncio.get_running_loop()
        deadline = loop.time() + WAIT_SECONDS
        newest = await last_sequence(client.connection)
        while True:
            try:
                return await client.drilldown(
                    request.handle,
                    request.view,
                    max_tokens=request.max_tokens,
                    timeout=None,
                    **request.args,
                )
            except NotFound:
                if (await client.status()).sequence >= newest or loop.time() >= deadline:
                    raise
            except Unavailable:
                if loop.time() >= deadline:
                    raise
            await asyncio.sleep(_POLL_SECONDS)
