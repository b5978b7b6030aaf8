"""Plans a rederivation of one session: which sources a worker takes, which results count now, and
which results of a new run are new. Pure functions over records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from weft.log.record import LogRecord
from weft.readmodel.precedence import Derivation, superseded_by
from weft_schemas.errors import InvalidInput
from weft_schemas.events import (
    EXTRACTIVE,
    EnvelopeEvent,
    EpisodeEvent,
    Event,
    FactsEvent,
    Origin,
    SensitivityEvent,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, Sensitivity

DerivedEvent = EnvelopeEvent | SummaryEvent | FactsEvent | EpisodeEvent | SensitivityEvent


class SourceEvent(msgspec.Struct, frozen=True):
    """An event that a worker derives from."""

    record: LogRecord
    event: Event
    about: int
    """The sequence that derived events name as their origin."""


class Standing(msgspec.Struct):
    """What one worker has derived so far from one source."""

    current: DerivedEvent
    """The result that counts now."""
    runs: set[str] = set()


def sources(
    decoded: Sequence[tuple[LogRecord, Event]], takes: Callable[[Event], bool]
) -> list[SourceEvent]:
    """The sources that a worker takes of a session, in order: the first item of each id, closings,
    and other workers' results that count."""
    found: list[SourceEvent] = []
    ids: set[str] = set()
    counting = {id(one.current) for one in standings(decoded, "").values()}
    for record, event in decoded:
        if isinstance(event, ContextItem):
            if event.id not in ids:
                ids.add(event.id)
                found.append(SourceEvent(record, event, record.sequence))
        elif not takes(event):
            continue
        elif isinstance(event, SessionClosedEvent):
            found.append(SourceEvent(record, event, record.sequence))
        elif id(event) in counting:
            # What is learned from an envelope belongs to its item.
            about = event.origin.sequence if isinstance(event, EnvelopeEvent) else record.sequence
            if not (isinstance(event, SummaryEvent) and event.origin.item_id):
                found.append(SourceEvent(record, event, about))
    return found


def standings(
    decoded: Iterable[tuple[LogRecord, Event]], worker: str
) -> dict[tuple[str, int], Standing]:
    """(worker, source sequence) → what it derived; of all workers if `worker` is empty."""
    found: dict[tuple[str, int], Standing] = {}
    known: dict[tuple[str, int], list[Derivation]] = {}
    for record, event in decoded:
        if not isinstance(event, DerivedEvent) or worker not in ("", event.origin.worker):
            continue
        origin = event.origin
        key = (origin.worker, origin.sequence)
        new = Derivation(origin.sequence, origin.run, _part(event), record.sequence)
        if superseded_by(new, known.setdefault(key, [])) is not None:
            known[key].append(new)
            standing = found.setdefault(key, Standing(event, set()))
            standing.current = event
            standing.runs.add(origin.run)
    return found


def decoded(records: Iterable[LogRecord]) -> list[tuple[LogRecord, Event]]:
    """The records that can be read, with their events."""
    pairs = []
    for record in records:
        try:
            record.address()
            pairs.append((record, record.event()))
        except InvalidInput:
            continue  # parked by the worker that reports it
    return pairs


def misplaced(records: Iterable[LogRecord]) -> list[tuple[int, str]]:
    """The sequences of records whose subject cannot be read, each with the reason."""
    found = []
    for record in records:
        try:
            record.address()
        except InvalidInput as error:
            found.append((record.sequence, str(error)))
    return found


def to_publish(
    made: DerivedEvent | None, standing: Standing | None, origin: Origin
) -> Event | None:
    """What a new run publishes of its results: nothing if the same result counts already, and a
    withdrawal if a result counts and the run made none. A model's answer is always published, so
    that the model is asked once."""
    if made is None or _is_empty(made):
        current = standing.current if standing else None
        return _withdrawn(current, origin) if current and not _is_empty(current) else None
    asked_a_model = isinstance(made, SummaryEvent) and made.model != EXTRACTIVE
    if standing and not asked_a_model and _content(made) == _content(standing.current):
        return None
    return made


def run_name(worker: str, version: str, policy_version: int, model: str = "") -> str:
    """A name for a rederivation, made of all that its output depends on, so that equal ones are one
    run."""
    parts = [worker, version, str(policy_version), *([model] if model else [])]
    return "/".join(parts)


def _part(event: DerivedEvent) -> str:
    """What distinguishes events of one source and run in the fold."""
    match event:
        case FactsEvent():
            return event.scope
        case EpisodeEvent():
            return f"{event.scope}\n{event.episode_id}"
    return ""


def _content(event: DerivedEvent) -> object:
    """Its content, without its origin."""
    blank = Origin(0)
    content = msgspec.structs.replace(event, origin=blank)
    return content


def _is_empty(event: DerivedEvent) -> bool:
    match event:
        case FactsEvent():
            return not event.facts
        case SummaryEvent():
            return not event.text
        case SensitivityEvent():
            return event.sensitivity is Sensitivity.PUBLIC
    return False


def _withdrawn(event: DerivedEvent, origin: Origin) -> Event | None:
    """The event that withdraws a summary or facts; envelopes and episodes are only replaced."""
    match event:
        case FactsEvent():
            return msgspec.structs.replace(event, origin=origin, facts=())
        case SummaryEvent():
            return msgspec.structs.replace(event, origin=origin, text="", tokens=0)
        case SensitivityEvent():
            return SensitivityEvent(origin, Sensitivity.PUBLIC)
    return None
