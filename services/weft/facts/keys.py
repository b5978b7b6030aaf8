"""Keys of facts: one spelling for each thing, so that a newer value finds the one that it
replaces."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_VALUE = 200
"""In characters: a longer value is not a fact but a text, which the log contains anyway."""

_MAX_KEY = 80
_APART = re.compile(r"[^\w.]+")
_SECRET = re.compile(
    r"pass(word|phrase|code|wd)|secret|token|credential|private_?key|api_?key|cvv|cvc|(^|_)pin(_|$)"
    r"|(^|_)ssn(_|$)|social_security|card_number|credit_card|iban"
)
_FILLER = re.compile(
    r"an?|the|to|of|in|on|at|for|and|or|that|this|is|are|was|be|i|my|me|we|our|you|your|it"
)


def key_from(words: str) -> str:
    """`Time Zone` → `time_zone`; empty if no letter or digit is left."""
    return _APART.sub("_", words.casefold()).strip("_.")[:_MAX_KEY]


def is_among(value: str, others: Iterable[str]) -> bool:
    """Whether a fact's value is one of these values, whatever its case."""
    return bool(value) and value.casefold() in {other.casefold() for other in others}


def is_negated(value: str, negated: Iterable[str]) -> bool:
    """Whether a fact's value is one of these values or begins with the words of one: who does not
    work at Acme does not work at Acme Inc."""
    folded = value.casefold()
    return any(
        folded == one or re.match(rf"{re.escape(one)}[ ,]", folded)
        for one in map(str.casefold, negated)
        if one
    )


def note_key(text: str) -> str:
    """A key for a remark without one: its first four content words."""
    words = [
        word for word in key_from(text[:400]).split("_") if word and not _FILLER.fullmatch(word)
    ]
    return "note_" + "_".join(words[:4]) if words else ""


def is_secret(key: str) -> bool:
    """Whether a key asks to be forgotten: memory would appear in every later prompt."""
    return _SECRET.search(key) is not None
