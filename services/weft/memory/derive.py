"""What the memory-updater derives, as pure functions.

Nothing is overwritten. Of all values for one scope and key, the one with the newest source sequence
is in force. That is decided where the log is folded.
"""

from __future__ import annotations

from weft.facts.keys import key_from
from weft.facts.memory_fact import facts_given
from weft.memory.languages import Languages, Said
from weft.memory.profile import facts_of_profile
from weft.memory.statements import facts_said
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    FactsEvent,
    MemoryFact,
    Origin,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import MemoryRules, teaches

WORKER = "memory"
VERSION = "7"

_ANYONE = ("", "user", "human", "customer")
"""Authors that stand for the one user of the session."""


def facts_of_item(
    session: str, item: ContextItem, text: str, origin: Origin, languages: Languages | None = None
) -> FactsEvent | None:
    """The facts of a user turn or a memory_fact. Other kinds have none.

    `text` is the whole text, fetched if the item holds a BodyRef. `languages` is as for
    `facts_said`.
    """
    if item.kind is ItemKind.USER_TURN:
        author = key_from(item.reserved.author or "")
        said = facts_said(text, "user" if author in _ANYONE else author, languages)
    elif item.kind is ItemKind.MEMORY_FACT:
        said = [Said(*pair) for pair in facts_given(item.metadata, text)]
    else:
        return None
    return _facts(session, item, said, item.sensitivity, origin)


def facts_of_envelope(
    session: str, item: ContextItem, event: EnvelopeEvent, origin: Origin, rules: MemoryRules
) -> FactsEvent | None:
    """The facts of a tool result, read from its envelope alone, if the rules let this tool teach.

    `item` is the result itself. `origin` must name the item's sequence and the envelope's run: then
    a repeated envelope changes nothing, and a newly derived one replaces the facts of the old one.
    """
    tool = item.reserved.tool_name
    pairs = facts_of_profile(tool, event.envelope) if tool and teaches(rules, tool) else []
    sensitivity = item.sensitivity.raised_to(event.envelope.sensitivity)
    return _facts(session, item, [Said(*pair) for pair in pairs], sensitivity, origin)


def episode_of(session: str, summary: SummaryEvent, origin: Origin) -> EpisodeEvent | None:
    """The episode made from a session's summary. None for the summary of an item."""
    if summary.origin.item_id or not summary.text:
        return None
    return EpisodeEvent(
        origin=origin,
        episode_id=_episode_id(session, summary),
        scope=summary.scope or f"session:{session}",
        text=summary.text,
        tokens=summary.tokens,
        encoding=summary.encoding,
        first_sequence=summary.first_sequence,
        last_sequence=summary.last_sequence,
        sources=summary.sources,
        sensitivity=summary.sensitivity,
    )


def _episode_id(session: str, summary: SummaryEvent) -> str:
    """Made of the last item that the episode covers, which differs from stretch to stretch. A
    sequence number could clash with another episode's in a log that the session is copied to."""
    last = summary.sources[-1] if summary.sources else summary.origin.sequence
    return f"{session}:{last}"


def _facts(
    session: str,
    item: ContextItem,
    said: list[Said],
    sensitivity: Sensitivity,
    origin: Origin,
) -> FactsEvent | None:
    """None if nothing was said, unless this run must withdraw what an earlier one found."""
    if not said and not origin.run:
        return None
    return FactsEvent(
        origin=origin,
        scope=item.reserved.scope or f"session:{session}",
        facts=tuple(
            MemoryFact(one.key, one.value, (item.id,), sensitivity, one.negated) for one in said
        ),
    )
