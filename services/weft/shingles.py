"""Runs of words: two texts that share one repeat each other there."""

from __future__ import annotations

import re
from itertools import islice

RUN = 6
"""Words of a run: fewer come together by chance."""
MOST = 20_000
"""Words of a text that are looked at."""
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+")
"""A letter of a script without blanks is a word of its own."""


def shingles(text: str) -> frozenset[str]:
    """Every run of `RUN` words, in lower case; none of a shorter text."""
    words = [found.group() for found in islice(_WORD.finditer(text.lower()), MOST)]
    return frozenset(" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
