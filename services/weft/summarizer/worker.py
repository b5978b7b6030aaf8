"""The summarizer as a worker: summarises long trusted items and closed sessions."""

from __future__ import annotations

import asyncio
from functools import partial

from weft import tokens
from weft.log.consuming import HELD
from weft.log.reading import EventLog
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.secrets.masked_items import masked_item
from weft.summarizer.covered_stretches import NOTHING, CoveredStretches
from weft.summarizer.derive import VERSION, WORKER, is_long, summary_of_item, summary_of_session
from weft.summarizer.flagged_repeats import repeating
from weft.summarizer.stretch import Stretch, stretch_of
from weft.summarizer.summarizer import Summarizer, configured
from weft.workers.deriver import Deriver
from weft.workers.running import run
from weft.workers.source import Source
from weft.workers.work_context import WorkContext
from weft_schemas.errors import InvalidInput, Unavailable
from weft_schemas.events import Event, SessionClosedEvent, SummaryEvent
from weft_schemas.items import ContextItem
from weft_schemas.policy import FirewallRules

PATIENT_ATTEMPTS = 4
"""How often a closed session waits for envelopes and summaries that do not exist yet, about 3 s in
all; then it is summarised without them."""

READ_AT_ONCE = 4
"""How many closed sessions one process reads at a time. Together they could exceed what its
connection may take, and the server would cut it off."""


async def service(process: Process) -> None:
    """Run until the process is stopped."""
    tokens.counter(process.settings.encoding)  # loaded here, not with the first event
    await run(process, summarizer(process.settings, EventLog(process.connection)))


def summarizer(settings: Settings, log: EventLog) -> Deriver:
    """The worker: summaries of long items and of closed sessions."""
    worker = Deriver(WORKER, VERSION, concurrency=HELD)
    model = configured(
        settings.summary_url or "", settings.summary_model or "", settings.summary_api_key or ""
    )
    of_item = partial(_of_item, model=model, encoding=settings.encoding)

    async def asked(source: Source) -> SummaryEvent | None:
        # It waits for a network, so it needs a thread but no subprocess.
        return await asyncio.to_thread(of_item, source)

    is_remote = settings.summary_url is not None
    worker.of(ContextItem, when=_is_trusted)(asked if is_remote else of_item)
    worker.of(SessionClosedEvent)(_Sessions(settings.encoding, model, log).summary)
    return worker


def _is_trusted(source: Source) -> bool:
    return not source.is_untrusted


def _of_item(source: Source, *, model: Summarizer, encoding: str) -> SummaryEvent | None:
    rules = source.policy.summaries
    return summary_of_item(source.item, source.text, source.origin, rules, model, encoding)


class _Sessions:
    """Summaries of closed sessions."""

    def __init__(self, encoding: str, model: Summarizer, log: EventLog) -> None:
        self._log = log
        self._encoding = encoding
        self._model = model
        self._reading = asyncio.Semaphore(READ_AT_ONCE)
        self._memory = CoveredStretches()

    async def summary(self, source: Source, context: WorkContext) -> SummaryEvent | None:
        """Raises `Unavailable` while it waits for events derived from the session's items."""
        async with self._reading:
            stretch = await self._stretch(source, context)
        if stretch is None:
            return None
        if _may_wait(stretch, source):
            raise Unavailable(
                f"session {source.session!r} waits for the envelopes or summaries of "
                f"{len(stretch.pending)} items; its own summary is tried again"
            )
        rules = source.policy.summaries
        return await asyncio.to_thread(
            summary_of_session, stretch, source.origin, rules, self._model, self._encoding
        )

    async def _stretch(self, source: Source, context: WorkContext) -> Stretch | None:
        place, closing = (source.tenant, source.session), source.sequence
        before = self._memory.before(place, closing)
        events = await self._events(place, before.last)
        if before.reaches_into(events, closing):
            before, events = NOTHING, await self._events(place, 0)
        policy = source.policy
        # In threads: documents are searched for injections, and the tokens counted of items that
        # have no summary yet.
        shown = await asyncio.to_thread(_showable_events, events, policy.firewall)
        is_tainted = await asyncio.to_thread(repeating, shown)
        stretch = await asyncio.to_thread(
            stretch_of,
            source.session,
            shown,
            closing,
            policy.sensitivity_floor,
            lambda sequence, item: context.is_untrusted(item, sequence),
            lambda item: is_long(item, item.text, policy.summaries, self._encoding),
            before,
            is_tainted,
        )
        if stretch is None or not _may_wait(stretch, source):
            self._memory.keep(place, before, events, closing)
        return stretch

    async def _events(self, place: tuple[str, str], after: int) -> list[tuple[int, Event]]:
        """The session's events with their sequences, after one of them."""
        events: list[tuple[int, Event]] = []
        async for one in self._log.session(*place, after=after):
            try:
                events.append((one.sequence, one.event()))
            except InvalidInput:
                continue  # parked by the worker that reports it
        return events


def _showable_events(
    events: list[tuple[int, Event]], rules: FirewallRules
) -> list[tuple[int, Event]]:
    """The events, with every item as it may be shown."""
    return [
        (at, masked_item(event, rules) if isinstance(event, ContextItem) else event)
        for at, event in events
    ]


def _may_wait(stretch: Stretch, source: Source) -> bool:
    return bool(stretch.pending) and source.attempt < PATIENT_ATTEMPTS
