"""How certain a routing is: whether the best tool fits at all, and whether the second one fits
equally well.

A score alone says little, since long queries always score high. What distinguishes a right tool
from the nearest wrong one is how much of the query it covers, counting only words that the
catalogue knows: words that no tool has (names, numbers) are no evidence against any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from weft.bm25 import inverse_document_frequency
from weft.router.bm25f import WordWeights
from weft.router.words import query_words

AMBIGUOUS = 0.95
"""The second tool counts as equally good if it has at least this share of the best score."""

_BIAS, _STRENGTH, _COVERAGE, _UNKNOWN = -3.90, 2.96, 4.44, 2.25
"""Logistic regression over `Evidence`: MetaTool queries at even places, each with its right tool
in the catalogue and with it taken out. `weft eval routing` fits it again and reports the other
half."""
THRESHOLD = 0.293
"""Below this confidence nothing fits: one in twenty queries whose tool is there is below it."""


class Evidence(msgspec.Struct, frozen=True):
    """The evidence for the best item."""

    strength: float
    """Its score, in units of the rarest word's weight, as log(1 + x)."""
    coverage: float
    """Share of the query's words, weighted by rarity, that it has."""
    unknown: float
    """Share that no item has."""


def evidence_for(
    query: str, score: float, best: WordWeights, frequencies: Mapping[str, int], total: int
) -> Evidence:
    """`best` are the best item's weights; `frequencies` counts the items that contain a term, of
    `total`."""
    weights = {
        word: inverse_document_frequency(total, frequencies.get(word, 0))
        for word in query_words(query, frequencies)
    }
    mass = sum(weights.values()) or 1.0
    return Evidence(
        strength=math.log1p(score / inverse_document_frequency(total, 0)),
        coverage=sum(weight for word, weight in weights.items() if word in best) / mass,
        unknown=sum(w for word, w in weights.items() if not frequencies.get(word)) / mass,
    )


def confidence(evidence: Evidence) -> float:
    """0 to 1: the chance that the right tool is in the catalogue."""
    logit = (
        _BIAS
        + _STRENGTH * evidence.strength
        + _COVERAGE * evidence.coverage
        + _UNKNOWN * evidence.unknown
    )
    return 1 / (1 + math.exp(-logit))
