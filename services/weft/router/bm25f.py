"""BM25F in two halves: the weight of a term in an item, which depends only on that item, and its
weight in a query, which depends on how many items contain it.

The first half ignores the rest of the catalogue (lengths are normalised by fixed typical lengths,
not by averages). So adding an item changes no other item's weights.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from weft.bm25 import inverse_document_frequency
from weft.router.concepts import Concepts
from weft.router.words import MAX_TEXT, query_words, words_of
from weft_schemas.routing import SelectableItem

WordWeights = dict[str, float]


class _Field(msgspec.Struct, frozen=True):
    weight: float
    typical: int
    """How many words such a field usually has."""
    normalised: float
    """How much longer fields count less (BM25's b)."""


_NAME = _Field(3.0, 3, 0.3)
_TAGS = _Field(1.5, 3, 0.3)
_NAMESPACE = _Field(1.0, 2, 0.3)
_DESCRIPTION = _Field(1.0, 16, 0.3)
_EXAMPLES = _Field(0.8, 20, 0.5)
_PARAMETERS = _Field(0.7, 5, 0.5)
_PARAMETER_TEXTS = _Field(0.5, 30, 0.8)

_SATURATION = 1.5
"""BM25's k1: from here on, further occurrences of a term add little."""
CONCEPT_WEIGHT = 0.7
"""Weight of a common concept relative to a common word."""
_MAX_PARAMETERS = 64
_MAX_OPTIONS = 64


def item_weights(item: SelectableItem, concepts: Concepts) -> WordWeights:
    """Term → weight in this item, 0 to 1, including concepts."""
    raw: dict[str, float] = {}
    for field, text in _texts(item):
        found = words_of(text)
        share = field.weight / (1 - field.normalised * (1 - len(found) / field.typical))
        for word in found:
            raw[word] = raw.get(word, 0.0) + share
    weights = {word: value / (_SATURATION + value) for word, value in raw.items()}
    for word, value in list(weights.items()):
        for concept in concepts.get(word, ()):
            weights[concept] = max(weights.get(concept, 0.0), value)
    return weights


def query_weights(
    query: str, frequencies: Mapping[str, int], total: int, concepts: Concepts
) -> WordWeights:
    """Term → weight in this query; terms that no item contains are left out.

    `frequencies` counts the items that contain a term, of `total` items.
    """
    counts = dict.fromkeys(query_words(query, frequencies), 1)
    found = Counter(concept for word in counts for concept in concepts.get(word, ()))
    weights = {
        word: inverse_document_frequency(total, frequencies[word])
        for word in counts
        if word in frequencies
    }
    for concept, count in found.items():
        if concept in frequencies:
            share = CONCEPT_WEIGHT * (1 + math.log(count))
            weights[concept] = share * inverse_document_frequency(total, frequencies[concept])
    return weights


def score(query: WordWeights, item: Mapping[str, float]) -> float:
    """The flat score: the beam search must agree with it. Summed in the query's order, so that the
    number is the same everywhere."""
    total = 0.0
    for term, weight in query.items():
        if term in item:
            total += weight * item[term]
    return total


def parameters_of(schema: Mapping[str, Any]) -> list[str]:
    """Names of the top-level parameters."""
    properties = schema.get("properties")
    return list(properties)[:_MAX_PARAMETERS] if isinstance(properties, dict) else []


def _texts(item: SelectableItem) -> list[tuple[_Field, str]]:
    return [
        (_NAME, item.name),
        (_TAGS, " ".join(item.tags)),
        (_NAMESPACE, item.namespace),
        (_DESCRIPTION, item.description),
        (_EXAMPLES, "\n".join(item.examples)),
        (_PARAMETERS, " ".join(parameters_of(item.args_schema))),
        (_PARAMETER_TEXTS, " ".join(_parameter_texts(item.args_schema))),
    ]


def _parameter_texts(schema: Mapping[str, Any]) -> Iterator[str]:
    """The schema's words about its top-level parameters: descriptions and options."""
    for name in parameters_of(schema):
        parameter = schema["properties"][name]
        if isinstance(parameter, dict):
            yield str(parameter.get("description", ""))[:MAX_TEXT]
            options = parameter.get("enum")
            yield from map(str, options[:_MAX_OPTIONS] if isinstance(options, list) else ())
