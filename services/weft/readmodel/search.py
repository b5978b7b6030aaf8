"""BM25 over one session at one sequence, with bounded work: the rarest terms are read first, and no
more than a fixed number of postings in all, the newest first. Every statistic comes from the
session's documents at or before the sequence read."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, islice, repeat
from operator import add, ge, itemgetter, mul

import msgspec

from weft.bm25 import K1, inverse_document_frequency, saturation
from weft.readmodel.postings import (
    BLOCK,
    LENGTHS,
    MAX_TERM,
    WIDTH,
    halves,
    pack,
)
from weft.readmodel.sql import statements
from weft.readmodel.unsealed_postings import UnsealedCache, UnsealedPostings

MAX_POSTINGS = 500
"""Postings that one search reads: a quarter of a millisecond, whatever the session's length. Twice
and four times as many find the same turns of LoCoMo."""
TELLING = 20
"""Of weighted terms, how many are read."""

_ROUNDING = 1e-9
"""Keeps a document whose bound is exact."""

_sql = statements("postings")


class _Term(msgspec.Struct):
    text: str
    documents: int
    """How many documents hold it."""
    tail: list[int]
    """Its postings in the tail, newest first."""
    asked: int
    """How often the query uses it."""


def best_documents(
    db: sqlite3.Connection,
    session: int,
    terms: Sequence[str],
    at: int,
    limit: int,
    tail: UnsealedPostings | None = None,
    postings: int = MAX_POSTINGS,
    weights: Mapping[str, float] | None = None,
    documents: tuple[int, int] | None = None,
    is_superseded: bool = True,
) -> list[tuple[int, float]]:
    """The best documents with their scores, best first, ties by newer document.

    A term that comes twice counts twice. `tail` is the session's in this snapshot, where the
    caller has it; `postings` are read at most. Where terms have `weights`, only those are
    read whose weight times rarity is greatest. `documents` are as `extent` gives them, where that
    is known; `is_superseded` is false where no document ever was.
    """
    tail = tail or UnsealedCache().of(db, session)
    count, words = extent(db, session, at, tail) if documents is None else documents
    if not count or limit <= 0:
        return []
    wanted = Counter(term[:MAX_TERM] for term in terms)
    found = _look_up(db, session, wanted, count, tail)
    if weights is not None:
        found = _telling(found, weights, count)
    found.sort(key=lambda term: (term.documents, term.text))
    if is_superseded:
        is_superseded = db.execute(_sql.any_superseded, (session, at)).fetchone() is not None
    wanted_best = count if is_superseded else limit
    scores = _score(db, session, found, count, words / count, postings, tail, wanted_best)
    if not is_superseded:
        return _ranked(scores, limit)
    valid = (
        entry
        for entry in _ranked(scores, len(scores))
        if db.execute(_sql.superseded, (session, entry[0], at)).fetchone() is None
    )
    return list(islice(valid, limit))


def _ranked(scores: Mapping[int, float], limit: int) -> list[tuple[int, float]]:
    """The best documents with their scores, ties by newer document. To sort the scores alone and
    compare with one of them takes half of what `heapq.nlargest` does."""
    least = sorted(scores.values())[-limit] if limit < len(scores) else 0.0
    best = list(compress(scores.items(), map(ge, scores.values(), repeat(least))))
    best.sort(key=itemgetter(1, 0), reverse=True)
    return best[:limit]


def extent(
    db: sqlite3.Connection, session: int, at: int, tail: UnsealedPostings
) -> tuple[int, int]:
    """How many documents the session had at a sequence, and their length in words."""
    if tail.newest is None:
        return 0, 0
    document, version, words = tail.newest
    if version <= at:
        return document + 1, words

    def version_of(number: int) -> int:
        found: int = db.execute(_sql.document, (session, number)).fetchone()[0]
        return found

    count = count_until(at, document, version_of)
    if not count:
        return 0, 0
    return count, db.execute(_sql.document, (session, count - 1)).fetchone()[1]


def count_until(at: int, count: int, sequence_of: Callable[[int], int]) -> int:
    """How many of `count` numbered things, in order of sequence, stand at or before `at`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if sequence_of(middle) <= at:
            low = middle + 1
        else:
            high = middle
    return low


