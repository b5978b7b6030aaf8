"""The summarizer as a worker: long trusted items and closed sessions get their summary."""

from __future__ import annotations

import asyncio

import msgspec

from weft import tokens
from weft.log.event_log import EventLog
from weft.log.publishing import Publisher
from weft.log.record import LogRecord
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.deriving import HUGE_BYTES, Derived, WorkContext, Worker
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.runtime.worker import run_worker
from weft.secrets.items import masked_item
from weft.summarizer.covered import NOTHING, Memory
from weft.summarizer.derive import VERSION, WORKER, is_long, summary_of_item, summary_of_session
from weft.summarizer.stretch import Stretch, stretch_of
from weft.summarizer.summarizer import Summarizer, configured
from weft_schemas.errors import InvalidInput, Unavailable
from weft_schemas.events import Event, Origin, SessionClosedEvent, SummaryEvent
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy, FirewallRules
from weft_schemas.subjects import Stored, derived_subject

PATIENT_ATTEMPTS = 4
"""How often a closed session waits for envelopes and summaries that are not there yet, some 3 s in
all; then it is summarised without them."""

READ_AT_ONCE = 4
"""Closed sessions that one process reads at a time. All that it holds at once would be more than
its connection takes, and the server would cut it off."""


_Given = tuple[ContextItem, str, Origin, ContextPolicy, Summarizer, str]


async def service(process: Process) -> None:
    """Run until the process stops."""
    tokens.counter(process.settings.encoding)  # loaded here, not by the first event
    async with Publisher(process.connection) as publisher:
        artifacts = ArtifactStore(process.connection, publisher)
        await run_worker(
            process, summarizer(process.settings, EventLog(process.connection), artifacts)
        )


def summarizer(settings: Settings, log: EventLog, artifacts: ArtifactStore) -> Worker:
    """The worker: summaries of long items and of closed sessions."""
    summaries = _Summaries(settings, log, artifacts)
    return Worker(WORKER, VERSION, summaries.derive, summaries.at_once)


class _Summaries:
    def __init__(self, settings: Settings, log: EventLog, artifacts: ArtifactStore) -> None:
        self._log = log
        self._encoding = settings.encoding
        self._artifacts = artifacts
        self._model = configured(
            settings.summary_url or "",
            settings.summary_model or "",
            settings.summary_api_key or "",
        )
        self._remote = settings.summary_url is not None
        self._reading = asyncio.Semaphore(READ_AT_ONCE)
        self._memory = Memory()

    def at_once(
        self, record: LogRecord, address: Stored, event: Event, context: WorkContext
    ) -> list[Derived] | None:
        if isinstance(event, SessionClosedEvent):
            return None
        if not isinstance(event, ContextItem) or context.is_untrusted(event):
            return []
        if self._remote or event.body is not None or len(event.text) > HUGE_BYTES:
            return None
        return _derived(address, _summary_of_item(*self._given(event, event.text, context)))

    async def derive(
        self, record: LogRecord, address: Stored, event: Event, context: WorkContext
    ) -> list[Derived]:
        if isinstance(event, ContextItem):
            return _derived(address, await self._of_item(address, event, context))
        if isinstance(event, SessionClosedEvent):
            return _derived(address, await self._of_session(record, address, context))
        return []

    async def _of_item(
        self, address: Stored, item: ContextItem, context: WorkContext
    ) -> SummaryEvent | None:
        if context.is_untrusted(item):
            return None
        text = await self._artifacts.text(address.tenant, item)
        given = self._given(item, text, context)
        if self._remote:
            # It waits for a network, so it needs a thread and no subprocess.
            return await asyncio.to_thread(_summary_of_item, *given)
        return await context.compute(len(text), _summary_of_item, *given)

    def _given(self, item: ContextItem, text: str, context: WorkContext) -> _Given:
        return item, text, context.origin(item.id), context.policy, self._model, self._encoding

    async def _of_session(
        self, record: LogRecord, address: Stored, context: WorkContext
    ) -> SummaryEvent | None:
        async with self._reading:
            stretch = await self._stretch(record, address, context)
        if stretch is None:
            return None
        if _may_wait(stretch, record):
            raise Unavailable(
                f"session {address.session!r} waits for the envelopes or summaries of "
                f"{len(stretch.pending)} items; its own summary is tried again"
            )
        rules, origin = context.policy.summaries, context.origin()
        return await asyncio.to_thread(
            summary_of_session, stretch, origin, rules, self._model, self._encoding
        )

    async def _stretch(
        self, record: LogRecord, address: Stored, context: WorkContext
    ) -> Stretch | None:
        place, closing = (address.tenant, address.session), record.sequence
        before = self._memory.before(place, closing)
        events = await self._events(place, before.last)
        if before.reaches_into(events, closing):
            before, events = NOTHING, await self._events(place, 0)
        policy = context.policy
        # In a thread: it counts the tokens of what has no summary yet.
        shown = await asyncio.to_thread(_shown, events, policy.firewall)
        stretch = await asyncio.to_thread(
            stretch_of,
            address.session,
            shown,
            closing,
            policy.sensitivity_floor,
            lambda sequence, item: context.is_untrusted(item, sequence),
            lambda item: is_long(item, item.text, policy.summaries, self._encoding),
            before,
        )
        if stretch is None or not _may_wait(stretch, record):
            self._memory.keep(place, before, events, closing)
        return stretch

    async def _events(self, place: tuple[str, str], after: int) -> list[tuple[int, Event]]:
        """The session's, with their sequences, after one of them."""
        events: list[tuple[int, Event]] = []
        async for one in self._log.session(*place, after=after):
            try:
                events.append((one.sequence, one.event()))
            except InvalidInput:
                continue  # parked by who reports it
        return events


def _summary_of_item(
    item: ContextItem,
    text: str,
    origin: Origin,
    policy: ContextPolicy,
    model: Summarizer,
    encoding: str,
) -> SummaryEvent | None:
    """Of the item as it may be shown; its body may lie apart."""
    shown = masked_item(msgspec.structs.replace(item, text=text), policy.firewall)
    return summary_of_item(item, shown.text, origin, policy.summaries, model, encoding)


def _shown(events: list[tuple[int, Event]], rules: FirewallRules) -> list[tuple[int, Event]]:
    """The events with every item as it may be shown."""
    return [
        (at, masked_item(event, rules) if isinstance(event, ContextItem) else event)
        for at, event in events
    ]


def _derived(address: Stored, summary: SummaryEvent | None) -> list[Derived]:
    if summary is None:
        return []
    subject = derived_subject(address.tenant, address.session, "summary")
    return [Derived(subject, summary, "summary")]


def _may_wait(stretch: Stretch, record: LogRecord) -> bool:
    return bool(stretch.pending) and record.deliveries < PATIENT_ATTEMPTS
