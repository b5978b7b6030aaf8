"""BM25 (Robertson and Zaragoza 2009, section 3.4) over documents in memory: the one formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

K1 = 1.2
B = 0.75
"""The usual constants (ibid.): how soon a term's repetition saturates, how much length counts."""


def inverse_document_frequency(documents: int, holding: int) -> float:
    """What a term tells that `holding` of so many documents hold."""
    return log(1 + (documents - holding + 0.5) / (holding + 0.5))


def saturation(
    frequency: int, length: float, average: float, k1: float = K1, b: float = B
) -> float:
    """What a term's frequency in a document of so many words is worth."""
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))


def scores(
    documents: Sequence[Counter[str]], query: Mapping[str, float], k1: float = K1, b: float = B
) -> list[float]:
    """Of each document, how well it matches the query's terms, each of which counts as often as
    its weight says. A document without any of them has 0."""
    lengths = [document.total() for document in documents]
    average = sum(lengths) / max(len(lengths), 1) or 1.0
    found = [0.0] * len(documents)
    for term, weight in query.items():
        holding = [place for place, document in enumerate(documents) if term in document]
        worth = weight * inverse_document_frequency(len(documents), len(holding))
        for place in holding:
            frequency = documents[place][term]
            found[place] += worth * saturation(frequency, lengths[place], average, k1, b)
    return found
