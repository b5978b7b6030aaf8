"""Prose by its most telling sentences, each as it stands, with those between them counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain, islice

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap

_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|(?<!\n)\s+)")
"""The last character of a sentence or line, and what parts it from the next."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_TELLING = re.compile(r"[:/_\dA-Z\"'`](?:(?<=:)//|(?<=[/_\"'`])\w|(?<=\d)\d*|(?<=[A-Z])[A-Z]+)")
"""`://`, `/x`, `_x`, digits, capitals, a quoted word. All begin with a character of one set, which
lets the search go by the others quickly."""
_MAX_SENTENCES = 1_500
_MAX_TEXT = 600_000
"""Characters that are looked at."""
_SENTENCE = 400
"""Characters of a sentence that are shown."""
_MAX_TELLING = 4
_NEAR = 0.4
"""Share of the worth of the best neighbour that a sentence gains."""
_FAILED = """
fatal critical panic failed failure traceback denied refused timeout cannot unable
"""
_ERROR_WORDS = frozenset(_FAILED.split())
_ERROR = 4.0
"""What one is worth more that tells of an error."""


def summarise_prose(text: str, budget: Budget) -> str:
    """Sentences by how many of the text's frequent words they hold, first ones favoured, those with
    names and numbers more; where lines are told apart by line feeds, lines."""
    parts, end = _parts(text)
    first = {part: number for number, part in reversed(list(enumerate(parts)))}
    places = sorted(first.values())
    cap = line_cap(len(places), budget, _SENTENCE)
    words = {number: _WORD.findall(parts[number][:cap].lower()) for number in places}
    spread = Counter(chain.from_iterable(map(set, words.values())))
    common = {word: min(count, 20) for word, count in spread.items() if len(word) > 4}
    worth = {
        number: _worth(parts[number][:cap], words[number], common, number, len(parts))
        for number in places
    }
    pieces: list[Piece] = []
    for number in places:
        # Beside what is worth much a sentence says more than alone.
        near = max(worth.get(other, 0.0) for other in (number - 1, number, number + 1))
        shown = cut_line(parts[number], cap)
        pieces.append(Piece(number, worth[number] + _NEAR * near, shown))
    if end < len(text):
        rest = f"… {len(text) - end} more characters …"
        pieces.append(Piece(len(parts), max(worth.values(), default=0.0) + 1, rest, 0))
    unit = "lines" if text.count("\n") > len(parts) // 2 else "sentences"
    return compose(pieces, budget, unit, len(parts)) or budget.cut(text)


def _parts(text: str) -> tuple[list[str], int]:
    """Sentences or lines that hold something, and where in the text the last of them ends."""
    parts: list[str] = []
    start = 0
    for match in islice(_SENTENCE_END.finditer(text, 0, _MAX_TEXT), _MAX_SENTENCES):
        end = match.start()
        parts.append(text[start : end + (text[end] != "\n")])
        start = match.end()
    if len(parts) < _MAX_SENTENCES and len(text) <= _MAX_TEXT:
        parts.append(text[start:])
        start = len(text)
    return [part for part in parts if part.strip()], start


def telling(line: str) -> float:
    """How much a line names: links, paths, identifiers, numbers, quoted things."""
    return float(min(_MAX_TELLING, len(_TELLING.findall(line))))


def _worth(
    sentence: str, words: list[str], common: Mapping[str, int], number: int, total: int
) -> float:
    frequent = sum([common[word] for word in words if word in common]) / (len(words) + 4)
    place = 2.0 if number == 0 else 1.0 if number < 3 or number == total - 1 else 0.0
    error = _ERROR if _tells_of_an_error(sentence, words) else 0.0
    return frequent + place + error + 0.4 * telling(sentence)


def _tells_of_an_error(sentence: str, words: list[str]) -> bool:
    lowered = sentence[:200].lower()
    return "error" in lowered or "exception" in lowered or not _ERROR_WORDS.isdisjoint(words)
