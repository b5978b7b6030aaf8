"""The search from its definition, over the terms of each document: what the index has to find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from weft.bm25 import inverse_document_frequency, saturation
from weft.readmodel.postings import LENGTHS, MAX_TERM, length_code
from weft.readmodel.search import MAX_POSTINGS, TELLING


class PlainSearch:
    """Over the documents of a session, each the list of its terms, in order."""

    def __init__(self, documents: Sequence[Sequence[str]], superseded: frozenset[int]) -> None:
        """Documents with a number in `superseded` count and are not found."""
        self._documents = [Counter(term[:MAX_TERM] for term in document) for document in documents]
        self._superseded = superseded

    def best(
        self,
        terms: Sequence[str],
        limit: int,
        postings: int = MAX_POSTINGS,
        weights: Mapping[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        lengths = [document.total() for document in self._documents]
        average = sum(lengths) / max(len(lengths), 1)
        asked = Counter(term[:MAX_TERM] for term in terms)
        holding = {
            term: [number for number, held in enumerate(self._documents) if term in held]
            for term in asked
        }
        rarity = {
            term: inverse_document_frequency(len(lengths), len(numbers))
            for term, numbers in holding.items()
        }
        read = list(asked)
        if weights is not None:
            worth = {term: weights.get(term, 0.0) * rarity[term] for term in read}
            read = sorted(read, key=lambda term: (-worth[term], term))[:TELLING]
        scores: Counter[int] = Counter()
        for term in sorted(read, key=lambda term: (len(holding[term]), term)):
            for number in holding[term][-postings:] if postings > 0 else ():
                length = LENGTHS[length_code(lengths[number])]
                worth_once = saturation(self._documents[number][term], length, average)
                scores[number] += asked[term] * rarity[term] * worth_once
            postings -= len(holding[term])
        found = [(number, score) for number, score in scores.items()]
        found.sort(key=lambda one: (one[1], one[0]), reverse=True)
        return [one for one in found if one[0] not in self._superseded][: max(limit, 0)]
