"""An item's place in the order in which the budget is filled: by value per token."""

from __future__ import annotations

from typing import NamedTuple

from weft.compiler.candidates.closure import Group
from weft.compiler.compile import Trace
from weft.compiler.selection.offers import Addition
from weft.compiler.selection.steps import Step
from weft.readmodel.rows import ItemRow
from weft.terms import words
from weft_schemas.items import ItemKind

NAMED_WORDS = 5
"""Most words of a query that are named."""


class Standing(NamedTuple):
    """The place of a group among those that competed for the budget."""

    rank: int
    """From 1; 0 if it stands behind all that would fill the budget several times."""
    ranked: int
    best: Addition | None
    """The part of it that is worth most."""


def standing_in(step: Step, group: Group) -> Standing | None:
    """Where a step that filled the budget ranked a group; None if it did not offer it."""
    filling = step.filling
    if filling is None or group.key not in filling.competing:
        return None
    best = filling.best
    rank = list(best).index(group.key) + 1 if group.key in best else 0
    return Standing(rank, len(filling.competing), best.get(group.key))


def standing_of(trace: Trace, standing: Standing, row: ItemRow) -> str:
    """The rank in a sentence, with the words of the query that the item has."""
    ranks = f"By worth per token for {_aim(trace)} it ranks"
    best = standing.best
    if best is None:
        return f"{ranks} below what would fill the budget several times over."
    owner = next(one for one in best.group.rows if one.sequence == best.sequence)
    by = "" if owner.sequence == row.sequence else f", by its {_what(owner)} {owner.id}"
    return f"{ranks} {standing.rank:,} of {standing.ranked:,}{by}.{words_shared(trace, row)}"


def _what(owner: ItemRow) -> str:
    return "call" if owner.kind is ItemKind.TOOL_CALL else "result"


def _aim(trace: Trace) -> str:
    return "the query" if trace.state.query else "this step"


def words_shared(trace: Trace, row: ItemRow) -> str:
    """A sentence about the words of the request's query that an item has, empty without a query.
    The item must be one that the prompt may show."""
    query = trace.state.request.query
    if not query:
        return ""
    asked, stated = frozenset(trace.state.question.terms), frozenset(words(row.readable))
    shared = [
        word.strip(".,;:!?()\"'")
        for word in dict.fromkeys(query.split())
        if not asked.isdisjoint(words(word)) and stated.issuperset(words(word))
    ]
    if not shared:
        return " None of the query's words is in it."
    more = f" and {len(shared) - NAMED_WORDS} more" if len(shared) > NAMED_WORDS else ""
    return f" Words of the query in it: {', '.join(shared[:NAMED_WORDS])}{more}."
