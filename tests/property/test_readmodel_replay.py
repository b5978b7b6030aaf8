"""Whatever the log holds: any batches give the same rows, and as_of gives the world of that
time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import open_writer, snapshot
from weft.readmodel.view import SessionView
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    ErasedEvent,
    FactsEvent,
    MemoryFact,
    Origin,
    ParkedEvent,
    RevivedEvent,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules

SESSIONS = ("s1", "s2")
KEYS = ("tz", "name")
ids = st.sampled_from([f"i{number}" for number in range(8)])
words = st.sampled_from(["alpha", "beta gamma", "gamma", "delta alpha alpha"])
sources = st.integers(1, 30)
runs = st.sampled_from(["", "", "r1", "r2"])

items = st.builds(
    ContextItem,
    id=ids,
    kind=st.sampled_from([ItemKind.USER_TURN, ItemKind.TOOL_RESULT, ItemKind.DOC_SNIPPET]),
    text=words,
    parent_id=st.none() | st.just("parent"),
    metadata=st.sampled_from([{}, {"scope": "user:1"}]),
)


def origins(worker: str) -> st.SearchStrategy[Origin]:
    return st.builds(Origin, sequence=sources, worker=st.just(worker), run=runs)


facts = st.builds(
    FactsEvent,
    origin=origins("memory"),
    scope=st.just("user:1"),
    facts=st.lists(
        st.builds(MemoryFact, key=st.sampled_from(KEYS), value=words, sources=st.just(()))
        | st.builds(
            MemoryFact, st.sampled_from(KEYS), st.just(""), st.just(()), negates=st.tuples(words)
        ),
        max_size=2,
        unique_by=lambda fact: fact.key,
    ).map(tuple),
)
episodes = st.builds(
    EpisodeEvent,
    origin=origins("memory"),
    episode_id=st.sampled_from(["e1", "e2"]),
    scope=st.just("user:1"),
    text=words,
    tokens=st.just(2),
    encoding=st.just("cl100k_base"),
    first_sequence=sources,
    last_sequence=sources,
)
envelopes = st.builds(
    EnvelopeEvent, origin=origins("firewall"), envelope=st.builds(ResultEnvelope, words)
)
derived = st.one_of(
    st.builds(
        SummaryEvent,
        origin=origins("summarizer"),
        text=words,
        tokens=st.just(1),
        encoding=st.just("cl100k_base"),
    ),
    episodes,
    st.builds(
        ParkedEvent,
        origin=st.builds(Origin, sequence=sources, worker=st.just("firewall")),
        code=st.just("invalid_input"),
        error=st.just("no"),
        attempts=st.just(3),
    ),
    st.builds(
        RevivedEvent,
        origin=st.builds(Origin, sequence=sources, worker=st.just("firewall")),
        drop=st.booleans(),
    ),
    st.builds(SessionClosedEvent, last_sequence=st.just(0) | sources),
)
policies = st.builds(
    ContextPolicy,
    session=st.none() | st.sampled_from(SESSIONS),
    firewall=st.sampled_from(
        [FirewallRules(), FirewallRules(untrusted_kinds=(ItemKind.DOC_SNIPPET,))]
    ),
)
garbage = st.just(None)
# Many facts and envelopes, so that they meet; little of what ends a stretch.
kinds_of_event = st.one_of(
    items, items, items, facts, facts, facts, envelopes, envelopes, derived, policies, garbage
)
events = st.tuples(st.sampled_from(SESSIONS), kinds_of_event)
erasures = st.tuples(st.sampled_from(SESSIONS), st.builds(ErasedEvent, st.sampled_from(SESSIONS)))


@st.composite
def logs(draw: st.DrawFn, erasing: bool = False) -> list[LogRecord]:
    """Mostly, what is derived names a source that its session has."""
    drawn = draw(st.lists(events | erasures if erasing else events, min_size=10, max_size=40))
    log: list[LogRecord] = []
    known: dict[str, list[int]] = {session: [] for session in SESSIONS}
    for sequence, (session, event) in enumerate(drawn, 1):
        if event is None:
            log.append(LogRecord(sequence, f"w.in.0.t.{session}.user_turn", 0, b"garbage"))
            continue
        origin = getattr(event, "origin", None)
        if origin is not None and origin.sequence % 8 and known[session]:
            source = known[session][origin.sequence % len(known[session])]
            event = replace(event, origin=replace(origin, sequence=source))
        log += records_of([event], "t", session, sequence, sequence)
        known[session].append(sequence)
    return log


def folded(log: list[LogRecord], cuts: list[int]) -> ReadModel:
    """The log folded in batches that end at `cuts`, each batch started by a new process."""
    db = open_writer(":memory:")
    start = 0
    for cut in [*sorted(cuts), len(log)]:
        Fold(db).apply(log[max(0, start - 2) : cut])
        start = max(start, cut)
    return ReadModel(db)


def seen(view: SessionView) -> tuple[object, ...]:
    """Everything that a compile can read."""
    return (
        view.item_count(),
        view.recent(50),
        view.of_kind(ItemKind.TOOL_RESULT, 50),
        view.search(["alpha", "beta", "gamma", "delta"], 50),
        view.children(["parent"]),
        view.by_ids(["i0", "i3"]),
        view.pending(),
        view.facts(["user:1", f"session:{view.session}"]),
        view.episodes(["user:1"], 9),
        view.scopes(),
        view.policy(),
    )


@settings(max_examples=25)
@given(logs(erasing=True), st.lists(st.integers(0, 40), max_size=6))
def test_any_batches_give_the_same_read_model(log: list[LogRecord], cuts: list[int]) -> None:
    whole, cut = ReadModel.in_memory(log), folded(log, cuts)
    assert content_digest(whole.db) == content_digest(cut.db)
    for session in SESSIONS:
        assert seen(whole.view("t", session)) == seen(cut.view("t", session))


@settings(max_examples=25)
@given(logs(), st.integers(0, 40))
def test_as_of_is_the_world_at_that_sequence(log: list[LogRecord], at: int) -> None:
    now = ReadModel.in_memory(log)
    then = ReadModel.in_memory([record for record in log if record.sequence <= at])
    for session in SESSIONS:
        assert seen(now.view("t", session, at)) == seen(then.view("t", session))


@settings(max_examples=25)
@given(logs(erasing=True), st.integers(1, 40))
def test_a_reader_that_stays_sees_what_a_fresh_one_does(log: list[LogRecord], past: int) -> None:
    db = open_writer(":memory:")
    fold, stays = Fold(db), ReadModel(db)
    for record in log:
        fold.apply([record])
        for session in SESSIONS:
            fresh = seen(ReadModel(db).view("t", session))
            then = min(past, record.sequence)
            past_fresh = seen(ReadModel(db).view("t", session, then))
            with snapshot(db):
                assert seen(stays.view("t", session)) == fresh
                assert seen(stays.view("t", session, then)) == past_fresh


@settings(max_examples=25)
@given(logs(erasing=True), st.sampled_from(SESSIONS))
def test_after_an_erasure_it_is_as_if_the_session_had_not_been(
    log: list[LogRecord], session: str
) -> None:
    tombstone = records_of([ErasedEvent(session)], "t", "s1", len(log) + 1)
    left = [record for record in log if f".{session}." not in record.subject]
    erased = ReadModel.in_memory(log + tombstone)
    purged = ReadModel.in_memory(left + tombstone)
    assert content_digest(erased.db) == content_digest(purged.db)
    for other in SESSIONS:
        scopes = ["user:1", f"session:{other}"]
        facts = erased.view("t", other).facts(scopes)
        assert facts == purged.view("t", other).facts(scopes)


@settings(max_examples=30)
@given(logs(), st.integers(1, 5))
def test_the_digest_is_of_content_not_of_sequence_numbers(log: list[LogRecord], gap: int) -> None:
    only_items = [record for record in log if record.subject.startswith("w.in.")]
    spread = [
        LogRecord(record.sequence * gap + 3, record.subject, 7, record.payload)
        for record in only_items
    ]
    assert content_digest(ReadModel.in_memory(only_items).db) == content_digest(
        ReadModel.in_memory(spread).db
    )
