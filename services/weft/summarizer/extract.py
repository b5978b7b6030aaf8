"""Extractive summary: rank sentences by the recurring words and the specifics they hold, take the
best that fit, and give them back in their order with gaps marked. No model, no randomness.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from weft import tokens

GAP = " […] "

_HEAD, _TAIL = 150_000, 50_000
"""Characters read of a longer text, from its two ends: bounds the work on any input."""
_MOST_SENTENCES = 2_000
_LONGEST = 600
"""Characters of one sentence; a longer run (a log line, minified code) is cut to it."""

_END = re.compile(r"(?<=[.!?。！？])[\"')\]]?\s+|\s*\n\s*")  # noqa: RUF001
_WORD = re.compile(r"\w{3,}")
_SPECIFIC = re.compile(r"\d|\b[A-Z][\w-]*[A-Z_]\w*|[\w.]+@[\w.]+|https?://|`[^`]+`")
"""Numbers, identifiers, addresses: what a later step needs and cannot guess."""


def sentences_within(text: str, limit: int, encoding: str) -> str:
    """The best sentences of `text`, in order, at most `limit` tokens with the gap marks."""
    if limit <= 0:
        return ""
    sentences = split(text)
    costs = [tokens.count(sentence, encoding) for sentence in sentences]
    margin = tokens.count(GAP, encoding)
    chosen: set[int] = set()
    left = limit
    for index in ranked(sentences):
        if costs[index] + margin <= left:
            chosen.add(index)
            left -= costs[index] + margin
    while chosen:
        summary = _joined(sentences, sorted(chosen))
        if tokens.count(summary, encoding) <= limit:
            return summary
        chosen.remove(max(chosen))
    return tokens.truncate(sentences[0], limit, encoding).strip() if sentences else ""


def split(text: str) -> list[str]:
    """Sentences and lines in order, repeated ones left out, the middle of a huge text too."""
    if len(text) > _HEAD + _TAIL:
        text = text[:_HEAD] + "\n" + text[-_TAIL:]
    seen: dict[str, None] = {}
    for part in _END.split(text):
        sentence = " ".join((part or "")[:_LONGEST].split())
        if sentence:
            seen.setdefault(sentence)
    sentences = list(seen)
    half = _MOST_SENTENCES // 2
    return sentences if len(sentences) <= _MOST_SENTENCES else sentences[:half] + sentences[-half:]


def ranked(sentences: list[str]) -> list[int]:
    """Indexes of the sentences, most telling first; ties in order of the text."""
    words = [{word.casefold() for word in _WORD.findall(sentence)} for sentence in sentences]
    spread = Counter(word for bag in words for word in bag)
    common = max(2, len(sentences) // 3)
    scores = [
        _centrality(bag, spread, common)
        + min(len(_SPECIFIC.findall(sentence)), 4) * 0.5
        + _place(index, len(sentences))
        for index, (sentence, bag) in enumerate(zip(sentences, words, strict=True))
    ]
    return sorted(range(len(sentences)), key=lambda index: (-scores[index], index))


def _centrality(bag: set[str], spread: Counter[str], common: int) -> float:
    """Words that recur, but not everywhere, per root of length, so that long does not win by
    length."""
    if not bag:
        return 0.0
    # Summed in a fixed order: floats added in set order would differ from process to process.
    weights = sorted(math.log(spread[word]) for word in bag if 1 < spread[word] <= common)
    return sum(weights) / math.sqrt(len(bag) + 3)


def _place(index: int, total: int) -> float:
    """A text opens with its subject and closes with its outcome."""
    if index == 0:
        return 2.0
    if index == total - 1:
        return 1.0
    return 0.5 if index < 3 else 0.0


def _joined(sentences: list[str], chosen: list[int]) -> str:
    parts = [sentences[chosen[0]]]
    for before, index in pairwise(chosen):
        parts.append(("\n" if index == before + 1 else GAP) + sentences[index])
    return "".join(parts)
