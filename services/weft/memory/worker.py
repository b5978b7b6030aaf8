"""The memory-updater as a worker: user turns, envelopes and sessions' summaries become facts and
episodes."""

from __future__ import annotations

import msgspec

from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read
from weft.log.record import LogRecord
from weft.memory.derive import VERSION, WORKER, episode_of, facts_of_envelope, facts_of_item
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.deriving import HUGE_BYTES, Derived, WorkContext, Worker
from weft.runtime.process import Process
from weft.runtime.worker import run_worker
from weft.secrets.items import masked_item
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    Event,
    FactsEvent,
    Origin,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules
from weft_schemas.subjects import Stored, derived_subject

_SPEAKS = (ItemKind.USER_TURN, ItemKind.MEMORY_FACT)
"""Kinds that can state a fact in their own words."""


async def service(process: Process) -> None:
    """Run until the process stops."""
    async with Publisher(process.connection) as publisher:
        artifacts = ArtifactStore(process.connection, publisher)
        await run_worker(process, memory(process.connection, artifacts))


def memory(connection: Connection, artifacts: ArtifactStore) -> Worker:
    """The worker; it alone reports malformed `out` events."""
    memories = _Memories(connection, artifacts)
    return Worker(WORKER, VERSION, memories.derive, memories.at_once, reports="out")


class _Memories:
    def __init__(self, connection: Connection, artifacts: ArtifactStore) -> None:
        self._connection = connection
        self._artifacts = artifacts

    def at_once(
        self, record: LogRecord, address: Stored, event: Event, context: WorkContext
    ) -> list[Derived] | None:
        if isinstance(event, EnvelopeEvent):
            return None if _tells(event) else []
        if isinstance(event, SummaryEvent):
            return _derived(address, episode_of(address.session, event, context.origin()))
        if not isinstance(event, ContextItem) or not _is_heard(event, context):
            return []
        if event.body is not None or len(event.text) > HUGE_BYTES:
            return None
        origin = context.origin(event.id)
        shown = masked_item(event, context.policy.firewall)
        return _derived(address, facts_of_item(address.session, shown, shown.text, origin))

    async def derive(
        self, record: LogRecord, address: Stored, event: Event, context: WorkContext
    ) -> list[Derived]:
        if isinstance(event, ContextItem):
            return _derived(address, await self._of_item(address, event, context))
        if isinstance(event, EnvelopeEvent):
            return _derived(address, await self._of_envelope(address, event, context))
        if isinstance(event, SummaryEvent):
            return _derived(address, episode_of(address.session, event, context.origin()))
        return []

    async def _of_item(
        self, address: Stored, item: ContextItem, context: WorkContext
    ) -> FactsEvent | None:
        if not _is_heard(item, context):
            return None
        text = await self._artifacts.text(address.tenant, item)
        rules, origin = context.policy.firewall, context.origin(item.id)
        return await context.compute(len(text), _facts, address.session, item, text, origin, rules)

    async def _of_envelope(
        self, address: Stored, event: EnvelopeEvent, context: WorkContext
    ) -> FactsEvent | None:
        if not _tells(event):
            return None
        try:
            record = await read(self._connection, event.origin.sequence)
        except NotFound:
            return None  # erased since
        source = record.event()
        if not isinstance(source, ContextItem) or not _same_session(record.address(), address):
            raise InvalidInput(
                f"the envelope of event {event.origin.sequence} stands in session "
                f"{address.session!r}, which holds no such item; look at who published it"
            )
        origin = context.origin(source.id, event.origin.sequence, event.origin.run)
        return facts_of_envelope(address.session, source, event, origin, context.policy.memory)


def _facts(
    session: str, item: ContextItem, text: str, origin: Origin, rules: FirewallRules
) -> FactsEvent | None:
    """Of the item as it may be shown; its body may lie apart."""
    shown = masked_item(msgspec.structs.replace(item, text=text), rules)
    return facts_of_item(session, shown, shown.text, origin)


def _is_heard(item: ContextItem, context: WorkContext) -> bool:
    """What the policy distrusts speaks through its envelope alone."""
    return item.kind in _SPEAKS and not context.is_untrusted(item)


def _tells(event: EnvelopeEvent) -> bool:
    """Whether it has facts, or may take back those of an earlier run."""
    return bool(event.envelope.facts or event.origin.run)


def _derived(address: Stored, event: FactsEvent | EpisodeEvent | None) -> list[Derived]:
    if event is None:
        return []
    part = "fact" if isinstance(event, FactsEvent) else "episode"
    return [Derived(derived_subject(address.tenant, address.session, part), event, part)]


def _same_session(one: Stored, other: Stored) -> bool:
    return (one.tenant, one.session) == (other.tenant, other.session)
