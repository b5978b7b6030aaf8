"""The terms by which a request ranks, made from its query (see `query`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.profiles import EXPANSION_TERMS, MIN_ASKED_TERMS
from weft.terms import analyse, words
from weft_schemas.items import ItemKind

STOP_WORDS = frozenset(
    analyse(
        "a about after all also am an and any are as at be been but by can could did do does done "
        "for from get had has have he her here him his how i if in into is it its just like me "
        "more my no not of on or our out she so some than that the their them then there these "
        "they this to up us very was we were what when where which while who whom whose why will "
        "with would you your s t d ll m re ve don didn doesn isn wasn hasn haven"
    )
)
"""Words too common in English to tell one item from another."""

_NAME = re.compile(r"\b[A-Z][\w'-]*[^\W\d_]")


class Question(msgspec.Struct, frozen=True):
    """A query, understood."""

    text: str
    terms: tuple[str, ...]
    """As `weft.terms` makes them, without stop words, in order of first use."""
    names: frozenset[str]
    """Capitalised words, case-folded: possible names of authors and tools."""
    repeated: tuple[str, ...] = ()
    """Each term as often as the query repeats it: a long query repeats what it is about."""


@lru_cache(maxsize=256)
def understand(text: str) -> Question:
    """The terms and names of a query."""
    asked = analyse(text)
    terms = tuple(term for term in asked if term not in STOP_WORDS)
    repeated = tuple(term for term in terms for _ in range(1, asked[term]))
    names = frozenset(word.casefold().removesuffix("'s") for word in _NAME.findall(text))
    return Question(text, terms or tuple(analyse(text)), names, repeated)


def open_question(groups: Sequence[Group], query: str) -> frozenset[str]:
    """The terms of what the user said last, if the request has no query and nothing has happened
    since; empty if they are so few (`yes, do that`) that they rest on what was said before."""
    newest = groups[-1].rows[0] if groups else None
    if newest is None or newest.kind is not ItemKind.USER_TURN or query:
        return frozenset()
    terms = frozenset(understand(newest.whole).terms)
    return terms if len(terms) >= MIN_ASKED_TERMS else frozenset()


def expansion(
    texts: Sequence[str], question: Question, without: Collection[str]
) -> dict[str, float]:
    """Terms that the best matches share, with their weights: pseudo-relevance feedback, by rank."""
    shared: dict[str, float] = {}
    for rank, text in enumerate(texts):
        found = dict.fromkeys(words(text), 1 / (rank + 2))
        for term in found.keys() & shared.keys():
            found[term] += shared[term]
        shared |= found
    known = STOP_WORDS.union(question.terms, without)
    new = [term for term in shared if term not in known and len(term) > 2]
    new.sort(key=shared.__getitem__, reverse=True)
    return {term: shared[term] for term in new[:EXPANSION_TERMS]}
