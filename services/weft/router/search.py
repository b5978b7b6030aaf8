"""Beam search over the tree, best bound first.

A node's score is the most that any leaf below it can reach, so once the k-th best leaf found beats
every bound that is left, the answer is the flat ranking's. Where bounds cannot tell leaves apart,
the beam ends at a share of the leaves.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Callable, Sequence

import msgspec

from weft.router.tree import Node
from weft.router.weights import Weights, score

LEAF_SHARE = 0.1
"""Most of the leaves that one search scores, where there are many."""
_FEWEST = 1_000
"""Leaves that any search may score, the share of 10,000: in a smaller catalogue bounds are close to
each other, and this is still under a millisecond."""


class Hit(msgspec.Struct, frozen=True, order=True):
    """A leaf that was scored; hits sort best first."""

    rank: float
    """The negative score."""
    id: str

    @property
    def score(self) -> float:
        return -self.rank


class Found(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...]
    """Best first, ties by id."""
    leaves_scored: int
    exact: bool
    """Whether no leaf that was left out could be among the hits."""


def search(
    root: Node,
    query: Weights,
    top: int,
    total: int,
    needed: Sequence[Sequence[str]] = (),
    excluded: frozenset[str] = frozenset(),
    factor: Callable[[str], float] | None = None,
) -> Found:
    """The `top` leaves with the highest scores above zero.

    Each group of facets in `needed` must have one that the leaf has; `factor` (at most 1) lowers
    the score of an id.
    """
    limit = max(_FEWEST, int(total * LEAF_SHARE))
    best: list[Hit] = []
    scored = 0
    # A place in the queue: bound, lowest id, and a number that keeps nodes from being compared.
    waiting = [(-score(query, root.weights), root.first, 0, root)]
    pushed = 0
    while waiting:
        bound, first, _, node = heapq.heappop(waiting)
        if bound >= 0 or (len(best) == top and (bound, first) > (best[-1].rank, best[-1].id)):
            break
        for child in node.children:
            if needed and not _has_facets(child, needed):
                continue
            if child.item is None:
                pushed += 1
                entry = (-score(query, child.weights), child.first, pushed, child)
                heapq.heappush(waiting, entry)
                continue
            if child.first in excluded:
                continue
            if scored == limit:
                return Found(tuple(best), scored, False)
            scored += 1
            hit = Hit(
                -score(query, child.weights) * (factor(child.first) if factor else 1.0), child.first
            )
            if hit.rank < 0 and (len(best) < top or hit < best[-1]):
                insort(best, hit)
                del best[top:]
    return Found(tuple(best), scored, True)


def _has_facets(node: Node, needed: Sequence[Sequence[str]]) -> bool:
    return all(any(facet in node.weights for facet in group) for group in needed)
