"""What the memory-updater derives, as pure functions.

Nothing is overwritten. Of all values for one scope and key, the one with the newest source sequence
is in force. That is decided where the log is folded.
"""

from __future__ import annotations

from weft.facts.keys import is_negated, is_secret, key_from
from weft.facts.memory_fact import parsed_facts
from weft.memory.denials import denials_of, may_deny
from weft.memory.languages import (
    Languages,
    SelfStatement,
    own_languages,
    said_in,
    spoken_in,
    words_of,
)
from weft.memory.statements import facts_of, may_state, own_sentences, typed_text
from weft.memory.user_profile import facts_of_profile
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    FactsEvent,
    MemoryFact,
    Origin,
    SummaryEvent,
)
from weft_schemas.ids import session_scope
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import MemoryRules, teaches

WORKER = "memory"
VERSION = "9"

_ANYONE = ("", "user", "human", "customer")
"""Authors that stand for the one user of the session."""
_MAX_FACTS = 20


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
        said = [SelfStatement(*pair) for pair in parsed_facts(item.metadata, text)]
    else:
        return None
    return _facts(session, item, said, item.sensitivity, origin)


def facts_said(
    text: str, who: str = "user", languages: Languages | None = None
) -> list[SelfStatement]:
    """The facts that a user turn states, in order; of one key, only the last.

    Keys begin with `who`, the speaker. `languages` are those besides English; by default the ones
    that come with weft.
    """
    known = own_languages() if languages is None else languages
    typed = typed_text(text)
    words = words_of(typed)
    spoken = spoken_in(typed, words, known)
    if not spoken and not may_state(words) and not may_deny(words):
        return []
    found: dict[str, SelfStatement] = {}
    for sentence, quoted in own_sentences(typed, words):
        for key, value in facts_of(sentence, quoted, who, words):
            _add(found, SelfStatement(key, value))
        for one in denials_of(sentence, quoted, who, words):
            _add(found, one)
        for one in said_in(sentence, spoken) if spoken else ():
            _add(found, one._replace(key=f"{who}_{one.key}"))
    return list(found.values())[:_MAX_FACTS]


def _add(found: dict[str, SelfStatement], said: SelfStatement) -> None:
    """Add what was said last. A negation of something else leaves what the turn stated before."""
    key, value = said.key, " ".join(said.value.split())
    negated = tuple(" ".join(one.split()) for one in said.negated)
    if not key or is_secret(key):
        return
    before = found.get(key)
    if negated and before is not None:
        if before.value and not is_negated(before.value, negated):
            return
        negated = (*before.negated, *negated)
    found.pop(key, None)
    found[key] = SelfStatement(key, value, negated)


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
    return _facts(session, item, [SelfStatement(*pair) for pair in pairs], sensitivity, origin)


def episode_of(session: str, summary: SummaryEvent, origin: Origin) -> EpisodeEvent | None:
    """The episode made from a session's summary. None for the summary of an item."""
    if summary.origin.item_id or not summary.text:
        return None
    return EpisodeEvent(
        origin=origin,
        episode_id=_episode_id(session, summary),
        scope=summary.scope or session_scope(session),
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
    said: list[SelfStatement],
    sensitivity: Sensitivity,
    origin: Origin,
) -> FactsEvent | None:
    """None if nothing was said, unless this run must withdraw what an earlier one found."""
    if not said and not origin.run:
        return None
    return FactsEvent(
        origin=origin,
        scope=item.reserved.scope or session_scope(session),
        facts=tuple(
            MemoryFact(one.key, one.value, (item.id,), sensitivity, one.negated) for one in said
        ),
    )
