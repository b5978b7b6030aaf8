"""Requests to act in somebody's name, scored by how much they read like an order rather than like
a manual or a letter. A letter asks its reader for words: tell me, confirm, provide your date."""

from __future__ import annotations

from itertools import islice
from typing import Any

import re2

from weft.prompt_injection.rules import (
    ACT_FOLLOWS,
    ADDRESS,
    ANSWER_VERBS,
    DETAILS,
    FOR_WRITER,
    HARMLESS,
    OBJECTS,
    OFFERS,
    POWERS,
    REQUEST,
    STRONG_VERBS,
    TO_WRITER,
    WEAK_VERBS,
    YOURS,
)

_MANUAL = 0.6
"""For "you must" and the like where nobody speaks of themselves: manuals say that, too."""
_REQUEST = 280
"""How many bytes of a request are read."""


def strongest_request(lowered: bytes, limit: int) -> float:
    """The highest score of the first `limit` requests in a text in lower case. Linear."""
    best = 0.0
    for match in islice(REQUEST.finditer(lowered), limit):
        best = max(best, request_score(lowered, match))
    return best


def request_score(lowered: bytes, match: Any) -> float:
    """How much a match of `REQUEST` reads like an order in the user's name."""
    start = match.start()
    opened = match.start(1) >= 0
    # Asking RE2 for a group's text costs more than cutting it out.
    begin, end = match.span(2 if opened else 3)
    verb = lowered[begin:end]
    rest = _sentence(lowered[end : end + _REQUEST])
    if verb in OFFERS or not rest.strip() or (not opened and _LOGGED.fullmatch(rest) is not None):
        return 0.0
    first = _speaks_for_the_user(verb, rest)
    score = 0.0
    if opened:
        score += 1.0 if first or not lowered.startswith(b"you", start) else _MANUAL
    elif lowered[start : start + 1] in (b'"', b"'") or start == 0:
        score += 0.5
    score += 0.8 if verb in STRONG_VERBS else 0.3 if verb in WEAK_VERBS else 0.2
    score += 1.0 if first else _OF_READER if _is_of_the_reader(rest) else 0.0
    score += 0.3 * min(2, sum(1 for _ in islice(OBJECTS.finditer(rest), 2)))
    score += 0.2 * min(2, sum(1 for _ in islice(DETAILS.finditer(rest), 2)))
    if HARMLESS.search(rest):
        score -= 0.8
    return round(score, 2)


_OF_READER = -0.5
"""For a request about what is the reader's own and goes to no address: the writer is another."""


def _speaks_for_the_user(verb: bytes, rest: bytes) -> bool:
    """Whether the writer speaks as the one whose things are acted on: `my account`, `for me`. A
    writer who only receives (`tell me`, `send me the plan`) is somebody else, unless what he wants
    are credentials or rights, or an act follows: `tell me my balance, then transfer it`."""
    if POWERS.search(rest) and (TO_WRITER.search(rest) or FOR_WRITER.search(rest)):
        return True
    if not FOR_WRITER.search(rest):
        return False
    if _act_follows(rest):
        return True
    if TO_WRITER.match(rest):
        return False
    if verb in STRONG_VERBS:
        return True
    return verb not in ANSWER_VERBS and OBJECTS.search(rest) is not None


def _act_follows(rest: bytes) -> bool:
    return any(not TO_WRITER.match(rest, one.end()) for one in ACT_FOLLOWS.finditer(rest))


def _is_of_the_reader(rest: bytes) -> bool:
    return YOURS.search(rest) is not None and not (ADDRESS.search(rest) or POWERS.search(rest))


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
