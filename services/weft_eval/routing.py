"""How well and how fast tools are found: recall at k against flat rankings, the share of leaves
that a search scores, and how often the router is right to say that nothing fits."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import msgspec

from weft.bm25 import Index
from weft.router.confidence import Evidence
from weft.router.fusion import Encoder
from weft.router.router import Router
from weft_eval.routing_sets import RoutingCase, RoutingSet
from weft_schemas.routing import RouteRequest, SelectableItem

KS = (1, 3, 5)
FALSE_ABSTENTIONS = (0.02, 0.05, 0.1, 0.2)

Rank = Callable[[str, int], list[str]]
"""A function from a query and a number to at most that many ids, best first."""


class RoutingRecall(msgspec.Struct, frozen=True):
    """The share of all queries with a right tool among the first k."""

    name: str
    queries: int
    at: dict[int, float]
    p50_ms: float
    build_s: float


def recall(name: str, build: Callable[[], Rank], cases: Sequence[RoutingCase]) -> RoutingRecall:
    """Build once, then ask every query and measure the time."""
    started = time.perf_counter()
    rank = build()
    built = time.perf_counter() - started
    found = dict.fromkeys(KS, 0)
    seconds = []
    for case in cases:
        before = time.perf_counter()
        ids = rank(case.query, max(KS))
        seconds.append(time.perf_counter() - before)
        for k in KS:
            found[k] += not set(case.gold).isdisjoint(ids[:k])
    shares = {k: count / len(cases) for k, count in found.items()}
    return RoutingRecall(name, len(cases), shares, median(seconds) * 1e3, built)


def routed(items: Sequence[SelectableItem], encoder: Encoder | None = None) -> Rank:
    """Weft's router, through the graph."""
    router = Router(items, encoder=encoder)

    def rank(query: str, top: int) -> list[str]:
        reply = router.route(RouteRequest(query, "", top_k=5))
        return [card.id for card in reply.cards]

    return rank


def bm25(items: Sequence[SelectableItem]) -> Rank:
    """The baseline: flat BM25 (k1 1.5, b 0.75) over lower-case words of name and description."""
    counts = [Counter(_plain_words(f"{item.name} {item.description}")) for item in items]
    index = Index(counts, k1=1.5, b=0.75)

    def rank(query: str, top: int) -> list[str]:
        scores = index.scores(Counter(_plain_words(query)))
        ranked = sorted((-score, item.id) for score, item in zip(scores, items, strict=True))
        return [item_id for _, item_id in ranked[:top]]

    return rank


def contextweaver(items: Sequence[SelectableItem]) -> Rank:
    """The baseline: contextweaver's tree and router. Raises ImportError where not installed."""
    from contextweaver.routing.router import Router as TheirRouter
    from contextweaver.routing.tree import TreeBuilder as TheirBuilder
    from contextweaver.types import SelectableItem as TheirItem

    theirs: list[Any] = [
        TheirItem(
            id=item.id,
            kind="tool",
            name=item.name,
            description=item.description,
            tags=list(item.tags),
            namespace=item.namespace,
            args_schema=item.args_schema,
        )
        for item in items
    ]
    router = TheirRouter(TheirBuilder().build(theirs), items=theirs, top_k=max(KS))
    return lambda query, top: list(router.route(query).candidate_ids)[:top]


class GraphAgainstFlat(msgspec.Struct, frozen=True):
    """What the graph costs in recall and saves in work, with the same scorer."""

    recall: float
    """The share of the flat ranking's first five that the graph finds."""
    leaves_median: float
    leaves_most: int
    total: int


def graph_against_flat(router: Router, queries: Sequence[str]) -> GraphAgainstFlat:
    """The first five, over queries that anything matches."""
    found, wanted, leaves = 0, 0, []
    for query in queries:
        reply = router.route(RouteRequest(query, "", top_k=5))
        flat = {hit.id for hit in router.flat(query, 5)}
        found += len(flat & {card.id for card in reply.cards})
        wanted += len(flat)
        leaves.append(reply.leaves_scored)
    return GraphAgainstFlat(found / max(wanted, 1), median(leaves), max(leaves), len(router.items))


