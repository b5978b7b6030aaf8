"""Finds text in a tool's result that gives the model instructions instead of data: known families
of phrases, and requests to act in somebody's name where only data belongs."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import islice

import msgspec
import re2

from weft.prompt_injection.rules import (
    DETAILS,
    FIRST_PERSON,
    HARMLESS,
    OBJECTS,
    PHRASES,
    REQUEST,
    STRONG_VERBS,
    WEAK_VERBS,
    Phrase,
    any_phrase,
)
from weft_schemas.envelope import Signal

THRESHOLD = 2.0
"""A text with at least this score is flagged. On one half of the benign trajectories none scored
more than 1.6, and the rest is margin; the other half is for reporting."""
NEEDLES = frozenset(needle for phrase in PHRASES for needle in phrase.needles)
REQUESTED = "asks for an action in the user's name, which is the user's to decide"
"""Mail does, too, and the user may well want it."""
_MANUAL = 0.6
"""For "you must" and the like where nobody speaks of themselves: manuals say that, too."""
_REQUEST = 280
"""How many bytes of a request are read."""


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
_MOST = 10_000
"""Findings of one kind that are counted in a text."""


def signals_in(text: str) -> tuple[Signal, ...]:
    """Signals for everything in a text that reaches the threshold."""
    lowered = plain_letters(text.lower().encode("utf-8", "replace"))
    present = frozenset(needle for needle in NEEDLES if needle in lowered)
    return find_injections(lowered, present, _MOST)


def suspicion_score(text: str) -> float:
    """The highest score in a text, 0 if nothing is found."""
    lowered = plain_letters(text.lower().encode("utf-8", "replace"))
    present = frozenset(needle for needle in NEEDLES if needle in lowered)
    return max((found.score for found in suspicions(lowered, present, _MOST)), default=0.0)


def suspicions(lowered: bytes, present: frozenset[bytes], limit: int) -> list[Suspicion]:
    """Everything suspicious, whatever its score; at most `limit` of each kind. Linear."""
    found: list[Suspicion] = []
    for phrase in _phrases_in(lowered, present):
        count = sum(1 for _ in islice(phrase.pattern.finditer(lowered), limit))
        if count:
            found.append(Suspicion(phrase.name, phrase.reason, phrase.weight, count))
    request = _strongest_request(lowered, limit)
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


def _strongest_request(lowered: bytes, limit: int) -> float:
    best = 0.0
    for match in islice(REQUEST.finditer(lowered), limit):
        best = max(best, _request_score(lowered, match))
    return best


def _request_score(lowered: bytes, match: object) -> float:
    """How much a request reads like an order in the user's name rather than like a manual."""
    start = match.start()  # type: ignore[attr-defined]
    opened = match.start(1) >= 0  # type: ignore[attr-defined]
    # Asking RE2 for a group's text costs more than cutting it out.
    begin, end = match.span(2 if opened else 3)  # type: ignore[attr-defined]
    verb = lowered[begin:end]
    rest = _sentence(lowered[end : end + _REQUEST])
    if not rest.strip() or (not opened and _LOGGED.fullmatch(rest) is not None):
        return 0.0
    score = 0.0
    if opened:
        first = FIRST_PERSON.search(rest)
        score += 1.0 if first or not lowered.startswith(b"you", start) else _MANUAL
    elif lowered[start : start + 1] in (b'"', b"'") or start == 0:
        score += 0.5
    score += 0.8 if verb in STRONG_VERBS else 0.3 if verb in WEAK_VERBS else 0.2
    if FIRST_PERSON.search(rest):
        score += 1.0
    score += 0.3 * min(2, sum(1 for _ in islice(OBJECTS.finditer(rest), 2)))
    score += 0.2 * min(2, sum(1 for _ in islice(DETAILS.finditer(rest), 2)))
    if HARMLESS.search(rest):
        score -= 0.8
    return score


_LOGGED = re2.compile(
    rb"(?:\s{1,4}(?:/|https?://)\S{0,200}(?:\s{1,4}http/[0-9.]{1,3}|(?:\s{1,4}http/[0-9.]{1,3})?"
    rb"\s{1,4}[1-5][0-9]{2}))?(?:\s{1,4}(?:[0-9.]{1,12}[a-z]{0,2}|[a-z0-9_.]{1,40}=[^\s=]{0,40}))*\s*"
)
"""All that a line of a log has behind its first word (`POST /pay 200 630ms`, `pay order=7`): an
address with the protocol or the status, then numbers and pairs. A sentence has other words."""


def _sentence(rest: bytes) -> bytes:
    """Up to the end of the sentence or of the value."""
    for end in (b". ", b'"', b"\n", b"\\n", b"! ", b"? "):
        at = rest.find(end)
        if at >= 0:
            rest = rest[:at]
    return rest
