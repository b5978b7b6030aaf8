"""Near-duplicates, exactly those that comparing every pair by Jaccard similarity would
find, without comparing every pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil

REMEMBERED = 1024
"""Texts whose first words are kept: the recent items of some sessions."""
_ROUNDING = 1e-9
"""Keeps a float threshold from pushing an exact bound up by one."""


def words(text: str) -> frozenset[str]:
    """The word set by which texts are compared: folded, parted by white space."""
    return frozenset(text.casefold().split())


def find_duplicates(texts: Sequence[str], threshold: float) -> dict[int, int]:
    """Which text repeats which: index → index of the one that is kept.

    `texts` come in order of preference: each is compared with the earlier ones that were kept, and
    is a duplicate of the first whose word set has a Jaccard similarity of at least `threshold`
    (above 0) with its own. Texts without words repeat nothing. Prefix filtering (Chaudhuri et al.
    2006; Bayardo et al. 2007): in any one order of words, two sets as similar as t share a word
    among the first n - ceil(t n) + 1 of each.
    """
    postings: dict[int, list[int]] = {}
    duplicates: dict[int, int] = {}
    sizes: list[int] = []
    held: dict[int, frozenset[str]] = {}

    def words_of(index: int) -> frozenset[str]:
        found = held.get(index)
        if found is None:
            found = held[index] = words(texts[index])
        return found

    for index, text in enumerate(texts):
        size, prefix = _prefix(text, threshold)
        sizes.append(size)
        seen = {other for word in prefix for other in postings.get(word, ())}
        for other in sorted(seen):
            if _close(size, sizes[other], threshold) and (
                similarity(words_of(index), words_of(other)) >= threshold
            ):
                duplicates[index] = other
                break
        else:
            for word in prefix:
                postings.setdefault(word, []).append(index)
    return duplicates


@lru_cache(maxsize=REMEMBERED)
def _prefix(text: str, threshold: float) -> tuple[int, tuple[int, ...]]:
    """How many words a text has, and the first of them by their hashes: long ones before short,
    since those are rare. Hashes differ between processes; what is found by them does not."""
    held = words(text)
    size = len(held)
    ordered = sorted(sorted(held, key=hash), key=len, reverse=True)
    first = ordered[: size - ceil(threshold * size - _ROUNDING) + 1] if size else ()
    return size, tuple(map(hash, first))


def _close(size: int, other: int, threshold: float) -> bool:
    """Whether sets of these sizes can be so similar."""
    return min(size, other) >= threshold * max(size, other) - _ROUNDING


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity."""
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 0.0
