"""Whether a read model keeps what publishers were told, as a pure function over both.

Every publish ended as one of three: acknowledged, refused or unknown. Acknowledged items must be
held exactly once, refused ones never, unknown ones at most once; nothing else may be held, each
session keeps the order of its publisher, and every untrusted item is settled by one envelope.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.events import encode_event
from weft_schemas.items import ContextItem

Outcome = Literal["acknowledged", "refused", "unknown"]


class Attempt(msgspec.Struct, frozen=True):
    """One publish of one item, in the order in which its session's publisher made them."""

    session: str
    item: ContextItem
    outcome: Outcome


class Held(msgspec.Struct, frozen=True):
    """One item as the read model has it, in the order of its session."""

    session: str
    id: str
    hash: bytes
    untrusted: bool
    waiting: bool
    """It waits for an envelope or for the reason why there is none."""
    envelopes: int


def outcome_of(error: WeftError | None) -> Outcome:
    """What a publisher knows of an item after its publish returned or raised."""
    if error is None:
        return "acknowledged"
    return "unknown" if isinstance(error, Unavailable) else "refused"


def faults(attempts: Sequence[Attempt], held: Sequence[Held]) -> list[str]:
    """What is wrong, a line each; nothing where every promise was kept."""
    found = [*_amounts(attempts, held), *_inventions(attempts, held)]
    return [*found, *_disorder(attempts, held), *_unsettled(held)]


def _amounts(attempts: Sequence[Attempt], held: Sequence[Held]) -> Iterable[str]:
    count = Counter((one.session, one.id) for one in held)
    for attempt in attempts:
        found = count[attempt.session, attempt.item.id]
        least = 1 if attempt.outcome == "acknowledged" else 0
        most = 0 if attempt.outcome == "refused" else 1
        if not least <= found <= most:
            name = f"{attempt.session}/{attempt.item.id}"
            yield f"{name} was {attempt.outcome}, is held {found} times"


def _inventions(attempts: Sequence[Attempt], held: Sequence[Held]) -> Iterable[str]:
    sent = {(one.session, one.item.id): encode_event(one.item) for one in attempts}
    for one in held:
        payload = sent.get((one.session, one.id))
        if payload is None:
            yield f"{one.session}/{one.id} was never published"
        elif hashlib.sha256(payload).digest() != one.hash:
            yield f"{one.session}/{one.id} has other content than was published"


def _disorder(attempts: Sequence[Attempt], held: Sequence[Held]) -> Iterable[str]:
    place = {(one.session, one.item.id): number for number, one in enumerate(attempts)}
    sessions: dict[str, list[Held]] = defaultdict(list)
    for one in held:
        if (one.session, one.id) in place:
            sessions[one.session].append(one)
    for session, items in sessions.items():
        for before, after in pairwise(items):
            if place[session, before.id] > place[session, after.id]:
                yield f"{session}/{before.id} stands before {after.id}, it was published later"


def _unsettled(held: Sequence[Held]) -> Iterable[str]:
    for one in held:
        if one.waiting or one.envelopes != one.untrusted:
            state = "waits, " if one.waiting else ""
            yield f"{one.session}/{one.id} is not settled: {state}{one.envelopes} envelopes"


_HELD = """
SELECT s.session, i.id, i.hash, i.untrusted,
    EXISTS (SELECT 1 FROM waits w WHERE w.item = i.sequence AND w.until = (1 << 62) - 1),
    (SELECT count(*) FROM envelopes e WHERE e.item = i.sequence)
FROM items i JOIN sessions s ON s.number = i.session ORDER BY i.session, i.ordinal
"""


def held_in(db: sqlite3.Connection) -> list[Held]:
    """What a read model holds of every session."""
    rows = db.execute(_HELD).fetchall()
    return [Held(a, b, c, bool(untrusted), bool(w), n) for a, b, c, untrusted, w, n in rows]
