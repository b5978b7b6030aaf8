"""The index finds what the plain search over all texts finds, to the last bit of each score."""

from __future__ import annotations

import random
import sqlite3
from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from tests.folded import envelope, result, turn
from tests.plain_search import PlainSearch

from weft.readmodel.fold import Fold
from weft.readmodel.model import records_of
from weft.readmodel.postings import SEGMENT
from weft.readmodel.search import IndexSearch
from weft.readmodel.store import open_writer
from weft.readmodel.unsealed_postings import UnsealedCache
from weft.terms import words
from weft_schemas.events import Event

WORDS = [f"w{number}" for number in range(40)]
COUNT = 2 * SEGMENT + 90


def written(seed: int) -> list[str]:
    """Texts whose first words are common and whose last are rare."""
    chance = random.Random(seed)
    weights = [1 / (rank + 1) ** 1.5 for rank in range(len(WORDS))]
    return [" ".join(chance.choices(WORDS, weights, k=chance.randint(1, 30))) for _ in range(COUNT)]


class Session:
    """One that is folded once; the last items are results, which are enveloped twice."""

    def __init__(self, seed: int) -> None:
        self.texts = written(seed)
        events: list[Event] = [turn(f"u{at}", text) for at, text in enumerate(self.texts)]
        events.append(result("r", "raw"))
        for at, run in enumerate(("", "again")):
            events.append(envelope(COUNT + 1, "r", f"{self.texts[at]} w39", run=run))
        self.sealed, self.unsealed = open_writer(":memory:"), sqlite3.connect(":memory:")
        fold = Fold(self.sealed)
        fold.apply(records_of(events, "t", "s"))
        self.sealed.backup(self.unsealed)
        fold.seal()
        self.documents = [words(text) for text in (*self.texts, *self._enveloped())]

    def _enveloped(self) -> list[str]:
        return [f"{self.texts[at]} w39" for at in range(2)]

    def both(self, at: int, is_sealed: bool) -> tuple[IndexSearch, PlainSearch]:
        """The index and the plain search at a sequence."""
        db = self.sealed if is_sealed else self.unsealed
        # One document for each turn, none for the result, one for each envelope.
        count = at if at <= COUNT else max(COUNT, at - 1)
        gone = frozenset({COUNT}) if at >= COUNT + 3 else frozenset[int]()
        index = IndexSearch(db, 1, at, UnsealedCache().of(db, 1))
        return index, PlainSearch(self.documents[:count], gone)


@cache
def folded(seed: int) -> Session:
    """Not at import: every process of a run imports this module, and one runs it."""
    return Session(seed)


@given(
    session=st.sampled_from(range(3)).map(folded),
    at=st.integers(0, COUNT + 3) | st.just(COUNT + 3),
    terms=st.lists(st.sampled_from([*WORDS, "absent"]), max_size=12),
    is_sealed=st.booleans(),
    limit=st.integers(0, 60),
    postings=st.sampled_from([0, 1, 40, 500, 20_000]),
    weights=st.none() | st.dictionaries(st.sampled_from(WORDS), st.floats(0, 3), max_size=12),
)
def test_the_index_finds_what_the_plain_search_finds(
    session: Session,
    at: int,
    terms: list[str],
    is_sealed: bool,
    limit: int,
    postings: int,
    weights: dict[str, float] | None,
) -> None:
    index, plain = session.both(at, is_sealed)
    assert index.best(terms, limit, postings, weights) == plain.best(
        terms, limit, postings, weights
    )
