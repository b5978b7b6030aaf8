"""Prose by its most telling sentences, taken out as they stand, each once."""

from __future__ import annotations

import re
from collections import Counter

from weft.firewall.summarise.budget import Budget, Piece, compose, line_cap, shorten

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_TELLING = re.compile(r"://|/\w|_\w|\d+|[A-Z]{2,}|[\"'`]\w")
_MAX_SENTENCES = 1_500
_SENTENCE = 400
"""Characters of a sentence that are shown."""
_MAX_TELLING = 4


def summarise_prose(text: str, budget: Budget) -> str:
    """Sentences by how many of the text's frequent words they hold, first ones favoured, those with
    names and numbers more."""
    sentences = _sentences(text, budget)
    words = Counter(w.lower() for s in sentences for w in set(_WORD.findall(s)))
    pieces = [
        Piece(number, _worth(sentence, number, words, len(sentences)), sentence)
        for number, sentence in enumerate(sentences)
    ]
    return compose(pieces, budget) or budget.cut(text)


def _sentences(text: str, budget: Budget) -> list[str]:
    parts = _SENTENCE_END.split(text[: _MAX_SENTENCES * _SENTENCE], maxsplit=_MAX_SENTENCES)
    filled = list(dict.fromkeys(part for part in parts if part.strip()))
    cap = line_cap(len(filled), budget, _SENTENCE)
    return [shorten(part, cap) for part in filled]


def telling(line: str) -> float:
    """How much a line names: links, paths, identifiers, numbers, quoted things."""
    return float(min(_MAX_TELLING, len(_TELLING.findall(line))))


def _worth(sentence: str, number: int, words: Counter[str], total: int) -> float:
    own = [w.lower() for w in _WORD.findall(sentence)]
    common = sum(min(words[w], 20) for w in own if len(w) > 4) / (len(own) + 4)
    place = 2.0 if number == 0 else 1.0 if number < 3 or number == total - 1 else 0.0
    return common + place + 0.4 * telling(sentence)
