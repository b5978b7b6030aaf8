"""Tokens of models whose tokenizer is not public: on real text, never fewer than the true number.

A line's tokens are a weighted sum of what makes tokens: those of `o200k_base`, digits, which some
tokenizers split one by one, and letters of scripts that small vocabularies spell out. The weights
are the least that cover the measured tokenizers on half of the texts, raised a little: a linear
programme. docs/operations.md says which tokenizers and texts were measured, and how far off the
estimate is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from weft.tokens.texts import Counter

_NO_DIGITS = bytes(byte for byte in range(256) if not 48 <= byte <= 57)
_TWO_BYTES = re.compile(r"[\u0080-\u07ff]")
_HAN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_REST = re.compile(r"[\u0800-\u2e7f\ua000-\uabff\ud7b0-\uf8ff\ufb00-\ufeff]")
_FOUR_BYTES = re.compile(r"[\U00010000-\U0010ffff]")
_UNIT = 20


class TokenWeights(NamedTuple):
    """In twentieths of a token."""

    token: int
    """Of `o200k_base`."""
    digit: int
    two_bytes: int
    """A letter of two bytes in UTF-8: Cyrillic, Greek, Arabic, accents."""
    three_bytes: int
    """Of three: Indic scripts, Thai, Georgian."""
    han: int
    """Chinese, Japanese, Korean."""
    four_bytes: int
    """Emoji and rare scripts."""


WEIGHTS = {
    "estimate": TokenWeights(
        token=38, digit=10, two_bytes=30, three_bytes=40, han=5, four_bytes=60
    ),
    "estimate_large": TokenWeights(
        token=28, digit=12, two_bytes=33, three_bytes=44, han=6, four_bytes=60
    ),
}


class Estimate:
    """Estimates a line from what the default encoding counts."""

    def __init__(self, name: str, counter: Counter) -> None:
        self._weights = WEIGHTS[name]
        self._counter = counter

    def __call__(self, line: str) -> int:
        weights = self._weights
        total = weights.token * self._counter.count(line)
        if line.isascii():
            total += weights.digit * len(line.encode().translate(None, _NO_DIGITS))
        else:
            total += weights.digit * sum(map(str.isdigit, line))
            for weight, letters in (
                (weights.two_bytes, _TWO_BYTES),
                (weights.three_bytes, _REST),
                (weights.han, _HAN),
                (weights.four_bytes, _FOUR_BYTES),
            ):
                total += weight * len(letters.findall(line))
        return -(-total // _UNIT)
