"""Near-duplicates, exactly those that comparing every pair by Jaccard similarity would
find, without comparing every pair."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

_ROUNDING = 1e-9
"""Keeps a float threshold from pushing an exact bound up by one."""


def words(text: str) -> frozenset[str]:
    """The word set by which texts are compared: folded, parted by white space."""
    return frozenset(text.casefold().split())


def find_duplicates(sets: Sequence[frozenset[str]], threshold: float) -> dict[int, int]:
    """Which set repeats which: index → index of the one that is kept.

    `sets` come in order of preference: each is compared with the earlier ones that were kept, and
    is a duplicate of the first whose Jaccard similarity is at least `threshold` (above 0). Empty
    sets repeat nothing. Prefix filtering (Chaudhuri et al. 2006; Bayardo et al. 2007): in any one
    order of words, two sets as similar as t share a word among the first n - ceil(t n) + 1 of each.
    """
    postings: dict[int, list[int]] = {}
    duplicates: dict[int, int] = {}
    for index, held in enumerate(sets):
        prefix = _prefix(held, threshold)
        seen = {other for word in prefix for other in postings.get(word, ())}
        for other in sorted(seen):
            if similarity(held, sets[other], threshold) >= threshold:
                duplicates[index] = other
                break
        else:
            for word in prefix:
                postings.setdefault(word, []).append(index)
    return duplicates


def _prefix(held: frozenset[str], threshold: float) -> list[int]:
    """The first words in the order of their hashes, by hash: any one order will do, and this one is
    the cheapest. It differs between processes, what it finds does not."""
    size = len(held)
    return sorted(map(hash, held))[: size - ceil(threshold * size - _ROUNDING) + 1] if size else []


def similarity(one: frozenset[str], other: frozenset[str], threshold: float = 0.0) -> float:
    """Jaccard similarity; 0.0 at once where the sizes alone keep it below `threshold`."""
    small, large = sorted((len(one), len(other)))
    if small < threshold * large - _ROUNDING:
        return 0.0
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 0.0
