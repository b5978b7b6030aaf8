"""Extractive summary: ranks sentences by the recurring words and the specific things that they
contain, takes the best that fit, and returns them in their order with gaps marked. No model, no
randomness."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, pairwise

from weft import tokens

GAP = " […] "

_HEAD, _TAIL = 150_000, 50_000
"""How many characters of a longer text are read, from its two ends: this bounds the work for any
input."""
_MAX_SENTENCES = 2_000
_MAX_LENGTH = 600
"""Longest sentence, in characters; a longer run (a log line, minified code) is cut."""

_END = re.compile(r"[.!?。！？\n](?:(?<=\n)\s*|(?<!\n)[\"')\]]?\s+)")  # noqa: RUF001
"""The last character of a sentence or line, and what separates it from the next."""
_WORD = re.compile(r"\w{3,}")
_SPECIFIC = re.compile(r"\d|\b[A-Z][\w-]*[A-Z_]\w*|(?<![\w.])[\w.]++@[\w.]+|https?://|`[^`]+`")
"""Numbers, identifiers, addresses: things that a later step needs and cannot guess."""
_CAPITALS = re.compile(r"[A-Z][\w-]*[A-Z_]")
_DIGIT = re.compile(r"\d")
"""The only specific things in a text without `@`, a grave accent, `://` and `_CAPITALS`."""


def sentences_within(text: str, limit: int, encoding: str) -> str:
    """The best sentences of `text`, in order, at most `limit` tokens including the gap marks."""
    if limit <= 0:
        return ""
    sentences = split(text)
    margin = _margin(encoding)
    chosen: set[int] = set()
    left = limit - margin
    for index in ranked(sentences):
        # Blanks separate tokens, so most sentences that do not fit need no counting.
        if sentences[index].count(" ") < left:
            cost = tokens.count(sentences[index], encoding)
            if cost <= left:
                chosen.add(index)
                left -= cost + margin
    while chosen:
        summary = _joined(sentences, sorted(chosen))
        if tokens.count(summary, encoding) <= limit:
            return summary
        chosen.remove(max(chosen))
    return tokens.truncate(sentences[0], limit, encoding).strip() if sentences else ""


@cache
def _margin(encoding: str) -> int:
    return tokens.count(GAP, encoding)


def split(text: str) -> list[str]:
    """Sentences and lines in order, without repeated ones and without the middle of a huge text."""
    if len(text) > _HEAD + _TAIL:
        text = text[:_HEAD] + "\n" + text[-_TAIL:]
    seen: dict[str, None] = {}
    for part in _parts(text):
        sentence = " ".join(part[:_MAX_LENGTH].split())
        if sentence:
            seen.setdefault(sentence)
    sentences = list(seen)
    half = _MAX_SENTENCES // 2
    return sentences if len(sentences) <= _MAX_SENTENCES else sentences[:half] + sentences[-half:]


def _parts(text: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(text):
        yield text[start : match.start() + 1]
        start = match.end()
    yield text[start:]


def ranked(sentences: list[str]) -> list[int]:
    """Indexes of the sentences, the most informative first; ties in order of the text."""
    words = [_words(sentence) for sentence in sentences]
    spread = Counter(chain.from_iterable(words))
    common = max(2, len(sentences) // 3)
    # Words that recur, but not everywhere.
    weights = {word: math.log(count) for word, count in spread.items() if 1 < count <= common}
    scores = [
        _centrality(bag, weights) + _specifics(sentence) * 0.5 + _place(index, len(sentences))
        for index, (sentence, bag) in enumerate(zip(sentences, words, strict=True))
    ]
    # A stable sort: ties stay in order of the text.
    return sorted(range(len(sentences)), key=scores.__getitem__, reverse=True)


def _words(sentence: str) -> set[str]:
    if sentence.isascii():
        return set(_WORD.findall(sentence.lower()))
    return {word.casefold() for word in _WORD.findall(sentence)}


def _specifics(sentence: str) -> int:
    """How many specific things a sentence names, at most four."""
    named = "@" in sentence or "`" in sentence or "://" in sentence
    pattern = _SPECIFIC if named or _CAPITALS.search(sentence) else _DIGIT
    return min(len(pattern.findall(sentence)), 4)


def _centrality(bag: set[str], weights: Mapping[str, float]) -> float:
    """The weight of its recurring words, divided by the root of its length, so that long sentences
    do not win by length."""
    found = bag & weights.keys()
    if not found:
        return 0.0
    # Summed in a fixed order: floats added in the order of a set would differ between processes.
    return sum(sorted([weights[word] for word in found])) / math.sqrt(len(bag) + 3)


def _place(index: int, total: int) -> float:
    """A text begins with its subject and ends with its outcome."""
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
