"""Prose by its most telling sentences, taken out as they stand, each once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice

from weft.firewall.summarise.budget import Budget, Piece, compose, line_cap, shorten

_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|(?<!\n)\s+)")
"""The last character of a sentence or line, and what parts it from the next."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_TELLING = re.compile(r"[:/_\dA-Z\"'`](?:(?<=:)//|(?<=[/_\"'`])\w|(?<=\d)\d*|(?<=[A-Z])[A-Z]+)")
"""`://`, `/x`, `_x`, digits, capitals, a quoted word. All begin with a character of one set, which
lets the search go by the others quickly."""
_MAX_SENTENCES = 1_500
_SENTENCE = 400
"""Characters of a sentence that are shown."""
_MAX_TELLING = 4


def summarise_prose(text: str, budget: Budget) -> str:
    """Sentences by how many of the text's frequent words they hold, first ones favoured, those with
    names and numbers more."""
    sentences = _sentences(text, budget)
    words = [_WORD.findall(sentence.lower()) for sentence in sentences]
    spread = Counter(chain.from_iterable(map(set, words)))
    common = {word: min(count, 20) for word, count in spread.items() if len(word) > 4}
    pieces = [
        Piece(number, _worth(sentence, words[number], common, number, len(sentences)), sentence)
        for number, sentence in enumerate(sentences)
    ]
    return compose(pieces, budget) or budget.cut(text)


def _sentences(text: str, budget: Budget) -> list[str]:
    parts = _parts(text[: _MAX_SENTENCES * _SENTENCE])
    filled = list(dict.fromkeys(part for part in parts if part.strip()))
    cap = line_cap(len(filled), budget, _SENTENCE)
    return [shorten(part, cap) for part in filled]


def _parts(text: str) -> Iterator[str]:
    start = 0
    for match in islice(_SENTENCE_END.finditer(text), _MAX_SENTENCES):
        end = match.start()
        yield text[start : end + (text[end] != "\n")]
        start = match.end()
    yield text[start:]


def telling(line: str) -> float:
    """How much a line names: links, paths, identifiers, numbers, quoted things."""
    return float(min(_MAX_TELLING, len(_TELLING.findall(line))))


def _worth(
    sentence: str, words: list[str], common: Mapping[str, int], number: int, total: int
) -> float:
    frequent = sum([common[word] for word in words if word in common]) / (len(words) + 4)
    place = 2.0 if number == 0 else 1.0 if number < 3 or number == total - 1 else 0.0
    return frequent + place + 0.4 * telling(sentence)
