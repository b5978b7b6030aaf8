"""Finds items in which an agent repeats flagged text, so that it does not get into summaries that
other sessions may read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.prompt_injection.detection import signals_in
from weft.shingles import shingles
from weft_schemas.events import EnvelopeEvent, Event
from weft_schemas.items import ContextItem, ItemKind

_PERSONS = frozenset({ItemKind.USER_TURN})
"""Kinds that repeat nothing: they are somebody's own words."""


def repeating(events: Iterable[tuple[int, Event]]) -> Callable[[ContextItem], bool]:
    """Tells whether an item has a run of words in common with a flagged item among these events."""
    events = list(events)
    flagged = {
        event.origin.sequence
        for _, event in events
        if isinstance(event, EnvelopeEvent)
        and any(signal.kind == "injection" for signal in event.envelope.signals)
    }
    texts = [
        event.text
        for at, event in events
        if isinstance(event, ContextItem) and (at in flagged or _is_flagged_document(event))
    ]
    said = frozenset[str]().union(*map(shingles, texts))
    if not said:
        return lambda item: False
    return lambda item: item.kind not in _PERSONS and not said.isdisjoint(shingles(item.text))


def _is_flagged_document(item: ContextItem) -> bool:
    return item.kind is ItemKind.DOC_SNIPPET and bool(signals_in(item.text))
