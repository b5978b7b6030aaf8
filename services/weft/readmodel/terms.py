"""From text to the terms that are indexed and searched: one pure function for both sides."""

from __future__ import annotations

import re
from collections import Counter

import Stemmer

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_stemmer = Stemmer.Stemmer("english")


def analyse(text: str) -> Counter[str]:
    """Terms with their counts: case-folded words, stemmed."""
    return Counter(_stemmer.stemWords(_WORD.findall(text.casefold())))
