"""BM25 over one session at one sequence, with bounded work: the rarest terms are read first, and a
fixed number of postings in all, the newest first. All statistics are of the session's documents at
or before that sequence.

`tests/plain_search.py` computes the same from the definition.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

import msgspec

from weft.bm25 import inverse_document_frequency, saturation
from weft.readmodel.postings import BLOCK, LENGTHS, MAX_TERM, WIDTH, halves, pack
from weft.readmodel.store import statements
from weft.readmodel.unsealed_postings import UnsealedPostings

MAX_POSTINGS = 500
"""Postings that one search reads, in .25 ms. Four times as many find the same turns of LoCoMo."""
TELLING = 20
"""The number of weighted terms that are read."""

_sql = statements("postings")


class _Term(msgspec.Struct):
    text: str
    documents: int
    """How many documents hold it."""
    unsealed: list[int]
    """Its postings in unsealed documents, newest first."""
    asked: int
    """How often the query uses it."""


class IndexSearch:
    """Finds the documents of one session at a sequence, which are numbered in log order."""

    def __init__(
        self, db: sqlite3.Connection, session: int, at: int, unsealed: UnsealedPostings
    ) -> None:
        self._db = db
        self._session = session
        self._at = at
        self._unsealed = unsealed
        self._count, self._words = self._extent()
        """The number of the session's documents at that sequence, and of their words."""

    def best(
        self,
        terms: Sequence[str],
        limit: int,
        postings: int = MAX_POSTINGS,
        weights: Mapping[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        """The best documents with their scores, best first, ties by newer document.

        A term that is given twice counts twice. At most `postings` are read. With `weights`, only
        the `TELLING` terms with the greatest weight times rarity are read.
        """
        if not self._count or limit <= 0:
            return []
        found = self._look_up(Counter(term[:MAX_TERM] for term in terms))
        if weights is not None:
            found = self._telling(found, weights)
        found.sort(key=lambda term: (term.documents, term.text))
        scores = self._score(found, postings)
        ranked = sorted(zip(scores.values(), scores, strict=True), reverse=True)
        if self._db.execute(_sql.any_superseded, (self._session, self._at)).fetchone() is not None:
            ranked = list(islice(filter(self._counts, ranked), limit))
        return [(document, score) for score, document in ranked[:limit]]

    def _counts(self, one: tuple[float, int]) -> bool:
        """Whether a document with its score is not superseded."""
        return not self._db.execute(_sql.superseded, (self._session, one[1], self._at)).fetchone()

    def _extent(self) -> tuple[int, int]:
        if self._unsealed.newest is None:
            return 0, 0
        document, version, words = self._unsealed.newest
        if version <= self._at:
            return document + 1, words
        count = bisect_right(range(document), self._at, key=lambda one: self._document(one)[0])
        return (count, self._document(count - 1)[1]) if count else (0, 0)

    def _document(self, number: int) -> tuple[int, int]:
        """A document's version, and the number of words in all documents up to it."""
        found: tuple[int, int] = self._db.execute(_sql.document, (self._session, number)).fetchone()
        return found

    def _look_up(self, wanted: Mapping[str, int]) -> list[_Term]:
        """The terms, with the number of documents that each is in."""
        place = {"session": self._session, "terms": json.dumps(list(wanted))}
        if self._unsealed.first <= self._count:  # all that are sealed count
            sealed = {text: size // WIDTH for text, size in self._db.execute(_sql.lengths, place)}
        else:
            place["newest"] = self._count // BLOCK
            sealed = {
                text: before // WIDTH + _until(newest or b"", self._count % BLOCK)
                for text, before, newest in self._db.execute(_sql.lengths_until, place)
            }
        unsealed = self._unsealed.lookup(wanted, self._count)
        return [
            _Term(text, sealed.get(text, 0) + len(hits), hits, asked)
            for text, asked in wanted.items()
            for hits in (unsealed.get(text, []),)
        ]

    def _telling(self, found: list[_Term], weights: Mapping[str, float]) -> list[_Term]:
        """The terms with the greatest weight times rarity."""
        worth = {term.text: weights.get(term.text, 0.0) * self._rarity(term) for term in found}
        return sorted(found, key=lambda term: (-worth[term.text], term.text))[:TELLING]

    def _rarity(self, term: _Term) -> float:
        return inverse_document_frequency(self._count, term.documents)

    def _score(self, terms: list[_Term], room: int) -> dict[int, float]:
        """Document → score, of those that were read."""
        average = self._words / self._count
        worth = cache(lambda code: saturation(code >> 8, LENGTHS[code & 0xFF], average))
        scores: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            if room <= 0:
                break
            idf = term.asked * self._rarity(term)
            for base, found in self._postings(term, room):
                for code, place in zip(found[::2], found[1::2], strict=True):
                    scores[base + place] += idf * worth(code)
            room -= term.documents
        return scores

    def _postings(self, term: _Term, room: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """At most `room` postings of a term, by block, newest first: the block's first document
        and its postings as `halves` returns them."""
        if term.unsealed:
            yield self._unsealed.base, halves(pack(term.unsealed[:room]))
        room -= len(term.unsealed)
        if room <= 0 or len(term.unsealed) == term.documents:
            return
        place = (self._session, term.text, self._count // BLOCK)
        for block, entries in self._db.execute(_sql.postings, place):
            base = block * BLOCK
            end = _until(entries, self._count - base)
            start = max(end - room, 0)
            yield base, halves(entries[start * WIDTH : end * WIDTH])
            room -= end - start
            if room <= 0:
                break


def _until(entries: bytes, count: int) -> int:
    """The number of a block's postings that belong to its first `count` documents."""
    if count >= BLOCK or not entries:
        return len(entries) // WIDTH
    return bisect_right(range(len(entries) // WIDTH), count - 1, key=lambda at: _place(entries, at))


def _place(entries: bytes, at: int) -> int:
    start = at * WIDTH
    return entries[start + 2] | entries[start + 3] << 8