class Abstention(msgspec.Struct, frozen=True):
    """Calibrated on the queries at even places, measured on the others."""

    weights: tuple[float, float, float, float]
    """Bias, strength, coverage, unknown: of the logistic regression."""
    threshold: float
    """Confidence with 5 % false abstentions on the calibrating half."""
    false: float
    """On the other half: the share of queries refused at that threshold although their tool is
    there."""
    right: float
    """On the other half: the share refused of queries whose tool was taken out."""
    curve: dict[float, tuple[float, float]]
    """False abstentions → right ones, by confidence and by a plain threshold on the score."""


def abstention(chosen: RoutingSet) -> Abstention:
    """Ask every query twice: with its right tools in the catalogue, and with them taken out."""
    router = Router(chosen.items)
    pairs = [
        (router.evidence(case.query), router.evidence(case.query, case.gold))
        for case in chosen.cases
    ]
    calibrating, measured = pairs[0::2], pairs[1::2]
    weights = _fit([e for (e, _), _ in calibrating], [e for _, (e, _) in calibrating])
    threshold = _quantile([_chance(weights, e) for (e, _), _ in calibrating], 0.05)
    there = [(_chance(weights, evidence), score) for (evidence, score), _ in measured]
    out = [(_chance(weights, evidence), score) for _, (evidence, score) in measured]
    curve = {
        share: (
            _below([sure for sure, _ in out], _quantile([sure for sure, _ in there], share)),
            _below([score for _, score in out], _quantile([score for _, score in there], share)),
        )
        for share in FALSE_ABSTENTIONS
    }
    false = _below([sure for sure, _ in there], threshold)
    right = _below([sure for sure, _ in out], threshold)
    return Abstention(weights, threshold, false, right, curve)


_Weights = tuple[float, float, float, float]
_ROUNDS, _RATE = 400, 2.0
"""Steps of plain gradient descent: enough that further ones change no digit that is kept."""


def _fit(there: Sequence[Evidence], out: Sequence[Evidence]) -> _Weights:
    """Logistic regression of "the right tool is there" on the evidence, by gradient descent on
    standardised features."""
    rows = [_features(evidence) for evidence in (*there, *out)]
    labels = [1.0] * len(there) + [0.0] * len(out)
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    spreads = [
        math.sqrt(sum((value - mean) ** 2 for value in column) / len(rows)) or 1.0
        for column, mean in zip(zip(*rows, strict=True), means, strict=True)
    ]
    scaled = [[(v - m) / s for v, m, s in zip(row, means, spreads, strict=True)] for row in rows]
    bias, slopes = 0.0, [0.0] * 3
    for _ in range(_ROUNDS):
        errors = [
            _logistic(bias + sum(w * v for w, v in zip(slopes, row, strict=True))) - label
            for row, label in zip(scaled, labels, strict=True)
        ]
        bias -= _RATE * sum(errors) / len(errors)
        slopes = [
            slope - _RATE * sum(e * row[place] for e, row in zip(errors, scaled, strict=True))
            / len(errors)
            for place, slope in enumerate(slopes)
        ]  # fmt: skip
    raw = [slope / spread for slope, spread in zip(slopes, spreads, strict=True)]
    bias -= sum(slope * mean for slope, mean in zip(raw, means, strict=True))
    return bias, raw[0], raw[1], raw[2]


def _chance(weights: _Weights, evidence: Evidence) -> float:
    pairs = zip(weights[1:], _features(evidence), strict=True)
    return _logistic(weights[0] + sum(weight * value for weight, value in pairs))


def _features(evidence: Evidence) -> tuple[float, float, float]:
    return evidence.strength, evidence.coverage, evidence.unknown


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * len(values))]


def _below(values: Sequence[float], threshold: float) -> float:
    return sum(value < threshold for value in values) / len(values)


def _plain_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
