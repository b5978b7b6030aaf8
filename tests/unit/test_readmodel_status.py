"""What a read model tells of a tenant costs the same however many sessions it has, and is what its
rows say."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest

from weft.log.record import LogRecord
from weft.readmodel.fold import Fold
from weft.readmodel.model import records_of
from weft.readmodel.status import status
from weft.readmodel.store import OPEN, open_writer
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import (
    EnvelopeEvent,
    ErasedEvent,
    Event,
    Origin,
    ParkedEvent,
    RevivedEvent,
    content_digest,
    encode_event,
)
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.status import Collision, StatusRequest

_COUNTED = """
SELECT count(*), sum(items), sum(duplicates),
    (SELECT count(*) FROM collisions c JOIN sessions o ON o.number = c.session
     WHERE o.tenant = s.tenant AND c.conflict),
    (SELECT count(*) FROM waits w JOIN sessions o ON o.number = w.session
     WHERE o.tenant = s.tenant AND w.until = ?),
    (SELECT count(*) FROM parked p JOIN sessions o ON o.number = p.session
     WHERE o.tenant = s.tenant AND p.revived IS NULL)
FROM sessions s WHERE tenant = ?
"""


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(open_writer(":memory:")) as opened:
        yield opened


def history(seed: int) -> Iterator[LogRecord]:
    """Items of two tenants, some twice, some with other content, results settled, parked and
    revived, and sessions erased."""
    chance = random.Random(seed)
    results: list[tuple[int, str, str]] = []
    for sequence in range(1, 400):
        tenant, session = chance.choice("ab"), f"s{chance.randrange(6)}"
        kind = chance.choice((ItemKind.USER_TURN, ItemKind.TOOL_RESULT))
        event: Event = ContextItem(f"i{chance.randrange(30)}", kind, chance.choice("xy"))
        if results and chance.random() < 0.4:
            at, tenant, session = chance.choice(results)
            origin = Origin(at, "", "firewall", "1")
            made = (
                EnvelopeEvent(origin, ResultEnvelope("x")),
                ParkedEvent(origin, "c", "e", 1),
                RevivedEvent(origin),
            )
            event = chance.choice(made)
        elif kind is ItemKind.TOOL_RESULT:
            results.append((sequence, tenant, session))
        if sequence % 150 == 0:
            event, session = ErasedEvent(session), TENANT_SESSION
        yield from records_of([event], tenant, session, first_sequence=sequence)


def test_ids_of_other_content_are_told_with_the_place_of_what_lost(db: sqlite3.Connection) -> None:
    kept, lost, unheard = (
        ContextItem("a", ItemKind.TOOL_RESULT, text) for text in ("one", "two", "three")
    )
    known = ContextItem("b", ItemKind.USER_TURN, "hello")
    Fold(db).apply(records_of([kept, lost, known], "t", "s"))
    contents = tuple(
        (item.id, content_digest(encode_event(item)))
        for item in (kept, lost, unheard, known, ContextItem("c", ItemKind.USER_TURN, "new"))
    )
    found = status(db, "t", "s", StatusRequest(contents=contents))
    assert found.places == {"a": 1, "b": 3}
    assert found.others == (Collision("s", "a", 2, 1, True), Collision("s", "a", 0, 1, True))
    assert status(db, "t", "s", StatusRequest()).others is msgspec.UNSET


@pytest.mark.parametrize("seed", range(8))
def test_the_totals_are_what_the_rows_say(db: sqlite3.Connection, seed: int) -> None:
    fold = Fold(db)
    for record in history(seed):
        fold.apply([record])
    for tenant in "ab":
        found = status(db, tenant, None, StatusRequest())
        counted = db.execute(_COUNTED, (OPEN, tenant)).fetchone()
        assert (
            found.sessions, found.items, found.duplicates, found.conflicts, found.pending,
            found.parked,
        ) == counted  # fmt: skip
        assert len(found.waiting) == found.pending
        assert len(found.dead_letters) == found.parked
        assert sum(one.conflict for one in found.collisions) == found.conflicts


def _steps(db: sqlite3.Connection, tenant: str) -> int:
    """How many thousand instructions of SQLite's machine the answer takes."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    db.set_progress_handler(count, 10)
    status(db, tenant, None, StatusRequest())
    db.set_progress_handler(None, 0)
    return steps


def test_it_costs_the_same_with_a_hundred_times_the_sessions(db: sqlite3.Connection) -> None:
    fold, cost = Fold(db), []
    sequence = 0
    for count in (20, 2_000):
        while sequence < count:
            item = ContextItem("i", ItemKind.USER_TURN, "hello")
            sequence += 1
            fold.apply(records_of([item], "a", f"s{sequence}", first_sequence=sequence))
        if count == 20:
            again = ContextItem("i", ItemKind.USER_TURN, "other")
            result = ContextItem("r", ItemKind.TOOL_RESULT, "waits")
            fold.apply(records_of([again, result], "a", "s1", first_sequence=21))
            sequence += 2
        cost.append(_steps(db, "a"))
    assert cost[1] < 2 * cost[0]
