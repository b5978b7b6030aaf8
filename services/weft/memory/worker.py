"""The memory-updater as a worker: it derives facts and episodes from user turns, envelopes and
summaries of sessions."""

from __future__ import annotations

from functools import partial

import msgspec

from weft.log.consuming import HELD
from weft.log.reading import EventLog
from weft.memory.derive import VERSION, WORKER, episode_of, facts_of_envelope, facts_of_item
from weft.memory.languages import Languages, languages_with
from weft.runtime.process import Process
from weft.workers.deriver import Deriver
from weft.workers.running import run
from weft.workers.source import Source
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import EnvelopeEvent, EpisodeEvent, FactsEvent, SummaryEvent
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import place_of


async def service(process: Process) -> None:
    """Run until the process is stopped."""
    languages = languages_with(process.settings.memory_languages)
    await run(process, memory(EventLog(process.connection), languages))


def memory(log: EventLog, languages: Languages | None = None) -> Deriver:
    """The worker. No other one reports malformed `out` events. It recognises facts in English and
    in `languages`, by default the ones that come with weft."""
    worker = Deriver(WORKER, VERSION, reports="out", concurrency=HELD)

    async def of_envelope(source: Source) -> FactsEvent | None:
        return await _of_envelope(log, source)

    # The kinds whose own text can state a fact.
    worker.of(ItemKind.USER_TURN, ItemKind.MEMORY_FACT, when=_is_heard)(
        partial(_of_item, languages=languages)
    )
    worker.of(EnvelopeEvent, when=_tells)(of_envelope)
    worker.of(SummaryEvent)(_of_summary)
    return worker


def _is_heard(source: Source) -> bool:
    """An item that the policy distrusts is heard only through its envelope."""
    return not source.is_untrusted


def _of_item(source: Source, *, languages: Languages | None) -> FactsEvent | None:
    return facts_of_item(source.session, source.item, source.text, source.origin, languages)


def _tells(source: Source) -> bool:
    """Whether the envelope has facts, or may take back those of an earlier run."""
    event = source.event
    return isinstance(event, EnvelopeEvent) and bool(event.envelope.facts or event.origin.run)


async def _of_envelope(log: EventLog, source: Source) -> FactsEvent | None:
    event = source.event
    assert isinstance(event, EnvelopeEvent)
    try:
        record = await log.read(event.origin.sequence)
    except NotFound:
        return None  # erased since
    item = record.event()
    place = place_of(record.subject)
    if not isinstance(item, ContextItem) or place != (source.tenant, source.session):
        raise InvalidInput(
            f"the envelope of event {event.origin.sequence} stands in session "
            f"{source.session!r}, which holds no such item; look at who published it"
        )
    origin = msgspec.structs.replace(
        source.origin,
        sequence=event.origin.sequence,
        item_id=item.id,
        run=source.origin.run or event.origin.run,
    )
    return facts_of_envelope(source.session, item, event, origin, source.policy.memory)


def _of_summary(source: Source) -> EpisodeEvent | None:
    event = source.event
    assert isinstance(event, SummaryEvent)
    return episode_of(source.session, event, source.origin)
