"""What the memory-updater derives, as functions over values. Nothing is overwritten: of one scope
and key the value with the newest source sequence is in force, decided where the log is folded.
"""

from __future__ import annotations

from weft.facts.keys import key_from
from weft.facts.memory_fact import facts_given
from weft.memory.languages import Languages
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
VERSION = "4"

_ANYONE = ("", "user", "human", "customer")
"""Authors that mean the one user of the session."""


def facts_of_item(
    session: str, item: ContextItem, text: str, origin: Origin, languages: Languages | None = None
) -> FactsEvent | None:
    """Facts of a user turn or a memory_fact; of other kinds none.

    `text` is the whole text (fetched, where the item holds a BodyRef); `languages` as for
    `facts_said`.
    """
    if item.kind is ItemKind.USER_TURN:
        author = key_from(item.reserved.author or "")
        pairs = facts_said(text, "user" if author in _ANYONE else author, languages)
    elif item.kind is ItemKind.MEMORY_FACT:
        pairs = facts_given(item.metadata, text)
    else:
        return None
    return _facts(session, item, pairs, item.sensitivity, origin)


def facts_of_envelope(
    session: str, item: ContextItem, event: EnvelopeEvent, origin: Origin, rules: MemoryRules
) -> FactsEvent | None:
    """Facts of a tool result, through its envelope alone, where the rules let this tool teach;
    `item` is the enveloped one.

    `origin` must name the item's sequence and the envelope's run, so that a repeated envelope
    changes nothing and a re-derived one supersedes.
    """
    tool = item.reserved.tool_name
    pairs = facts_of_profile(tool, event.envelope) if tool and teaches(rules, tool) else []
    sensitivity = item.sensitivity.raised_to(event.envelope.sensitivity)
    return _facts(session, item, pairs, sensitivity, origin)


def episode_of(session: str, summary: SummaryEvent, origin: Origin) -> EpisodeEvent | None:
    """The episode that a session's summary makes; None for an item's summary."""
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
    """By the last item that it tells of, which is another in every stretch: a sequence number would
    meet those of other episodes in a log that this session is copied to."""
    last = summary.sources[-1] if summary.sources else summary.origin.sequence
    return f"{session}:{last}"


def _facts(
    session: str,
    item: ContextItem,
    pairs: list[tuple[str, str]],
    sensitivity: Sensitivity,
    origin: Origin,
) -> FactsEvent | None:
    """None for nothing, unless a re-derivation must withdraw what an earlier run found."""
    if not pairs and not origin.run:
        return None
    return FactsEvent(
        origin=origin,
        scope=item.reserved.scope or f"session:{session}",
        facts=tuple(MemoryFact(key, value, (item.id,), sensitivity) for key, value in pairs),
    )
