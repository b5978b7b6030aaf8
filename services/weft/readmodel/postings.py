"""The text index: which documents of a session hold a term, as packed numbers.

A document is one passage of one version of an item's text, numbered within its session in log
order. The newest documents are stored with their terms, unsealed, and a search reads all of these.
Every 256 of them are sealed, when no request waits for them: their postings are appended to the
rows of their terms, one row for each term and block of 4,096 documents.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import accumulate, chain
from math import log2
from typing import NamedTuple

from weft.terms import words

SEGMENT = 256
"""Documents that are sealed together: a search reads all unsealed ones, seldom more."""
UNSEALED = 512
"""Documents of full segments that may stay unsealed: as many as a result of 400 KB has. Sealing
them takes as long as the rest of their fold, and a request need not wait for it."""
BLOCK = 4_096
"""Documents per row of a term: few rows to read for a rare term, none too long to append to."""
WIDTH = 4
"""Bytes of a posting: 16 bits for its place in the block, 8 each for frequency and length code."""
MAX_TIMES = 255
"""The greatest frequency that is stored; in longer texts a term counts no more."""

_FEW = 24
"""Words up to which a text mostly has each once, which is seen sooner than they are counted."""
MAX_TERM = 40
"""Significant characters of a term; longer words are hashes and base64."""

_STEPS = 12
"""Steps per doubling of the length scale: a length is kept to within 3 %."""
LENGTHS = tuple(2 ** (code / _STEPS) for code in range(256))
"""Length in words for each length code."""


def length_code(words: int) -> int:
    """The place of a length in words on the logarithmic scale, 0 to 255."""
    return min(255, round(_STEPS * log2(max(1, words))))


def posting(document: int, times: int, length: int) -> int:
    """A document's posting as a number; `length` is a length code."""
    return (document % BLOCK) << 16 | times << 8 | length


def pack(postings: list[int]) -> bytes:
    return struct.pack(f"<{len(postings)}I", *postings)


def halves(entries: bytes) -> tuple[int, ...]:
    """For each posting its lower half (frequency and length code), then its place."""
    return struct.unpack(f"<{len(entries) * 2 // WIDTH}H", entries)


Postings = defaultdict[str, list[int]]
"""Term → its postings, in order of documents."""
Document = tuple[int, int, list[str], bytes]
"""Its number, its length code, its terms, and how often it has each of them."""


class Passage(NamedTuple):
    """The words of a passage, counted."""

    number: int
    """Within its item, from 0."""
    words: int
    length: int
    """Length code."""
    terms: list[str]
    """Of each word; the first `MAX_TERM` characters count."""
    times: bytes


def counted(passages: Iterable[str]) -> list[Passage]:
    """Those that have words."""
    found = []
    for number, text in enumerate(passages):
        if terms := words(text):
            times: dict[str, int] = dict.fromkeys(terms, 1) if len(terms) <= _FEW else {}
            if len(times) < len(terms):
                times = Counter(terms)
            if max(map(len, times)) > MAX_TERM:
                times = Counter(term[:MAX_TERM] for term in terms)
            counts: Iterable[int] = times.values()
            if len(terms) > MAX_TIMES:
                counts = (min(one, MAX_TIMES) for one in counts)
            length = length_code(len(terms))
            found.append(Passage(number, len(terms), length, list(times), bytes(counts)))
    return found


def invert(document: Document, postings: Postings) -> None:
    """Add a document's postings to those of earlier documents of its block, by term."""
    number, length, terms, times = document
    none, once = posting(number, 0, length), posting(number, 1, length)
    for term, count in zip(terms, times, strict=True):
        # Most are one number, which is then made once.
        postings[term].append(once if count == 1 else none | count << 8)


def pack_all(postings: Postings) -> tuple[dict[str, int], bytes]:
    """The postings of all terms, one behind the other in order of the terms. For each: the byte at
    which they begin, counted from 1 as SQLite does, and their size in the lower 16 bits."""
    terms = sorted(postings)
    lists = [postings[term] for term in terms]
    sizes = [WIDTH * len(one) for one in lists]
    places = zip(terms, accumulate(sizes, initial=1), sizes, strict=False)
    packed = pack(list(chain.from_iterable(lists)))
    return {term: start << 16 | size for term, start, size in places}, packed
