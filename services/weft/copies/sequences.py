"""The sequence numbers inside events, and their replacement in a copy."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import msgspec

from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    ErasingEvent,
    ErasureReceiptEvent,
    Event,
    FactsEvent,
    Origin,
    ParkedEvent,
    RevivedEvent,
    SensitivityEvent,
    SessionClosedEvent,
    SummaryEvent,
)

EventWithOrigin = (
    EnvelopeEvent
    | SummaryEvent
    | FactsEvent
    | EpisodeEvent
    | SensitivityEvent
    | ParkedEvent
    | RevivedEvent
)


class Places:
    """Old sequence → new one, filled in the order of the old ones."""

    def __init__(self) -> None:
        self._old: list[int] = []
        self._new: list[int] = []

    def add(self, old: int, new: int) -> None:
        self._old.append(old)
        self._new.append(new)

    @property
    def newest(self) -> int:
        """The last old sequence, 0 without one."""
        return self._old[-1] if self._old else 0

    def __contains__(self, old: int) -> bool:
        return self.get(old) is not None

    def get(self, old: int) -> int | None:
        """The new place of exactly this event."""
        index = bisect_left(self._old, old)
        found = index < len(self._old) and self._old[index] == old
        return self._new[index] if found else None

    def at_or_before(self, old: int) -> int:
        """The new place of the last event up to `old`, 0 without one."""
        index = bisect_right(self._old, old)
        return self._new[index - 1] if index else 0

    def at_or_after(self, old: int) -> int:
        """The new place of the first event from `old` on; without one, that of the last event, or
        0."""
        index = min(bisect_left(self._old, old), len(self._old) - 1)
        return self._new[index] if self._old else 0


def highest_reference(event: Event) -> int:
    """The highest sequence that the event names, 0 for none. All events up to it must have their
    places before this one can be placed."""
    match event:
        case SessionClosedEvent():
            return event.last_sequence
        case ErasingEvent() | ErasureReceiptEvent():
            return event.tombstone_sequence
        case SummaryEvent() | EpisodeEvent():
            named = max(event.first_sequence, event.last_sequence)
        case EnvelopeEvent() | FactsEvent() | SensitivityEvent() | ParkedEvent() | RevivedEvent():
            named = 0
        case _:
            return 0
    return max(named, event.origin.sequence, event.origin.policy_version)


def with_new_sequences(event: Event, places: Places, *, same_log: bool) -> Event:
    """The event with its sequences as in `places`. With `same_log`, a policy keeps its version,
    since it is the same event; else 0 stands for one that was not copied. A source that was not
    copied becomes 0, which the fold counts as unknown."""
    changes: dict[str, object] = {}
    if isinstance(event, EventWithOrigin):
        changes["origin"] = _origin(event.origin, places, same_log)
    if isinstance(event, SummaryEvent | EpisodeEvent):
        if event.first_sequence:
            changes["first_sequence"] = places.at_or_after(event.first_sequence)
        if event.last_sequence:
            changes["last_sequence"] = places.at_or_before(event.last_sequence)
    if isinstance(event, SessionClosedEvent) and event.last_sequence:
        changes["last_sequence"] = places.at_or_before(event.last_sequence)
    if isinstance(event, ErasingEvent):
        changes["sequences"] = ()
    if isinstance(event, ErasingEvent | ErasureReceiptEvent):
        changes["tombstone_sequence"] = places.get(event.tombstone_sequence) or 0
    return msgspec.structs.replace(event, **changes) if changes else event


def _origin(origin: Origin, places: Places, same_log: bool) -> Origin:
    version = origin.policy_version
    return msgspec.structs.replace(
        origin,
        sequence=places.get(origin.sequence) or 0,
        policy_version=version if same_log else places.get(version) or 0,
    )
