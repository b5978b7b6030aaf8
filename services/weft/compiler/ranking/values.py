"""The values that a text states exactly: identifiers, numbers, dates, addresses, names. A next step
copies these; the words around them it can do without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import compress
from operator import and_, not_
from string import ascii_lowercase

_SIGNS = "\"'`(){}[]<>,;=|\\*"
_BETWEEN = str.maketrans(dict.fromkeys(_SIGNS, " "))
_PARTING = f"{_SIGNS}\t\n\r\v\f\x1c\x1d\x1e\x1f".encode()
"""These and what parts words beside a blank, in ASCII."""
_BETWEEN_ASCII = bytes.maketrans(_PARTING, b" " * len(_PARTING))
_LOWER = ascii_lowercase.encode()
_EDGE = ".:!?-#\u2013\u2014\u2026"
"""Punctuation around a value, dashes and dots of typesetting too."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
_QUOTED = re.compile(r"""(['"`])([a-z][a-z-]+)\\*\1(?!\s*:)""")
"""A lower-case word in quotes, written ones of JSON in JSON too, that is no key."""
_HYPHENATED = re.compile(r"[a-z]+(-[a-z]+)+$")

REMEMBERED = 8192
"""Parts whose values are kept: those of the recent items of some sessions."""

MARKED = 1.0
"""Weight of a word that mixes letters with digits or underscores: an identifier."""
DATE = 0.8
TIMESTAMP = 0.1
"""A date with its time of day: when something was written down, which a next step seldom copies."""
CODE = 0.8
"""A few capitals: an airport, a currency, a ticker."""
ADDRESS = 0.8
"""Paths, URLs, e-mail addresses."""
NUMBER = 0.1
NAME = 0.2
"""A capitalised word."""
HYPHENATED = 0.15
"""Lower-case words joined by hyphens: many a tool and option is called so, and some prose."""
QUOTED = 3.0
"""A lower-case word in quotes: one of those that a parameter takes. On the tuned half of
LiveMCPBench .03 to .08 of them in results are copied by the next call, of identifiers .01 to .04;
grounding at 1,000 tokens is .977 with it and .962 without."""


@lru_cache(maxsize=REMEMBERED)
def values(text: str) -> dict[str, float]:
    """Each value with its weight: how likely it is to be copied, an identifier's being 1. Not to be
    changed."""
    found: dict[str, float] = {}
    for word in _telling(text):
        value = word.strip(_EDGE)
        if len(value) > 1 and value not in found and (weight := _weight(value)):
            found[value] = weight
    if "'" in text or '"' in text or "`" in text:
        for _, quoted in _QUOTED.findall(text):
            found[quoted] = QUOTED
    return found


def _telling(text: str) -> Iterator[str]:
    """Its words without those that are lower-case letters alone, which most are."""
    if text.isascii():  # in a third of the time
        data = text.encode().translate(_BETWEEN_ASCII)
        rest = data.translate(None, _LOWER)
        if not rest.strip():
            return iter(())
        return compress(data.decode().split(" "), rest.split(b" "))
    words = text.translate(_BETWEEN).split()
    plain = map(and_, map(str.isalpha, words), map(str.islower, words))
    return compress(words, map(not_, plain))


def stated_value(text: str, field: str) -> str:
    """The one word that a field states, empty where it states none or more."""
    value = written_value(text, field)
    return value if len(value) > 1 and " " not in value else ""


def written_value(text: str, field: str) -> str:
    """All text after the field's name, empty without a field."""
    return text.partition(field)[2].strip(" =:\"'[]") if field else ""


@lru_cache(maxsize=4096)
def _weight(value: str) -> float:
    if value.isalpha():
        if len(value) <= 4 and value.isupper():
            return CODE
        return NAME if value[0].isupper() else 0.0
    if value.isdigit():
        return NUMBER + 0.05 * min(len(value), 8)
    if _TIMESTAMP.match(value):
        return TIMESTAMP
    if _DATE.match(value):
        return DATE
    if "@" in value or "/" in value:
        return ADDRESS
    if "_" in value or (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return MARKED
    if any(map(str.isdigit, value)):
        return NUMBER
    return HYPHENATED if _HYPHENATED.match(value) else 0.0
