"""The memory header: facts by relevance and episodes, capped in tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.fencing import unlabelled
from weft.compiler.query import Question
from weft.readmodel.rows import EpisodeRow, FactRow, SessionView
from weft.readmodel.terms import analyse
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy

EPISODES_READ = 32
"""Newest episodes that are looked at."""

Count = Callable[[str], int]


def memory_header(
    view: SessionView, question: Question, policy: ContextPolicy, budget: int, count: Count
) -> list[PackEntry]:
    """At most two entries: `facts: key=value; …` and `earlier: …`.

    Both caps and `header_share` of the budget hold, labels counted. What reaches the sensitivity
    floor is left out.
    """
    rules, floor = policy.memory, policy.sensitivity_floor
    room = int(budget * rules.header_share)
    scopes = view.scopes()
    facts = [fact for fact in view.facts(scopes) if not fact.sensitivity.reaches(floor)]
    entries = []
    lines = [_fact(fact) for fact in _ranked(facts, question)]
    text = _fill("facts: ", lines, "; ", min(rules.fact_tokens, room), count)
    if text:
        entries.append(_entry("facts", text))
        room -= count(text + "\n")
    episodes = [
        episode
        for episode in view.episodes(scopes, EPISODES_READ)
        if not episode.sensitivity.reaches(floor)
    ]
    texts = [" ".join(episode.text.split()) for episode in _relevant(episodes, question)]
    text = _fill("earlier: ", texts, " / ", min(rules.episode_tokens, room), count)
    if text:
        entries.append(_entry("episodes", text))
    return entries


def _fact(fact: FactRow) -> str:
    return " ".join(f"{fact.key}={fact.value}".split())


def _ranked(facts: Sequence[FactRow], question: Question) -> list[FactRow]:
    """By shared terms, then the newest."""
    return sorted(
        facts,
        key=lambda fact: (
            -_overlap(f"{fact.key} {fact.value}", question),
            -fact.sequence,
            fact.key,
        ),
    )


def _relevant(episodes: Sequence[EpisodeRow], question: Question) -> list[EpisodeRow]:
    return sorted(
        episodes, key=lambda episode: (-_overlap(episode.text, question), -episode.last_sequence)
    )


def _overlap(text: str, question: Question) -> int:
    held = analyse(text)
    return sum(term in held for term in question.terms)


def _fill(label: str, texts: Sequence[str], separator: str, limit: int, count: Count) -> str:
    """As many of the texts, in order, as fit; one that does not is skipped."""
    chosen: list[str] = []
    for text in texts:
        tried = label + separator.join([*chosen, text])
        if count(tried + "\n") <= limit:
            chosen.append(text)
    return unlabelled(label + separator.join(chosen)) if chosen else ""


def _entry(name: str, text: str) -> PackEntry:
    return PackEntry(
        item_id="",
        kind=ItemKind.MEMORY_FACT,
        text=text,
        section="header",
        view=name,
        sensitivity=Sensitivity.PUBLIC,
    )
