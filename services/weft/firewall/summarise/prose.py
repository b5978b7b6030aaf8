"""Prose by its most telling sentences, taken out as they stand."""

from __future__ import annotations

import re
from collections import Counter

from weft.firewall.summarise.budget import Budget, Piece, compose, shorten

_SENTENCE = re.compile(r"[^.!?\n]{1,600}(?:[.!?]+(?=\s|$)|\n|$)")
_WORD = re.compile(r"[^\W\d_]{3,}")
_TELLING = re.compile(r"\d|https?://|[A-Z]{2,}|[\"'`]\S")
_MAX_SENTENCES = 3_000


def summarise_prose(text: str, budget: Budget) -> str:
    """Sentences by how many of the text's frequent words they hold, first ones favoured, those
    with numbers and names more."""
    found = [s for m in _SENTENCE.finditer(text) if (s := m.group().strip())]
    sentences = found[:_MAX_SENTENCES]
    words = Counter(w.lower() for s in sentences for w in set(_WORD.findall(s)))
    pieces = [
        Piece(number, _worth(sentence, number, words, len(sentences)), shorten(sentence, 400))
        for number, sentence in enumerate(sentences)
    ]
    return compose(pieces, budget) or budget.cut(text)


def _worth(sentence: str, number: int, words: Counter[str], total: int) -> float:
    own = [w.lower() for w in _WORD.findall(sentence)]
    if not own:
        return 0.0
    common = sum(min(words[w], 20) for w in own if len(w) > 4) / (len(own) + 4)
    place = 2.0 if number == 0 else 1.0 if number < 3 or number == total - 1 else 0.0
    return common + place + 0.4 * min(4, len(_TELLING.findall(sentence)))
