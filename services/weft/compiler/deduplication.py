"""Near-duplicates, exactly those that comparing every pair by Jaccard similarity would
find, without comparing every pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil

REMEMBERED = 256
"""Texts whose words are kept: the recent items of a few sessions."""
FEW = 64
"""Texts of which every pair is compared: to look for the pairs that can be alike takes longer."""
_ROUNDING = 1e-9
"""Keeps a float threshold from pushing an exact bound up by one."""


@lru_cache(maxsize=REMEMBERED)
def words(text: str) -> frozenset[str]:
    """The word set by which texts are compared: folded, parted by white space."""
    return frozenset(text.casefold().split())


def find_duplicates(texts: Sequence[str], threshold: float) -> dict[int, int]:
    """Which text repeats which: index → index of the one that is kept.

    `texts` come in order of preference: each is compared with the earlier ones that were kept, and
    is a duplicate of the first whose word set has a Jaccard similarity of at least `threshold`
    (above 0) with its own. Texts without words repeat nothing.
    """
    held = [words(text) for text in texts]
    sizes = list(map(len, held))
    kept = _All() if len(held) <= FEW else _Sharing(threshold)
    duplicates: dict[int, int] = {}
    for index, own in enumerate(held):
        size = sizes[index]
        least, most = max(threshold * size - _ROUNDING, 0.0), size / threshold + _ROUNDING
        for other in kept.like(own):
            if not least < sizes[other] <= most:
                continue
            shared = len(own & held[other])
            if shared > least and shared / (size + sizes[other] - shared) >= threshold:
                duplicates[index] = other
                break
        else:
            kept.add(index, own)
    return duplicates


class _All:
    """Every text that was kept."""

    def __init__(self) -> None:
        self._kept: list[int] = []

    def like(self, own: frozenset[str]) -> list[int]:
        return self._kept

    def add(self, index: int, own: frozenset[str]) -> None:
        self._kept.append(index)


class _Sharing:
    """Those of the kept texts that can be alike. Prefix filtering (Chaudhuri et al. 2006; Bayardo
    et al. 2007): in any one order of words, two sets as similar as t share a word among the first
    n - ceil(t n) + 1 of each."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._postings: dict[str, list[int]] = {}

    def like(self, own: frozenset[str]) -> list[int]:
        find = self._postings.get
        return sorted({other for word in _first(own, self._threshold) for other in find(word, ())})

    def add(self, index: int, own: frozenset[str]) -> None:
        for word in _first(own, self._threshold):
            self._postings.setdefault(word, []).append(index)


@lru_cache(maxsize=REMEMBERED)
def _first(held: frozenset[str], threshold: float) -> list[str]:
    """Long words before short: those are rare, so that few sets share them. Those of one length
    stand in the order of their hashes, which differs between processes; what is found does not."""
    size = len(held)
    ordered = sorted(sorted(held, key=hash), key=len, reverse=True)
    return ordered[: size - ceil(threshold * size - _ROUNDING) + 1] if size else []
