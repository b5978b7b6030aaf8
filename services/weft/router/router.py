"""Router: a routing query in, the cards of the few tools that fit out, through the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from weft.model_encodings import DEFAULT_ENCODING
from weft.router.beam_search import BeamSearch, Hit, has_facets
from weft.router.bm25f import WordWeights, query_weights, score
from weft.router.cards import card_of, one_line
from weft.router.catalogue_diff import CatalogueDiff, difference
from weft.router.concepts import Concepts, own_concepts
from weft.router.confidence import AMBIGUOUS, THRESHOLD, Evidence, confidence, evidence_for
from weft.router.diversity import diversified
from weft.router.fusion import Embeddings, Encoder, fused
from weft.router.tree import Tree
from weft.router.tree_builder import MAX_CHILDREN, TreeBuilder
from weft.router.unranked import NOTHING_ASKED, is_blank, nothing_fits, reason_for, unranked
from weft_schemas.errors import InvalidInput
from weft_schemas.routing import (
    UNRANKED,
    ChoiceCard,
    ChoiceGraph,
    RouteReply,
    RouteRequest,
    SelectableItem,
)

SCORER_VERSION = "bm25f-3"
MAX_CARDS = 50
_FAILED = 0.5
"""Factor for the score of a tool that just failed: it remains if nothing else fits."""
_FUSED_FROM = 50
"""How many of the best of each scorer are joined."""
_REBUILT_FROM = 0.25
"""From this share of changed items on, a full rebuild is cheaper than single updates."""


class Router:
    """One catalogue, ready for queries. Not for several threads at once."""

    def __init__(
        self,
        items: Iterable[SelectableItem],
        *,
        encoder: Encoder | None = None,
        max_children: int = MAX_CHILDREN,
        encoding: str = DEFAULT_ENCODING,
        concepts: Concepts | None = None,
    ) -> None:
        """Ids must be unique (`faults_of` checks that); with an `encoder`, items are also ranked by
        meaning. Without `concepts`, those that come with weft are used."""
        self.items = {item.id: item for item in items}
        self._max_children = max_children
        self._encoding = encoding
        self._concepts = own_concepts() if concepts is None else concepts
        self._tree = self._built()
        self._names: dict[str, list[str]] | None = None
        self._embeddings = Embeddings(encoder) if encoder is not None else None
        if self._embeddings is not None:
            self._embeddings.put(list(self.items.values()))

    def route(self, request: RouteRequest, query: str | None = None) -> RouteReply:
        """The best `top_k` that pass the filters; `query` is the transformed one if there is a
        transformer. Raises `InvalidInput` for a `top_k` outside 1 to 50.

        Its caller fills in `catalog_version` and `id`.
        """
        if not 1 <= request.top_k <= MAX_CARDS:
            raise InvalidInput(f"top_k is {request.top_k}; ask for 1 to {MAX_CARDS} cards")
        asked = request.query if query is None else query
        search = self._search(asked, request)
        hits = self._ranked(search, asked, request)
        abstain, ambiguous, reason = self._judged(asked, hits)
        return RouteReply(
            cards=tuple(self._card(hit, request) for hit in hits.shown),
            catalog=request.catalog,
            catalog_version=0,
            query=asked,
            abstain=abstain,
            ambiguous=ambiguous,
            reason=reason,
            leaves_scored=search.leaves_scored,
            total_leaves=len(self.items),
        )

    def answer(self, request: RouteRequest, query: str | None = None) -> RouteReply:
        """As `route`. If no tool has a word of the query, the cards are of tools that pass the
        filters, not ranked: each card and the reason say so, scores are 0, and it abstains."""
        reply = self.route(request, query)
        if not nothing_fits(reply):
            return reply
        passing = self._passing(request)
        shown = unranked((self.items[one] for one in passing), request, request.top_k)
        cards = tuple(self._card(Hit(0.0, one.id), request, UNRANKED) for one in shown)
        reason = reason_for(shown, len(passing), request, reply.query)
        return msgspec.structs.replace(reply, cards=cards, reason=reason)

    def flat(self, query: str, top: int) -> list[Hit]:
        """The same ranking by examining every item: the graph must agree with it."""
        weights = self._weights(query)
        hits = (Hit(-score(weights, leaf.weights), i) for i, leaf in self._tree.leaves.items())
        return diversified(sorted(hit for hit in hits if hit.rank < 0), self._tree.leaves, top)

    def evidence(self, query: str, without: Sequence[str] = ()) -> tuple[Evidence, float]:
        """The evidence for the best tool, and its score; `without` leaves tools out. The abstention
        is calibrated with it."""
        best = next(
            iter(self._search(query, RouteRequest(query, "", exclude=tuple(without)))), None
        )
        if best is None:
            return Evidence(0.0, 0.0, 0.0), 0.0
        return self._evidence(query, best), best.score

    def _evidence(self, query: str, best: Hit) -> Evidence:
        leaf, frequencies = self._tree.leaves[best.id], self._tree.frequencies
        return evidence_for(query, best.score, leaf.weights, frequencies, len(self.items))

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

    def ids_named(self, names: Iterable[str]) -> list[str]:
        """Ids of the items whose name or id is one of the names; sorted."""
        if self._names is None:
            self._names = {}
            for item in self.items.values():
                for name in {item.name, item.id}:
                    self._names.setdefault(name, []).append(item.id)
        return sorted({item_id for name in names for item_id in self._names.get(name, ())})

    def graph(self) -> ChoiceGraph:
        """The current graph."""
        return self._tree.graph()

    def _built(self) -> Tree:
        items = list(self.items.values())
        return Tree(TreeBuilder(self._max_children).build(items), items, self._concepts)

    def _weights(self, query: str) -> WordWeights:
        return query_weights(query, self._tree.frequencies, len(self.items), self._concepts)

    def _search(self, query: str, request: RouteRequest) -> BeamSearch:
        return BeamSearch(
            self._tree.root,
            self._weights(query),
            len(self.items),
            _facets(request),
            frozenset(request.exclude),
            dict.fromkeys(request.failed, _FAILED),
        )

    def _ranked(self, search: BeamSearch, query: str, request: RouteRequest) -> _Ranked:
        looked_at: list[Hit] = []

        def watched() -> Iterator[Hit]:
            for hit in search:
                looked_at.append(hit)
                yield hit

        leaves = self._tree.leaves
        if self._embeddings is None or is_blank(query):
            shown = diversified(watched(), leaves, request.top_k)
            looked_at += islice(search, max(0, 2 - len(looked_at)))
        else:
            lexical = {hit.id: hit for hit in islice(watched(), _FUSED_FROM)}
            order = fused([list(lexical), self._near(query, request)])
            hits = (lexical.get(item_id, Hit(0.0, item_id)) for item_id in order)
            shown = diversified(hits, leaves, request.top_k)
        return _Ranked(shown, looked_at[:2])

    def _near(self, query: str, request: RouteRequest) -> list[str]:
        """Ids by meaning, with those that failed at the end."""
        assert self._embeddings is not None
        near = self._embeddings.nearest(query, _FUSED_FROM, set(self._passing(request)))
        return sorted(near, key=lambda item_id: item_id in request.failed)

    def _passing(self, request: RouteRequest) -> list[str]:
        """Ids of the tools that pass the filters, in the catalogue's order."""
        needed, excluded = _facets(request), set(request.exclude)
        return [
            item_id
            for item_id in self.items
            if item_id not in excluded and has_facets(self._tree.leaves[item_id], needed)
        ]

    def _judged(self, query: str, hits: _Ranked) -> tuple[bool, bool, str]:
        """Whether nothing fits, whether two fit equally well, and why. Only by words: meaning
        always finds something."""
        if is_blank(query):
            return True, False, NOTHING_ASKED
        if not hits.best:
            reason = "" if hits.shown else "nothing fits: no tool has a word of the query"
            return not hits.shown, False, reason
        evidence = self._evidence(query, hits.best[0])
        sure = confidence(evidence)
        if sure < THRESHOLD:
            share = f"{evidence.coverage:.0%} of the query"
            return True, False, f"nothing fits: the best has {share}, confidence {sure:.2f}"
        if len(hits.best) > 1 and hits.best[1].score >= AMBIGUOUS * hits.best[0].score:
            first, second = (one_line(self.items[hit.id].name)[:60] for hit in hits.best)
            return False, True, f"{first} and {second} fit alike: ask which is meant"
        return False, False, ""

    def _card(self, hit: Hit, request: RouteRequest, remark: str = "") -> ChoiceCard:
        item = self.items[hit.id]
        missing = [other for other in item.requires if other not in request.used]
        notes = [
            remark,
            "failed just now" if hit.id in request.failed else "",
            f"needs first: {', '.join(one_line(other) for other in missing[:3])}"
            if missing
            else "",
        ]
        note = "; ".join(part for part in notes if part)
        return card_of(item, hit.score, note, self._encoding)


class _Ranked(msgspec.Struct, frozen=True):
    shown: list[Hit]
    best: list[Hit]
    """The two best by words, copies or not."""


def _facets(request: RouteRequest) -> list[list[str]]:
    """Any of the namespaces, and every tag."""
    spaces = [["@ns:" + name.casefold() for name in request.namespaces]]
    return [group for group in spaces if group] + [[f"@tag:{t.casefold()}"] for t in request.tags]
