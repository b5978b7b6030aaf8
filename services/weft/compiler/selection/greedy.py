"""Takes offers in the order of their remaining value."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar


class PlacedPart(Protocol):
    """A part of an item."""

    @property
    def sequence(self) -> int: ...

    @property
    def part(self) -> int: ...


Offered = TypeVar("Offered", bound=PlacedPart)


def best_first(
    offers: Sequence[Offered], rate: Callable[[Offered], float]
) -> Iterator[tuple[Offered, float]]:
    """Yields each offer with its rate at its turn. Lazy greedy: rates fall as offers are taken, so
    the top offer's rate is computed again before it is yielded.

    A rate can also rise, if a part's group is shown by then. Such an offer keeps its place: moving
    it forward gives prompts of fewer items, which ground less. Ties go to the newer item, then to
    the earlier part.
    """
    heap = [(-rate(offer), -offer.sequence, offer.part, at) for at, offer in enumerate(offers)]
    heapq.heapify(heap)
    while heap:
        key, newest, part, at = heap[0]
        now = -rate(offers[at])
        if now > key:
            heapq.heapreplace(heap, (now, newest, part, at))
            if heap[0][3] != at:
                continue
        heapq.heappop(heap)
        yield offers[at], -now
