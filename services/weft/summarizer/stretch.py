"""A stretch of a session: what was said between its previous closing and this one, as a transcript
that may appear in another session's header.

So it contains no text of a tool result (only which tools ran and with what outcome), no item at or
above the sensitivity floor, and no agent's text that repeats flagged text. Leaving these out
keeps the summary usable; raising its level would make it unusable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from weft.summarizer.covered_stretches import NOTHING, Covered
from weft_schemas.envelope import ResultStatus
from weft_schemas.events import EnvelopeEvent, Event, SessionClosedEvent, SummaryEvent
from weft_schemas.ids import session_scope
from weft_schemas.items import ContextItem, ItemKind, Sensitivity

_Derived = TypeVar("_Derived", EnvelopeEvent, SummaryEvent)

_MAX_ITEM_LENGTH = 1_200
"""Characters of one item in the transcript, if it has no summary."""

_SPEAKER = {
    ItemKind.USER_TURN: "User",
    ItemKind.AGENT_MSG: "Agent",
    ItemKind.PLAN_STATE: "Plan",
}
"""Kinds whose words tell what happened. Policies, documents and facts outlive a session and are
kept elsewhere."""


class Stretch(msgspec.Struct, frozen=True):
    """What a session's summary is made from."""

    transcript: str
    sources: tuple[str, ...]
    """Ids of the items whose text is in the transcript."""
    sensitivity: Sensitivity
    """The highest level of the sources."""
    scope: str
    first_sequence: int
    last_sequence: int
    pending: tuple[str, ...]
    """Ids of results without an envelope and of long items without a summary: wait for them if you
    can, so that the transcript does not depend on when it is made."""


def stretch_of(
    session: str,
    events: Iterable[tuple[int, Event]],
    closing: int,
    floor: Sensitivity,
    is_untrusted: Callable[[int, ContextItem], bool] = (
        lambda sequence, item: item.kind is ItemKind.TOOL_RESULT
    ),
    is_long: Callable[[ContextItem], bool] = lambda item: False,
    before: Covered = NOTHING,
    is_tainted: Callable[[ContextItem], bool] = lambda item: False,
) -> Stretch | None:
    """The stretch that the `session_closed` event at sequence `closing` ends.

    `events` are the session's, in and out, with their sequences, in any order; events after the
    closing count only if they derive from an item of the stretch. `is_long` tells which trusted
    items get a summary, `is_tainted` which ones repeat flagged text. `before` is what is known
    about the session if the events do not begin at its start. None if nothing was published since
    the previous closing.
    """
    ordered = sorted(events, key=lambda pair: pair[0])
    start, last = _bounds(ordered, closing, before.last + 1)
    items = _items(ordered, before, start, last)
    if not items:
        return None
    envelopes = _counting(ordered, EnvelopeEvent)
    results = [(sequence, item) for sequence, item in items if is_untrusted(sequence, item)]
    summaries = _counting(ordered, SummaryEvent)
    tellable = [
        (sequence, item)
        for sequence, item in items
        if _may_be_told(item, floor) and not is_untrusted(sequence, item) and not is_tainted(item)
    ]
    transcribed = _transcribed(tellable, summaries)
    missing = [item for sequence, item in results if sequence not in envelopes]
    missing += [one for at, one in tellable if at not in summaries and is_long(one)]
    lines = [line for _, line in transcribed]
    tools = _tools(results, envelopes, floor)
    return Stretch(
        transcript="\n".join([*lines, tools] if tools else lines),
        sources=tuple(item.id for item, _ in transcribed),
        sensitivity=_highest(item for item, _ in transcribed),
        scope=_scope(session, [item for _, item in items]),
        first_sequence=items[0][0],
        last_sequence=items[-1][0],
        pending=tuple(item.id for item in missing),
    )


def _may_be_told(item: ContextItem, floor: Sensitivity) -> bool:
    return item.kind in _SPEAKER and not item.sensitivity.reaches(floor)


def _highest(items: Iterable[ContextItem]) -> Sensitivity:
    level = Sensitivity.PUBLIC
    for item in items:
        level = level.raised_to(item.sensitivity)
    return level


def _counting(ordered: list[tuple[int, Event]], kind: type[_Derived]) -> dict[int, _Derived]:
    """Source sequence → the event of `kind` derived from it that counts: the first of its latest
    run."""
    found: dict[int, _Derived] = {}
    runs: set[tuple[int, str]] = set()
    for _, event in ordered:
        if isinstance(event, kind) and (event.origin.sequence, event.origin.run) not in runs:
            runs.add((event.origin.sequence, event.origin.run))
            if event.origin.run or event.origin.sequence not in found:
                found[event.origin.sequence] = event
    return found


def _transcribed(
    items: list[tuple[int, ContextItem]],
    summaries: dict[int, SummaryEvent],
) -> list[tuple[ContextItem, str]]:
    """The items with something to say, each with its line."""
    lines = [(item, _line(item, summaries.get(sequence))) for sequence, item in items]
    return [(item, line) for item, line in lines if line]


def _bounds(ordered: list[tuple[int, Event]], closing: int, start: int) -> tuple[int, int]:
    """First and last sequence of the stretch; `start` if there is no earlier closing."""
    last = closing
    for sequence, event in ordered:
        if isinstance(event, SessionClosedEvent):
            end = event.last_sequence or sequence
            if sequence < closing:
                start = end + 1
            elif sequence == closing:
                last = end
    return start, last


def _items(
    ordered: list[tuple[int, Event]], before: Covered, start: int, last: int
) -> list[tuple[int, ContextItem]]:
    """The stretch's items; of equal ids the first counts."""
    first: dict[str, tuple[int, ContextItem]] = {}
    for sequence, event in ordered:
        if isinstance(event, ContextItem):
            first.setdefault(event.id, (sequence, event))
    return [
        (sequence, item)
        for sequence, item in first.values()
        if start <= sequence <= last and not before.holds(item.id)
    ]


def _line(item: ContextItem, summary: SummaryEvent | None) -> str:
    """`User: what was said`, on one line."""
    text = " ".join((summary.text if summary else item.text).split())
    if not text:
        return ""
    author = item.reserved.author
    name = " ".join(author.split())[:40] if author else _SPEAKER[item.kind]
    return f"{name}: {text[:_MAX_ITEM_LENGTH]}"


def _tools(
    results: list[tuple[int, ContextItem]],
    envelopes: dict[int, EnvelopeEvent],
    floor: Sensitivity,
) -> str:
    """`Tools used: search x3 (1 failed), book.` in order of first use."""
    used: dict[str, list[int]] = {}
    for sequence, item in results:
        event = envelopes.get(sequence)
        name = item.reserved.tool_name
        if not name or event is None or event.envelope.sensitivity.reaches(floor):
            continue
        tally = used.setdefault(" ".join(name.split())[:60], [0, 0])
        tally[0] += 1
        tally[1] += event.envelope.status is ResultStatus.ERROR
    parts = [
        name + (f" x{count}" if count > 1 else "") + (f" ({failed} failed)" if failed else "")
        for name, (count, failed) in used.items()
    ]
    return f"Tools used: {', '.join(parts)}." if parts else ""


def _scope(session: str, items: list[ContextItem]) -> str:
    """The one scope that the items name. If they name several, it stays with the session: otherwise
    text for one scope would reach another."""
    named = {item.reserved.scope for item in items if item.reserved.scope}
    return named.pop() if len(named) == 1 else session_scope(session)
