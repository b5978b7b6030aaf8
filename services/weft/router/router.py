"""Router: a routing query in, the cards of the few tools that fit out, through the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.router.cards import card_of, plain
from weft.router.confidence import AMBIGUOUS, THRESHOLD, confidence, evidence_for
from weft.router.difference import CatalogueDiff, difference
from weft.router.fusion import Embeddings, Encoder, fused
from weft.router.search import Found, Hit, search
from weft.router.tree import Tree
from weft.router.tree_builder import MAX_CHILDREN, TreeBuilder
from weft.router.weights import Weights, query_weights, score
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.routing import ChoiceCard, ChoiceGraph, RouteReply, RouteRequest, SelectableItem

SCORER_VERSION = "bm25f-1"
MOST_CARDS = 50
_FAILED = 0.5
"""What is left of the score of a tool that just failed: it stays where nothing else fits."""
_FUSED_FROM = 50
"""Best of each scorer that are joined."""
_REBUILT_FROM = 0.25
"""Share of a catalogue whose change is cheaper to build anew than to put in piece by piece."""


class Router:
    """One catalogue, ready to be asked. Not for several threads at once."""

    def __init__(
        self,
        items: Iterable[SelectableItem],
        *,
        encoder: Encoder | None = None,
        max_children: int = MAX_CHILDREN,
        encoding: str = "cl100k_base",
    ) -> None:
        """Ids must be unique (`faults_of` tells); with an `encoder`, meaning is ranked too."""
        self.items = {item.id: item for item in items}
        self._max_children = max_children
        self._encoding = encoding
        self._tree = self._built()
        self._names: dict[str, list[str]] | None = None
        self._embeddings = Embeddings(encoder) if encoder is not None else None
        if self._embeddings is not None:
            self._embeddings.put(list(self.items.values()))

    def route(self, request: RouteRequest, query: str | None = None) -> RouteReply:
        """The best `top_k` that pass the filters; `query` is the transformed one where there is a
        transformer. Raises `InvalidInput` for a `top_k` out of 1 to 50.

        `catalog_version` and `id` are the service's to fill in.
        """
        if not 1 <= request.top_k <= MOST_CARDS:
            raise InvalidInput(f"top_k is {request.top_k}; ask for 1 to {MOST_CARDS} cards")
        asked = request.query if query is None else query
        weights = query_weights(asked, self._tree.frequencies, len(self.items))
        found = self._found(request, asked, weights)
        hits = found.hits[: request.top_k]
        failed, used = frozenset(request.failed), frozenset(request.used)
        abstain, ambiguous, reason = self._judged(asked, found.hits)
        return RouteReply(
            cards=tuple(self._card(hit, failed, used) for hit in hits),
            catalog=request.catalog,
            catalog_version=0,
            query=asked,
            abstain=abstain,
            ambiguous=ambiguous,
            reason=reason,
            leaves_scored=found.leaves_scored,
            total_leaves=len(self.items),
        )

    def flat(self, query: str, top: int) -> list[Hit]:
        """The ranking by looking at every item: what the graph must agree with."""
        weights = query_weights(query, self._tree.frequencies, len(self.items))
        hits = (Hit(-score(weights, leaf.weights), i) for i, leaf in self._tree.leaves.items())
        return sorted(hit for hit in hits if hit.rank < 0)[:top]

    def update(self, items: Iterable[SelectableItem]) -> CatalogueDiff:
        """Become another version of the catalogue, changing only what differs."""
        newer = {item.id: item for item in items}
        changes = difference(self.items.values(), newer.values())
        moved = [*changes.added, *changes.changed]
        self.items, self._names, previous = newer, None, len(self.items)
        if len(moved) + len(changes.removed) > _REBUILT_FROM * previous:
            self._tree = self._built()
        else:
            for item_id in changes.removed:
                self._tree.remove(item_id)
            for item_id in moved:
                self._tree.add(newer[item_id])
        if self._embeddings is not None:
            for item_id in changes.removed:
                self._embeddings.drop(item_id)
            self._embeddings.put([newer[item_id] for item_id in moved])
        return changes

    def add(self, item: SelectableItem) -> None:
        """Put in one item, or replace the one with its id."""
        self.items[item.id] = item
        self._names = None
        self._tree.add(item)
        if self._embeddings is not None:
            self._embeddings.put([item])

    def remove(self, item_id: str) -> None:
        """Raises `NotFound` for an id that is not there."""
        if self.items.pop(item_id, None) is None:
            raise NotFound(f"item {item_id!r} is not in the catalogue; look at its diff")
        self._names = None
        self._tree.remove(item_id)
        if self._embeddings is not None:
            self._embeddings.drop(item_id)

    def ids_named(self, names: Iterable[str]) -> list[str]:
        """Ids of the items that have one of the names, or one of them as id; sorted."""
        if self._names is None:
            self._names = {}
            for item in self.items.values():
                for name in {item.name, item.id}:
                    self._names.setdefault(name, []).append(item.id)
        return sorted({item_id for name in names for item_id in self._names.get(name, ())})

    def graph(self) -> ChoiceGraph:
        """The graph as it stands."""
        return self._tree.graph()

    def _built(self) -> Tree:
        items = list(self.items.values())
        return Tree(TreeBuilder(self._max_children).build(items), items)

    def _found(self, request: RouteRequest, query: str, weights: Weights) -> Found:
        needed = _facets(request)
        failed = frozenset(request.failed)
        found = search(
            self._tree.root,
            weights,
            _FUSED_FROM if self._embeddings else max(2, request.top_k),
            len(self.items),
            needed,
            frozenset(request.exclude),
            (lambda item_id: _FAILED if item_id in failed else 1.0) if failed else None,
        )
        return found if self._embeddings is None else self._fused(found, request, query, needed)

    def _fused(
        self, found: Found, request: RouteRequest, query: str, needed: Sequence[Sequence[str]]
    ) -> Found:
        assert self._embeddings is not None
        leaves, excluded = self._tree.leaves, set(request.exclude)
        allowed = {
            item_id
            for item_id, leaf in leaves.items()
            if item_id not in excluded
            and all(any(facet in leaf.weights for facet in group) for group in needed)
        }
        near = self._embeddings.nearest(query, _FUSED_FROM, allowed)
        failed = set(request.failed)
        near.sort(key=lambda item_id: item_id in failed)
        lexical = {hit.id: hit for hit in found.hits}
        order = fused([list(lexical), near])
        hits = tuple(lexical.get(item_id, Hit(0.0, item_id)) for item_id in order)
        return Found(hits, found.leaves_scored, found.exact)

    def _judged(self, query: str, hits: Sequence[Hit]) -> tuple[bool, bool, str]:
        """Whether nothing fits, whether two fit alike, and why."""
        if not hits:
            return True, False, "nothing fits: no tool has a word of the query"
        best = hits[0]
        evidence = evidence_for(
            query,
            best.score,
            self._tree.leaves[best.id].weights,
            self._tree.frequencies,
            len(self.items),
        )
        sure = confidence(evidence)
        if sure < THRESHOLD:
            share = f"{evidence.coverage:.0%} of the query"
            return True, False, f"nothing fits: the best has {share}, confidence {sure:.2f}"
        if len(hits) > 1 and hits[1].score >= AMBIGUOUS * best.score > 0:
            first, second = (plain(self.items[hit.id].name)[:60] for hit in hits[:2])
            return False, True, f"{first} and {second} fit alike: ask which is meant"
        return False, False, ""

    def _card(self, hit: Hit, failed: frozenset[str], used: frozenset[str]) -> ChoiceCard:
        item = self.items[hit.id]
        missing = [other for other in item.requires if other not in used]
        notes = [
            "failed just now" if hit.id in failed else "",
            f"needs first: {', '.join(plain(other) for other in missing[:3])}" if missing else "",
        ]
        note = "; ".join(part for part in notes if part)
        return card_of(item, hit.score, note, self._encoding)


def _facets(request: RouteRequest) -> list[list[str]]:
    """Any of the namespaces, and every tag."""
    spaces = [["@ns:" + name.casefold() for name in request.namespaces]]
    return [group for group in spaces if group] + [[f"@tag:{t.casefold()}"] for t in request.tags]
