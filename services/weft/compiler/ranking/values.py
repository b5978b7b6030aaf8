"""The values that a text states exactly: identifiers, numbers, dates, addresses, names. A next step
copies these, and does without the words around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import compress
from operator import and_, not_
from string import ascii_lowercase

from weft.compiler.profiles import (
    ADDRESS_WEIGHT,
    CAMEL_WEIGHT,
    CAPITALS_WEIGHT,
    DATE_WEIGHT,
    DIGIT_WEIGHT,
    HYPHENATED_WEIGHT,
    IDENTIFIER_WEIGHT,
    MAX_DIGITS,
    NAME_WEIGHT,
    NUMBER_WEIGHT,
    QUOTED_WEIGHT,
    TIMESTAMP_WEIGHT,
)

_SIGNS = "\"'`(){}[]<>,;=|\\*"
_BETWEEN = str.maketrans(dict.fromkeys(_SIGNS, " "))
_PARTING = f"{_SIGNS}\t\n\r\v\f\x1c\x1d\x1e\x1f".encode()
"""These signs and the white space of ASCII except the blank: everything that separates words."""
_BETWEEN_ASCII = bytes.maketrans(_PARTING, b" " * len(_PARTING))
_LOWER = ascii_lowercase.encode()
_EDGE = ".:!?-#\u2013\u2014\u2026"
"""Punctuation around a value, including dashes and dots of typesetting."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
_ON_THE_MINUTE = re.compile(r"[^.]{11}\d\d:\d\d(:00(\.0+)?)?(Z|[+-]\d\d:?\d\d)?$")
_QUOTED = re.compile(r"""(['"`])([a-z][a-z-]+)\\*\1(?!\s*:)""")
"""A lower-case word in quotes that is not a key; in JSON the quotes may be escaped."""
_HYPHENATED = re.compile(r"[a-z]+(-[a-z]+)+$")
_CAMEL = re.compile("[a-z][A-Z]")

REMEMBERED = 8192
"""Parts whose values are cached: those of the recent items of a few sessions."""


@lru_cache(maxsize=REMEMBERED)
def values(text: str) -> dict[str, float]:
    """Value → weight: how likely it is to be copied, 1 for an identifier. Callers must not change
    the result."""
    found: dict[str, float] = {}
    for word in _telling(text):
        value = word.strip(_EDGE)
        if len(value) > 1 and value not in found and (weight := _weight(value)):
            found[value] = weight
    if "'" in text or '"' in text or "`" in text:
        for _, quoted in _QUOTED.findall(text):
            found[quoted] = QUOTED_WEIGHT
    return found


def _telling(text: str) -> Iterator[str]:
    """The words of a text, without those of lower-case letters only: most words."""
    if text.isascii():  # in a third of the time
        data = text.encode().translate(_BETWEEN_ASCII)
        rest = data.translate(None, _LOWER)
        if not rest.strip():
            return iter(())
        return compress(data.decode().split(" "), rest.split(b" "))
    words = text.translate(_BETWEEN).split()
    plain = map(and_, map(str.isalpha, words), map(str.islower, words))
    return compress(words, map(not_, plain))


@lru_cache(maxsize=4096)
def _weight(value: str) -> float:
    if value.isalpha():
        if len(value) <= 4 and value.isupper():
            return CAPITALS_WEIGHT
        if _CAMEL.search(value):
            return CAMEL_WEIGHT
        return NAME_WEIGHT if value[0].isupper() else 0.0
    if value.isdigit():
        return NUMBER_WEIGHT + DIGIT_WEIGHT * min(len(value), MAX_DIGITS)
    if _TIMESTAMP.match(value):
        return DATE_WEIGHT if _ON_THE_MINUTE.match(value) else TIMESTAMP_WEIGHT
    if _DATE.match(value):
        return DATE_WEIGHT
    if "@" in value or "/" in value:
        return ADDRESS_WEIGHT
    if "_" in value or (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return IDENTIFIER_WEIGHT
    if any(map(str.isdigit, value)):
        return NUMBER_WEIGHT
    return HYPHENATED_WEIGHT if _HYPHENATED.match(value) else 0.0