def _score(
    db: sqlite3.Connection,
    session: int,
    terms: list[_Term],
    count: int,
    average: float,
    room: int,
    tail: UnsealedPostings,
    limit: int,
) -> dict[int, float]:
    """Of each document that can be among the `limit` best, the sum over its terms: a C loop over
    the postings of a term, and one of Python's over the few documents that have had another."""
    saturation = _Saturation(average)
    weights = [term.asked * _rarity(term, count) for term in terms]
    scores: dict[int, float] = {}
    is_closed = False
    for at, (term, idf) in enumerate(zip(terms, weights, strict=True)):
        if room <= 0:
            break
        if not is_closed:
            hopeful = _hopeful(scores, sum(weights[at:]) * (K1 + 1), limit)
            is_closed = hopeful is not None
            scores = scores if hopeful is None else hopeful
        postings = _postings(db, session, term, count, tail, room)
        room -= term.documents
        if is_closed:
            codes: dict[int, int] = {}
            for base, found in postings:
                codes.update(zip(map(add, repeat(base), found[1::2]), found[::2], strict=True))
            for document in scores.keys() & codes.keys():
                scores[document] += idf * saturation[codes[document]]
            continue
        more: dict[int, float] = {}
        for base, found in postings:
            worths = map(mul, repeat(idf), map(saturation.__getitem__, found[::2]))
            more.update(zip(map(add, repeat(base), found[1::2]), worths, strict=True))
        if len(more) > len(scores):
            scores, more = more, scores
        for document in scores.keys() & more.keys():
            more[document] += scores[document]
        scores.update(more)
    return scores


def _hopeful(scores: dict[int, float], most: float, limit: int) -> dict[int, float] | None:
    """The documents that can still be among the `limit` best where each can gain at most so much;
    null as long as others can, too. (MaxScore: Turtle and Flood 1995.)"""
    if len(scores) < limit:
        return None
    least = sorted(scores.values())[-limit] * (1 - _ROUNDING)
    if most >= least:
        return None
    return dict(compress(scores.items(), map(ge, scores.values(), repeat(least - most))))


def _telling(found: list[_Term], weights: Mapping[str, float], count: int) -> list[_Term]:
    """The terms that tell documents apart and weigh much."""
    worth = {term.text: weights.get(term.text, 0.0) * _rarity(term, count) for term in found}
    return sorted(found, key=lambda term: (-worth[term.text], term.text))[:TELLING]


def _rarity(term: _Term, count: int) -> float:
    """Inverse document frequency."""
    return inverse_document_frequency(count, term.documents)


class _Saturation(dict[int, float]):
    """What a term's frequency in a document is worth, by the lower half of its posting: frequency
    and length code."""

    def __init__(self, average: float) -> None:
        self._average = average

    def __missing__(self, code: int) -> float:
        times = code >> 8
        worth = self[code] = saturation(times, LENGTHS[code & 0xFF], self._average)
        return worth


def _look_up(
    db: sqlite3.Connection,
    session: int,
    wanted: Mapping[str, int],
    count: int,
    tail: UnsealedPostings,
) -> list[_Term]:
    """In how many of the first `count` documents each term is."""
    place = {"session": session, "terms": json.dumps(list(wanted))}
    if tail.first <= count:  # all that are sealed count
        sealed = {text: size // WIDTH for text, size in db.execute(_sql.lengths, place)}
    else:
        place["newest"] = count // BLOCK
        sealed = {
            text: before // WIDTH + _until(newest or b"", count % BLOCK)
            for text, before, newest in db.execute(_sql.lengths_until, place)
        }
    unsealed = tail.holding(wanted, count)
    return [
        _Term(text, sealed.get(text, 0) + len(hits), hits, asked)
        for text, asked in wanted.items()
        for hits in (unsealed.get(text, []),)
    ]


def _until(entries: bytes, count: int) -> int:
    """How many postings of a block are of its first `count` documents."""
    if count >= BLOCK or not entries:
        return len(entries) // WIDTH
    return count_until(count - 1, len(entries) // WIDTH, lambda at: _place(entries, at))


def _place(entries: bytes, at: int) -> int:
    start = at * WIDTH
    return entries[start + 2] | entries[start + 3] << 8


def _postings(
    db: sqlite3.Connection, session: int, term: _Term, count: int, tail: UnsealedPostings, room: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """A term's postings in the first `count` documents, at most `room`, by block with its base,
    newest block first: of each posting the lower half, then the place in the block."""
    if term.tail:
        yield tail.base, halves(pack(term.tail[:room]))
    room -= len(term.tail)
    if room <= 0 or len(term.tail) == term.documents:
        return
    rows = db.execute(_sql.postings, (session, term.text, count // BLOCK))
    for block, entries in rows:
        base = block * BLOCK
        end = _until(entries, count - base)
        start = max(end - room, 0)
        yield base, halves(entries[start * WIDTH : end * WIDTH])
        room -= end - start
        if room <= 0:
            break
