"""What a decision shows where no tool has a word of the query, as when it is in another language:
some tools of the catalogue, said to be unranked. Without them a model would have no tool at all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, zip_longest

from weft.router.words import words_of
from weft_schemas.routing import RouteReply, RouteRequest, SelectableItem

NOTHING_ASKED = "nothing is asked: query is empty; say what a tool is wanted for"
_TODO = (
    "say it in the words of the catalogue, give its tools tags or examples in your language, or "
    "rank by meaning too (WEFT_ROUTER_ENCODER)"
)


def unranked(
    items: Iterable[SelectableItem], request: RouteRequest, top: int
) -> list[SelectableItem]:
    """At most `top` items: those that were used, in the request's order, then one of each
    namespace in turn, in the catalogue's order. Those that just failed come last."""
    passing = {item.id: item for item in items}
    used = [passing[name] for name in dict.fromkeys(request.used) if name in passing]
    failed, known = frozenset(request.failed), {item.id for item in used}
    others = (item for item in passing.values() if item.id not in known)
    groups = _by_namespace((item for item in others if item.id not in failed), top)
    first = chain((item for item in used if item.id not in failed), _in_turn(groups))
    last = (item for item in passing.values() if item.id in failed)
    return list(islice(chain(first, last), top))


def reason_for(
    shown: Collection[SelectableItem], passing: int, request: RouteRequest, query: str
) -> str:
    """What happened, and what to do. `passing` tools pass the request's filters."""
    if not passing and not (request.namespaces or request.tags or request.exclude):
        return "nothing fits: the catalogue is empty"
    if not passing:
        return "nothing fits: no tool passes the filters (namespaces, tags, exclude)"
    if not words_of(query):
        return (
            f"nothing fits: query has no word that says what is wanted; {len(shown)} of {passing} "
            "tools are shown, not ranked: say in words what a tool is wanted for"
        )
    return (
        f"nothing fits: none of {passing} tools has a word of the query; {len(shown)} are shown, "
        f"not ranked: {_TODO}"
    )


def nothing_fits(reply: RouteReply) -> bool:
    """Whether something was asked that nothing fits."""
    return not reply.cards and not is_blank(reply.query)


def is_blank(query: str) -> bool:
    """Whether nothing is asked: a query without a character that can be seen."""
    return not any(char.isprintable() and not char.isspace() for char in query)


def _by_namespace(items: Iterable[SelectableItem], top: int) -> list[list[SelectableItem]]:
    """The items of each outermost namespace. Of a catalogue with more than `top` of them, the first
    of each is enough."""
    groups: dict[str, list[SelectableItem]] = {}
    for item in items:
        groups.setdefault(item.namespace.partition(".")[0].casefold(), []).append(item)
        if len(groups) >= top:
            break
    return list(groups.values())


def _in_turn(groups: list[list[SelectableItem]]) -> Iterator[SelectableItem]:
    for row in zip_longest(*groups):
        yield from (item for item in row if item is not None)
