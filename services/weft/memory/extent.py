"""Where the value of a statement begins and ends in its sentence."""

from __future__ import annotations

import re

from weft.facts.keys import MAX_VALUE
from weft.memory.words import PREPOSITIONS, word_set

VALUE_END = re.compile(
    r"[,;!?？؟。]|\.(?:\s|\Z)|\Z|\s(?:[-—–]\s"  # noqa: RUF001
    r"|(?:and|but|so|because|since|which|who|if|when|please|thanks?"
    r"|(?:can|could|would)\s+(?:you|we|i|someone))\s"
    r"|(?:too|as well|actually|anymore|any more)\b(?=\W*\Z)|as\s(?:an?|the)\s)",
    re.I,
)
"""The signs and words after a value."""
_HEDGE = re.compile(r"(?:(?:now|actually|currently|still|just|also|simply)\s+)*", re.I)
_NO_VALUE = re.compile(
    r"(?:not|n't|no|never|wrong|incorrect|missing|unknown|the same|same|that|this|it|how|why|what"
    r"|being|going|very|too|broken|different|required|needed|already|in|on|there|here)\b",
    re.I,
)
MAX_WORDS = 8
"""Longest value, in words: anything longer is a sentence."""
MARKS = " .!\"'`*()"
"""Signs around a value that are no part of it."""
_OPENING = " \"'`*(“‘"  # noqa: RUF001
WORDS_AFTER_NAME = PREPOSITIONS | word_set("""
now currently today nowadays these right last this since again though btw alone permanently and
but which where who so because
""")
"""Words that may go on after a name: `Rome since May`."""
VALUE_IS_OVER = re.compile(
    r"[)\"'`*”’]*(?:[,;!?？؟。]|\.(?=\s|\Z)|\Z|\s+[-—–(]|\s+(?:"  # noqa: RUF001
    + "|".join(sorted(WORDS_AFTER_NAME | {"please", "thanks", "too", "ok", "can", "if", "when"}))
    + r")\b)",
    re.I,
)
"""The end of a statement, or a word that goes on after it, right behind a value."""
_SPECIFIC = re.compile(r"[A-Z\d_@]|\w[.-]\w")


def text_value(rest: str) -> str:
    """The value at the start of `rest`, whatever its form, empty if there is none."""
    rest = _after_hedge(rest)
    end = VALUE_END.search(rest)
    value = rest[: end.start() if end else MAX_VALUE].strip(MARKS)
    if not value or _NO_VALUE.match(value) or len(value.split()) > MAX_WORDS:
        return ""
    return value[:MAX_VALUE]


def after_value(rest: str) -> str:
    """What follows the value at the start of `rest`, with the sign or word that ends it."""
    end = VALUE_END.search(rest)
    return "" if end is None else rest[end.start() :]


def is_named(value: str) -> bool:
    """Whether each of its words may be part of a name or of a number."""
    words = value.removeprefix("the ").split()
    return bool(words) and all(_SPECIFIC.search(word) for word in words)


def without_hedge(rest: str) -> str:
    """The text from the first word of its value on."""
    return _after_hedge(rest).lstrip(_OPENING)


def _after_hedge(rest: str) -> str:
    rest = rest.strip()
    hedge = _HEDGE.match(rest)
    return rest if hedge is None else rest[hedge.end() :]
