"""Beam search over the tree, best bound first, which returns leaves in the order of their scores.

A node's score is the most that any leaf below it can reach. So a leaf whose score no bound in the
queue exceeds is the next one of the flat ranking. If bounds cannot distinguish leaves, the beam
ends at a share of the leaves, and those scored by then are the answer.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from weft.router.bm25f import WordWeights, score
from weft.router.tree import Node

LEAF_SHARE = 0.1
"""The largest share of the leaves that one search scores, if there are many."""
_MIN_SCORED = 1_000
"""Leaves that any search may score, which is that share of 10,000: in a smaller catalogue bounds
are close to each other, and this still takes less than a millisecond."""


class Hit(msgspec.Struct, frozen=True, order=True):
    """A leaf that was scored; hits sort best first, equal ones by id."""

    rank: float
    """The negative score."""
    id: str

    @property
    def score(self) -> float:
        return -self.rank


class BeamSearch:
    """One search: iterate over it as far as needed."""

    def __init__(
        self,
        root: Node,
        query: WordWeights,
        total: int,
        needed: Sequence[Sequence[str]] = (),
        excluded: frozenset[str] = frozenset(),
        factors: Mapping[str, float] | None = None,
    ) -> None:
        """A leaf must have at least one facet of each group in `needed`; `factors` (at most 1)
        lower the scores of ids. `total` is the number of leaves."""
        self.leaves_scored = 0
        self._query = query
        self._limit = max(_MIN_SCORED, int(total * LEAF_SHARE))
        self._needed = needed
        self._excluded = excluded
        self._factors = factors or {}
        # Negative bound or score, lowest id, whether it is a node: never equal for two entries,
        # since entries in the queue have no leaf in common.
        self._queue: list[tuple[float, str, bool, Node]] = []
        self._push(root)

    def __iter__(self) -> Iterator[Hit]:
        """Leaves with a score above zero, best first."""
        while self._queue:
            rank, item_id, is_open, node = heapq.heappop(self._queue)
            if not is_open:
                yield Hit(rank, item_id)
            elif self.leaves_scored < self._limit:
                for child in node.children:
                    self._push(child)

    def _push(self, node: Node) -> None:
        if self._needed and not has_facets(node, self._needed):
            return
        rank = -score(self._query, node.weights)
        if node.item is not None:
            if node.first in self._excluded:
                return
            self.leaves_scored += 1
            rank *= self._factors.get(node.first, 1.0)
        if rank < 0:
            heapq.heappush(self._queue, (rank, node.first, node.item is None, node))


def has_facets(node: Node, needed: Sequence[Sequence[str]]) -> bool:
    """Whether a leaf at or below the node may have one facet of each group."""
    return all(any(facet in node.weights for facet in group) for group in needed)
