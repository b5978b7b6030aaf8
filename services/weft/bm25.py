"""BM25 (Robertson and Zaragoza 2009, section 3.4) over documents in memory: the only place with its
formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

K1 = 1.2
B = 0.75
"""The usual constants (ibid.): how soon repeating a term stops helping, and how much length
counts."""


def inverse_document_frequency(documents: int, matching: int) -> float:
    """The weight of a term that `matching` of this many documents contain."""
    return log(1 + (documents - matching + 0.5) / (matching + 0.5))


def saturation(
    frequency: int, length: float, average: float, k1: float = K1, b: float = B
) -> float:
    """The weight of a term's frequency in a document with this many words."""
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))


class Index:
    """Documents that are searched more than once."""

    def __init__(
        self, documents: Sequence[Mapping[str, int]], k1: float = K1, b: float = B
    ) -> None:
        lengths = [sum(document.values()) for document in documents]
        average = sum(lengths) / max(len(lengths), 1) or 1.0
        self._count = len(documents)
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for place, (document, length) in enumerate(zip(documents, lengths, strict=True)):
            for term, frequency in document.items():
                worth = saturation(frequency, length, average, k1, b)
                self._postings.setdefault(term, []).append((place, worth))

    def scores(self, query: Mapping[str, float]) -> list[float]:
        """How well each document matches the query's terms. A term's weight says how often it
        counts. A document without any of the terms has 0."""
        found = [0.0] * self._count
        for term, weight in query.items():
            postings = self._postings.get(term, ())
            worth = weight * inverse_document_frequency(self._count, len(postings))
            for place, share in postings:
                found[place] += worth * share
        return found


def scores(
    documents: Sequence[Mapping[str, int]],
    query: Mapping[str, float],
    k1: float = K1,
    b: float = B,
) -> list[float]:
    """The same for documents that are searched once: only the query's terms are looked up."""
    lengths = [sum(document.values()) for document in documents]
    average = sum(lengths) / max(len(lengths), 1) or 1.0
    found = [0.0] * len(documents)
    for term, weight in query.items():
        matching = [place for place, document in enumerate(documents) if term in document]
        worth = weight * inverse_document_frequency(len(documents), len(matching))
        for place in matching:
            share = saturation(documents[place][term], lengths[place], average, k1, b)
            found[place] += worth * share
    return found
