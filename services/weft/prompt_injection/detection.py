"""Finds text in a tool's result that gives the model instructions instead of data: known families
of phrases, and requests to act in somebody's name where only data belongs."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import islice

import msgspec

from weft.prefilter import Prefilter, literals
from weft.prompt_injection.requests import strongest_request
from weft.prompt_injection.rules import PHRASES, Phrase, any_phrase
from weft_schemas.envelope import Signal

THRESHOLD = 2.0
"""A text with at least this score is flagged. On one half of the benign trajectories none scored
more than 1.6, and the rest is margin; the other half is for reporting."""
NEEDLES = frozenset(needle for phrase in PHRASES for needle in phrase.needles)
_prefilter = Prefilter(literals(NEEDLES))
REQUESTED = "asks for an action in the user's name, which is the user's to decide"
"""Mail does, too, and the user may well want it."""


class Suspicion(msgspec.Struct, frozen=True):
    """One thing that a text does, and how certain it is."""

    name: str
    reason: str
    score: float
    count: int = 1


def find_injections(lowered: bytes, present: frozenset[bytes], limit: int) -> tuple[Signal, ...]:
    """Signals for everything that reaches the threshold. `lowered` is the text in lower case, as
    UTF-8, and `present` are those of `NEEDLES` that it contains."""
    return tuple(
        Signal("injection", found.name, found.count, found.reason, round(found.score, 2))
        for found in suspicions(lowered, present, limit)
        if found.score >= THRESHOLD
    )


_LARGE = 32_768
"""Least bytes of a text in which all phrases are searched for together: a smaller one is searched
sooner than their pattern is compiled."""
_MAX_FINDINGS = 10_000
"""Findings of one kind that are counted in a text."""


def signals_in(text: str) -> tuple[Signal, ...]:
    """Signals for everything in a text that reaches the threshold."""
    lowered = plain_letters(text.lower().encode("utf-8", "replace"))
    return find_injections(lowered, _prefilter.present(lowered), _MAX_FINDINGS)


def suspicion_score(text: str) -> float:
    """The highest score in a text, 0 if nothing is found."""
    lowered = plain_letters(text.lower().encode("utf-8", "replace"))
    found = suspicions(lowered, _prefilter.present(lowered), _MAX_FINDINGS)
    return max((one.score for one in found), default=0.0)


def suspicions(lowered: bytes, present: frozenset[bytes], limit: int) -> list[Suspicion]:
    """Everything suspicious, whatever its score; at most `limit` of each kind. Linear."""
    found: list[Suspicion] = []
    for phrase in _phrases_in(lowered, present):
        count = sum(1 for _ in islice(phrase.pattern.finditer(lowered), limit))
        if count:
            found.append(Suspicion(phrase.name, phrase.reason, phrase.weight, count))
    request = strongest_request(lowered, limit)
    if request > 0:
        found.append(Suspicion("embedded_request", REQUESTED, request))
    return found


def _phrases_in(lowered: bytes, present: frozenset[bytes]) -> tuple[Phrase, ...]:
    """Those that may match. In a large text, one search tells that none does."""
    phrases = _phrases_for(present)
    is_one_search = len(lowered) >= _LARGE and len(phrases) > 1
    return () if is_one_search and any_phrase().search(lowered) is None else phrases


@lru_cache(maxsize=1_024)
def _phrases_for(present: frozenset[bytes]) -> tuple[Phrase, ...]:
    return tuple(phrase for phrase in PHRASES if not present.isdisjoint(phrase.needles))


def plain_letters(lowered: bytes) -> bytes:
    """Full-width and styled letters as plain ones: they read the same to a model."""
    if lowered.isascii():
        return lowered
    text = lowered.decode("utf-8", "replace")
    if unicodedata.is_normalized("NFKC", text):
        return lowered
    return unicodedata.normalize("NFKC", text).lower().encode("utf-8", "replace")
