"""BM25 over one session at one sequence, with bounded work: the rarest terms are read first, and no
more than a fixed number of postings in all, the newest first. Every statistic comes from the
session's documents at or before the sequence read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from heapq import nlargest
from math import log

from weft.readmodel.postings import LENGTHS, MAX_TERM, SEGMENT, WIDTH, frequency
from weft.readmodel.sql import statements

MAX_POSTINGS = 3_000
"""Postings that one search reads: about a millisecond, whatever the session's length."""
K1 = 1.2
B = 0.75
"""The usual BM25 constants (Robertson and Zaragoza 2009, section 3.4)."""

_sql = statements("postings")


class _Term:
    """A term's postings in the session: those of the tail, and how to read the sealed ones."""

    def __init__(self, text: str, frequency: int, tail: list[tuple[int, int, int]]) -> None:
        self.text = text
        self.documents = frequency
        self.tail = tail


def best_documents(
    db: sqlite3.Connection, session: int, terms: Sequence[str], at: int, limit: int
) -> list[tuple[int, float]]:
    """The best documents with their scores, best first, ties by newer document."""
    count, words = extent(db, session, at)
    if not count or limit <= 0:
        return []
    tail = db.execute(_sql.tail, (session, count // SEGMENT * SEGMENT)).fetchall()
    tail = [row for row in tail if row[0] < count]
    unique = sorted({term[:MAX_TERM] for term in terms})
    found = [_look_up(db, session, term, count, tail) for term in unique]
    scores: dict[int, float] = {}
    room = MAX_POSTINGS
    norms = _norms(words / count)
    for term in sorted(found, key=lambda term: (term.documents, term.text)):
        if room <= 0:
            break
        idf = log(1 + (count - term.documents + 0.5) / (term.documents + 0.5))
        for document, times, length in _read(db, session, term, count, room):
            gain = idf * times * (K1 + 1) / (times + norms[length])
            scores[document] = scores.get(document, 0.0) + gain
        room -= term.documents
    for (document,) in db.execute(_sql.superseded, (session, at)):
        scores.pop(document, None)
    best = nlargest(limit, ((score, document) for document, score in scores.items()))
    return [(document, score) for score, document in best]


def extent(db: sqlite3.Connection, session: int, at: int) -> tuple[int, int]:
    """How many documents the session had at a sequence, and their length in words."""
    last = db.execute(_sql.last_document, (session,)).fetchone()
    if last is None:
        return 0, 0
    document, version, words = last
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


def _norms(average: float) -> list[float]:
    return [K1 * (1 - B + B * length / average) for length in LENGTHS]


def _look_up(
    db: sqlite3.Connection, session: int, term: str, count: int, tail: list[tuple[int, int, str]]
) -> _Term:
    """How many documents hold the term; of the last segment, only those that count."""
    hits = [
        (document, min(times, 255), length)
        for document, length, written in reversed(tail)
        if (times := frequency(written, term))
    ]
    newest = db.execute(_sql.postings, (session, term, count // SEGMENT)).fetchone()
    sealed = 0
    if newest is not None:
        segment, before, entries = newest
        places = entries[::WIDTH]
        sealed = before + sum(segment * SEGMENT + place < count for place in places)
    return _Term(term, sealed + len(hits), hits)


def _read(
    db: sqlite3.Connection, session: int, term: _Term, count: int, room: int
) -> list[tuple[int, int, int]]:
    """At most `room` postings (document, times, length code), the newest first."""
    postings = term.tail[:room]
    if len(postings) == term.documents:
        return postings
    rows = db.execute(_sql.postings, (session, term.text, count // SEGMENT))
    for segment, _, entries in rows:
        base = segment * SEGMENT
        packed = list(
            zip(
                (base + place for place in entries[::WIDTH]),
                entries[1::WIDTH],
                entries[2::WIDTH],
                strict=True,
            )
        )
        packed.reverse()
        postings += packed if base + SEGMENT <= count else [p for p in packed if p[0] < count]
        if len(postings) >= room:
            break
    rows.close()
    return postings[:room]
