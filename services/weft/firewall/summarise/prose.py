"""Prose by its most informative sentences, unchanged, with counts of those left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain, pairwise

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap

_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|(?<!\n)\s+)")
"""The last character of a sentence or line, and what separates it from the next."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_TELLING = re.compile(r"[:/_\dA-Z\"'`](?:(?<=:)//|(?<=[/_\"'`])\w|(?<=\d)\d*|(?<=[A-Z])[A-Z]+)")
"""`://`, `/x`, `_x`, digits, capitals, a quoted word. All begin with a character of one set, so
that the search skips other characters quickly."""
_MAX_SENTENCES = 1_500
_MAX_TEXT = 600_000
"""How many characters are examined."""
_SENTENCE = 400
"""Characters of a sentence that are shown."""
MAX_TELLING = 4
_STARTS = 3
"""How many first sentences are worth as much as the best; the last one is too."""
_OPENING, _OPENING_PARTS = 160, 3
"""Characters and sentences of the opening of a paragraph."""
_FIRST = 0.01
"""Bonus that orders sentences of equal value."""
_ITEM = re.compile(r"(?:\d{1,3}[.)]|[-*\u2022])(?=\s|\Z)")
_FAILED = """
fatal critical panic failed failure traceback denied refused timeout cannot unable
"""
_ERROR_WORDS = frozenset(_FAILED.split())
_ERROR = 4.0
"""Bonus for a sentence about an error."""


class _Part(msgspec.Struct, frozen=True):
    """A sentence, or a line without a final punctuation mark."""

    start: int
    end: int
    opens: bool
    """Whether a paragraph or a list item begins with it."""


def summarise_prose(text: str, budget: Budget) -> str:
    """Sentences by how many of the text's frequent words they contain; first ones, and those with
    names and numbers, get a bonus. A text that is divided by line feeds gives lines. A sentence
    comes after the opening of its paragraph, which says what it is about."""
    parts = _parts(text)
    shown = [text[part.start : part.end] for part in parts]
    cap = line_cap(len(parts), budget, _SENTENCE)
    worth = _worths([sentence[:cap] for sentence in shown])
    pieces: list[Piece] = []
    seen: set[str] = set()
    starts = [number for number, part in enumerate(parts) if part.opens]
    for first, last in pairwise([*starts, len(parts)]):
        opening = _opening(parts, first, last)
        best = max(worth[first:last]) + _FIRST
        start = cut_line(text[parts[first].start : parts[opening - 1].end], cap)
        pieces.append(Piece(first, best, start, opening - first))
        seen.update(shown[first:opening])
        for number in range(opening, last):
            if shown[number] not in seen:
                seen.add(shown[number])
                pieces.append(Piece(number, worth[number], cut_line(shown[number], cap)))
    if parts and parts[-1].end < len(text.rstrip()):
        rest = f"… {len(text) - parts[-1].end} more characters …"
        pieces.append(Piece(len(parts), max(worth) + 1, rest, 0))
    read = text[: parts[-1].end] if parts else ""
    is_lines = sum(1 for line in read.split("\n") if line.strip()) == len(parts)
    unit = "lines" if is_lines and len(parts) > 1 else "sentences"
    return compose(pieces, budget, unit, len(parts)) or budget.cut(text)


def _parts(text: str) -> list[_Part]:
    """Sentences with content, in the part of the text that is examined."""
    parts: list[_Part] = []
    start, opens = 0, True
    for match in _SENTENCE_END.finditer(text, 0, _MAX_TEXT):
        if len(parts) == _MAX_SENTENCES:
            return parts
        end = match.start() + (text[match.start()] != "\n")
        sentence = text[start:end].strip()
        gap = text[end : match.end()]
        if _ITEM.fullmatch(sentence) and "\n" not in gap:
            continue  # The number of a list item belongs to the text after it.
        if sentence:
            parts.append(_Part(start, end, opens or _ITEM.match(sentence) is not None))
            opens = False
        opens = opens or gap.count("\n") > 1
        start = match.end()
    if len(text) <= _MAX_TEXT and text[start:].strip():
        parts.append(_Part(start, len(text.rstrip()), opens))
    return parts


def _opening(parts: list[_Part], first: int, last: int) -> int:
    """Where the opening of a paragraph ends: after enough characters or sentences."""
    end = first + 1
    while end < min(last, first + _OPENING_PARTS):
        if parts[end].end - parts[first].start > _OPENING:
            break
        end += 1
    return end


def _worths(sentences: list[str]) -> list[float]:
    words = [_WORD.findall(sentence.lower()) for sentence in sentences]
    spread = Counter(chain.from_iterable(map(set, words)))
    common = {word: min(count, 20) for word, count in spread.items() if len(word) > 4}
    worth = [_worth(sentence, words[number], common) for number, sentence in enumerate(sentences)]
    best = max(worth, default=0.0)
    ends = [*range(min(_STARTS, len(worth))), len(worth) - 1] if worth else []
    for rank, number in enumerate(ends):
        worth[number] = best + 1.0 - _FIRST * rank
    return worth


def specificity(line: str) -> float:
    """How much a line names: links, paths, identifiers, numbers, quoted things."""
    return float(min(MAX_TELLING, len(_TELLING.findall(line))))


def _worth(sentence: str, words: list[str], common: Mapping[str, int]) -> float:
    frequent = sum([common[word] for word in words if word in common]) / (len(words) + 4)
    error = _ERROR if _tells_of_an_error(sentence, words) else 0.0
    return frequent + error + 0.4 * specificity(sentence)


def _tells_of_an_error(sentence: str, words: list[str]) -> bool:
    lowered = sentence[:200].lower()
    return "error" in lowered or "exception" in lowered or not _ERROR_WORDS.isdisjoint(words)
