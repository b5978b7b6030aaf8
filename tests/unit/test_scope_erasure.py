"""A scope is erased out of sessions that go on: what is left is as if it had never been there."""

from collections.abc import Sequence

import msgspec
from tests.folded import envelope, faults, result, turn

from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest
from weft.readmodel.model import ReadModel, records_of
from weft.terms import analyse
from weft_schemas.envelope import ArtifactRef, CleanBody
from weft_schemas.events import (
    EpisodeEvent,
    Event,
    FactsEvent,
    MemoryFact,
    Origin,
    ParkedEvent,
    ScopeErasedEvent,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.grants import Grant, ScopeGrants
from weft_schemas.items import ContextItem, ItemKind

MINE, OTHER = {"scope": "user:u1"}, {"scope": "user:u2"}
CANARY = "zanzibarquetzal"
LONG = "\n\n".join(
    f"Paragraph {n} of {CANARY} tells of shipment {n} to Rotterdam." for n in range(60)
)


def fact(source: int, id: str, key: str, scope: str, value: str = CANARY) -> FactsEvent:
    return FactsEvent(Origin(source, id, "memory"), scope, (MemoryFact(key, value, (id,)),))


def summary(closing: int, scope: str, first: int, last: int, of: str = CANARY) -> SummaryEvent:
    return SummaryEvent(
        Origin(closing, worker="summarizer"), f"told of {of}", 4, "cl100k_base",
        scope=scope, first_sequence=first, last_sequence=last,
    )  # fmt: skip


def episode(summary: int, scope: str, first: int, last: int, of: str = CANARY) -> EpisodeEvent:
    return EpisodeEvent(
        Origin(summary, worker="memory"), f"e{summary}", scope, f"told of {of}", 4,
        "cl100k_base", first, last,
    )  # fmt: skip


HANDLE = "art:aaaaaaaaaa"
GONE, KEPT = True, False
LOG: list[tuple[str, Event, bool]] = [
    ("a", turn("u1", "hello there"), KEPT),  # 1
    ("a", turn("u2", f"my name is {CANARY}", metadata=MINE), GONE),  # 2
    ("a", fact(2, "u2", "user_name", "user:u1"), GONE),  # 3
    ("a", turn("u3", "my name is Mia", metadata=OTHER), KEPT),  # 4
    ("a", fact(4, "u3", "user_name", "user:u2", "Mia"), KEPT),  # 5
    ("a", result("r1", LONG, metadata=MINE), GONE),  # 6
    (
        "a",
        envelope(
            6, "r1", CANARY, artifacts=(ArtifactRef(HANDLE, "text/plain", 9),),
            clean=CleanBody(characters=len(LONG), tokens=900),
        ),
        GONE,
    ),  # 7
    ("a", result("r2", "Results of others.\n\n" + LONG.replace(CANARY, "mango")), KEPT),  # 8
    ("a", envelope(8, "r2", "first"), KEPT),  # 9
    ("a", envelope(8, "r2", "mango is fine", run="again", passthrough=True), KEPT),  # 10
    ("b", result("s1", f"slice of {CANARY}", metadata={"slice_of": HANDLE}), GONE),  # 11
    ("b", envelope(11, "s1", f"slice of {CANARY}", passthrough=True), GONE),  # 12
    ("b", turn("b1", "another session"), KEPT),  # 13
    ("a", turn("u2", "something else under the name that was taken"), GONE),  # 14
    ("a", SummaryEvent(Origin(2, "u2", "summarizer"), CANARY, 1, "cl100k_base"), GONE),  # 15
    ("a", SummaryEvent(Origin(4, "u3", "summarizer"), "a name", 2, "cl100k_base"), KEPT),  # 16
    ("a", SessionClosedEvent(14), KEPT),  # 17
    ("a", summary(17, "session:a", 1, 14), GONE),  # 18
    ("a", episode(18, "session:a", 1, 14), GONE),  # 19
    ("a", ParkedEvent(Origin(6, "r1", "summarizer"), "died", "it died", 3), GONE),  # 20
    ("c", turn("c1", "only here to be left alone", metadata=OTHER), KEPT),  # 21
    ("c", SessionClosedEvent(21), KEPT),  # 22
    ("c", summary(22, "user:u2", 21, 21, "little"), KEPT),  # 23
    ("c", episode(23, "user:u2", 21, 21, "little"), KEPT),  # 24
    ("d", turn("d1", f"all of it is {CANARY}", metadata=MINE), GONE),  # 25
    ("a", ContextItem("t", ItemKind.TOOL_CALL, metadata={"tool_name": "ship"}), KEPT),  # 26
    ("a", turn("u4", "my name is Mia still", metadata=OTHER), KEPT),  # 27
]  # fmt: skip


def records(log: Sequence[tuple[str, Event, bool]]) -> list[LogRecord]:
    return [
        records_of([event], "t", session, sequence, 7_000)[0]
        for sequence, (session, event, _) in enumerate(log, 1)
    ]


def stone(sequence: int) -> LogRecord:
    return records_of([ScopeErasedEvent("user:u1", "asked for")], "t", "x", sequence)[0]


def left(log: Sequence[LogRecord]) -> list[LogRecord]:
    gone = {sequence for sequence, (_, _, is_gone) in enumerate(LOG, 1) if is_gone}
    return [record for record in log if record.sequence not in gone]


def text_of(read: ReadModel) -> str:
    return "\n".join(read.db.iterdump()).lower()


def test_what_is_left_is_what_a_log_without_it_comes_to() -> None:
    log = records(LOG)
    live = ReadModel.in_memory([*log, stone(100)])
    built = ReadModel.in_memory([*left(log), stone(100)])
    assert content_digest(live.db) == content_digest(built.db)
    for session in "abc":
        one, other = (read.view("t", session) for read in (live, built))
        assert one.item_count() == other.item_count()
        assert [(r.id, r.ordinal, r.whole) for r in one.span(0, 99)] == [
            (r.id, r.ordinal, r.whole) for r in other.span(0, 99)
        ]
        for query in ("name mia", "shipment rotterdam", "mango", "hello", "ship", CANARY):
            terms = list(analyse(query))
            assert one.search(terms, 20) == other.search(terms, 20), query
        scopes = ("user:u1", "user:u2", f"session:{session}")
        assert one.facts(scopes) == other.facts(scopes)
        assert one.episodes(scopes, 9) == other.episodes(scopes, 9)
    assert CANARY not in text_of(live)
    assert "mango" in text_of(live)
    assert live.view("t", "d").item_count() == 0


def test_what_comes_late_of_what_was_erased_counts_for_nothing() -> None:
    late = [
        ("a", fact(2, "u2", "user_name", "user:u1"), GONE),
        ("a", summary(17, "user:u1", 1, 14), GONE),
        ("a", envelope(6, "r1", CANARY, run="late"), GONE),
    ]
    log = [*records(LOG), stone(100)]
    log += [records_of([event], "t", s, 100 + n)[0] for n, (s, event, _) in enumerate(late, 1)]
    read = ReadModel.in_memory(log)
    assert CANARY not in text_of(read)
    assert {one.code for one in faults(read.db)} == {"contradiction"}


def test_what_names_the_scope_later_is_remembered_anew() -> None:
    new = turn("n", "my name is Ada", metadata=MINE)
    later = [new, fact(101, "n", "user_name", "user:u1", "Ada")]
    read = ReadModel.in_memory([*records(LOG), stone(100), *records_of(later, "t", "e", 101)])
    (known,) = read.view("t", "e").facts(["user:u1"])
    assert known.value == "Ada"
    assert read.view("t", "e").scopes() == ["session:e", "user:u1"]


def test_a_scope_that_was_refused_is_erased_with_what_named_it() -> None:
    grants = ScopeGrants((Grant("u2", ("user:u2",)),))
    made = records_of([grants, turn("x", CANARY, metadata=MINE), turn("y")], "t", "a")
    made[1] = msgspec.structs.replace(made[1], subject=f"{made[1].subject}.u2")
    read = ReadModel.in_memory([*made, stone(9)])
    assert [row.id for row in read.view("t", "a").span(0, 9)] == ["y"]


def test_other_tenants_keep_their_scope_of_that_name() -> None:
    others = records_of([turn("x", CANARY, metadata=MINE)], "other", "a")
    read = ReadModel.in_memory([*others, stone(9)])
    assert read.view("other", "a").item_count() == 1
