"""Runs of words: if two texts have one in common, one repeats the other there."""

from __future__ import annotations

import re
from itertools import islice

RUN = 6
"""Words of a run: fewer occur in both by chance."""
MAX_WORDS = 20_000
"""How many words of a text are read."""
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+")
"""In a script without blanks, each letter counts as a word."""


def shingles(text: str) -> frozenset[str]:
    """Every run of `RUN` words, in lower case; none for a shorter text."""
    words = [found.group() for found in islice(_WORD.finditer(text.lower()), MAX_WORDS)]
    return frozenset(" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
