"""Cards that differ: of near-copies of one tool, two are shown, and more only if nothing else
matches. Five variants of one wrong tool would leave no room for the right one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weft.router.beam_search import Hit
from weft.router.tree import LeafWords, Node
from weft.router.words import words_of

ALIKE = 0.5
"""Two tools with at least this share of common words, in names and in everything, are
near-copies."""
_SHOWN = 2
_PATIENCE = 400
"""How many hits are examined for variety: in a catalogue of 10,000, the copies of three tools."""


def diversified(hits: Iterable[Hit], leaves: Mapping[str, Node], top: int) -> list[Hit]:
    """At most `top` hits: in order, but third and later copies of one kind come last."""
    chosen: list[Hit] = []
    spared: list[Hit] = []
    traits: list[LeafWords] = []
    for seen, hit in enumerate(hits):
        if len(chosen) == top or seen == _PATIENCE:
            break
        own = _traits(leaves[hit.id])
        if sum(_are_alike(own, other) for other in traits) >= _SHOWN:
            spared.append(hit)
            continue
        chosen.append(hit)
        traits.append(own)
    return (chosen + spared)[:top]


def _traits(leaf: Node) -> LeafWords:
    if leaf.traits is None:
        assert leaf.item is not None
        everything = frozenset(term for term in leaf.weights if term[0] not in "#@")
        leaf.traits = frozenset(words_of(leaf.item.name)), everything
    return leaf.traits


def _are_alike(one: LeafWords, other: LeafWords) -> bool:
    (name, words), (other_name, other_words) = one, other
    same_name = name <= other_name or other_name <= name or _jaccard(name, other_name) >= ALIKE
    return same_name and _jaccard(words, other_words) >= ALIKE


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    either = len(one | other)
    return len(one & other) / either if either else 1.0
