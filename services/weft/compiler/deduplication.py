"""Near-duplicates, exactly those that comparing every pair by Jaccard similarity would
find, without comparing every pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil

import msgspec

REMEMBERED = 256
"""Texts whose words are kept: the recent items of a few sessions."""
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
    postings: dict[str, list[int]] = {}
    duplicates: dict[int, int] = {}
    held = [_words(text, threshold) for text in texts]
    for index, own in enumerate(held):
        seen = {other for word in own.first for other in postings.get(word, ())}
        for other in sorted(seen):
            if similarity(own.words, held[other].words, threshold) >= threshold:
                duplicates[index] = other
                break
        else:
            for word in own.first:
                postings.setdefault(word, []).append(index)
    return duplicates


class _Words(msgspec.Struct, frozen=True):
    words: frozenset[str]
    first: list[str]
    """Long ones before short: those are rare, so that few sets share them. Those of one length
    stand in the order of their hashes, which differs between processes; what is found does not."""


@lru_cache(maxsize=REMEMBERED)
def _words(text: str, threshold: float) -> _Words:
    held = words(text)
    size = len(held)
    ordered = sorted(sorted(held, key=hash), key=len, reverse=True)
    return _Words(held, ordered[: size - ceil(threshold * size - _ROUNDING) + 1] if size else [])


def similarity(one: frozenset[str], other: frozenset[str], threshold: float = 0.0) -> float:
    """Jaccard similarity; 0.0 at once where the sizes alone keep it below `threshold`."""
    small, large = len(one), len(other)
    if small > large:
        small, large = large, small
    if small < threshold * large - _ROUNDING:
        return 0.0
    shared = len(one & other)
    union = small + large - shared
    return shared / union if union else 0.0
