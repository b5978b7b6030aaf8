"""What each event does to the read model, one rule a test."""

from __future__ import annotations

import pytest

from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.status import artifact, faults, sessions, status
from weft.readmodel.store import open_writer
from weft.readmodel.terms import analyse
from weft_schemas.envelope import ExtractedFact, ResultEnvelope
from weft_schemas.errors import ConfigurationError, NotFound
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    ErasedEvent,
    Event,
    FactsEvent,
    MemoryFact,
    Origin,
    ParkedEvent,
    RevivedEvent,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.ids import artifact_handle
from weft_schemas.items import BodyRef, ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, FirewallRules
from weft_schemas.routing import Catalog, SelectableItem
from weft_schemas.status import StatusRequest


def model(*events: Event) -> ReadModel:
    """Events of tenant t, session s, as sequences 1, 2, …"""
    return ReadModel.in_memory(records_of(events, "t", "s"))


def turn(id: str, text: str = "", **fields: object) -> ContextItem:
    return ContextItem(id, ItemKind.USER_TURN, text or f"turn {id}", **fields)  # type: ignore[arg-type]


def result(id: str, text: str = "raw output", **fields: object) -> ContextItem:
    return ContextItem(id, ItemKind.TOOL_RESULT, text, **fields)  # type: ignore[arg-type]


def envelope(source: int, id: str, summary: str, run: str = "", **fields: object) -> EnvelopeEvent:
    origin = Origin(source, id, "firewall", "1", run=run)
    return EnvelopeEvent(origin, ResultEnvelope(summary, **fields))  # type: ignore[arg-type]


def fact(source: int, id: str, key: str, value: str, scope: str = "u", run: str = "") -> FactsEvent:
    origin = Origin(source, id, "memory", "1", run=run)
    return FactsEvent(origin, scope, (MemoryFact(key, value, (id,)),))


def found(read: ReadModel, text: str, as_of: int | None = None) -> list[int]:
    view = read.view("t", "s", as_of)
    return [match.sequence for match in view.search(list(analyse(text)), 10)]


def values(read: ReadModel, as_of: int | None = None) -> dict[str, str]:
    return {fact.key: fact.value for fact in read.view("t", "s", as_of).facts(["u"])}


def codes(read: ReadModel) -> list[str]:
    return [fault.code for fault in faults(read.db)]


def of_tenant(read: ReadModel, session: str | None = None):
    return status(read.db, "t", session, StatusRequest())


def test_items_stand_in_log_order_with_ordinals_from_zero() -> None:
    rows = model(turn("a"), turn("b"), turn("c")).view("t", "s").recent(2)
    assert [(row.id, row.sequence, row.ordinal) for row in rows] == [("c", 3, 2), ("b", 2, 1)]


def test_the_first_item_with_an_id_wins_and_another_content_is_a_conflict() -> None:
    read = model(turn("a", "first"), turn("a", "second"))
    assert [row.text for row in read.view("t", "s").recent(9)] == ["first"]
    told = of_tenant(read)
    assert (told.conflicts, told.duplicates) == (1, 0)
    assert [(c.item_id, c.sequence, c.first_sequence) for c in told.collisions] == [("a", 2, 1)]


def test_the_same_item_again_is_a_duplicate_and_changes_nothing() -> None:
    once, twice = model(turn("a")), model(turn("a"), turn("a"))
    assert of_tenant(twice).duplicates == 1
    assert content_digest(once.db) == content_digest(twice.db)


def test_collisions_of_a_span_are_what_a_publisher_asks_for() -> None:
    read = model(turn("a"), turn("b"), turn("a"), turn("b"), turn("b", "other"))
    asked = status(read.db, "t", "s", StatusRequest(first=4, last=5, ids=("a", "x")))
    assert [(c.sequence, c.conflict) for c in asked.collisions] == [(5, True), (4, False)]
    assert asked.places == {"a": 1}


def test_the_same_id_in_another_session_is_another_item() -> None:
    one = records_of([turn("a")], "t", "s")
    two = records_of([turn("a", "other")], "t", "s2", first_sequence=2)
    read = ReadModel.in_memory(one + two)
    assert [row.text for row in read.view("t", "s2").recent(9)] == ["other"]
    assert of_tenant(read).conflicts == 0


def test_a_child_may_come_before_its_parent() -> None:
    view = model(turn("child", parent_id="late"), turn("late")).view("t", "s")
    assert [row.id for row in view.children(["late"])] == ["child"]
    assert [row.id for row in view.by_ids(["late", "child"])] == ["child", "late"]


def test_of_an_untrusted_item_there_is_no_text_until_its_envelope() -> None:
    secret = "zanzibar"
    read = model(result("r", secret, metadata={"tool_name": "find", "note": secret}))
    row = read.view("t", "s").recent(1)[0]
    assert (row.text, row.pending, row.metadata) == ("", True, {"tool_name": "find"})
    assert secret not in "\n".join(read.db.iterdump())
    assert [row.id for row in read.view("t", "s").pending()] == ["r"]


def test_an_envelope_gives_an_untrusted_item_its_text() -> None:
    read = model(result("r"), envelope(1, "r", "in short", sensitivity=Sensitivity.INTERNAL))
    row = read.view("t", "s").recent(1)[0]
    assert (row.text, row.pending, row.version) == ("in short", False, 2)
    assert row.sensitivity is Sensitivity.INTERNAL
    assert read.view("t", "s").pending() == []


def test_before_its_envelope_an_item_is_pending_for_ever() -> None:
    read = model(result("r"), turn("x"), envelope(1, "r", "in short"))
    then = read.view("t", "s", as_of=2)
    assert [row.id for row in then.pending()] == ["r"]
    assert then.rows([1])[0].text == ""


def test_of_two_envelopes_of_one_run_the_first_counts() -> None:
    read = model(result("r"), envelope(1, "r", "first"), envelope(1, "r", "second"))
    assert read.view("t", "s").rows([1])[0].text == "first"


def test_a_later_run_supersedes_from_its_own_sequence_on() -> None:
    read = model(result("r"), envelope(1, "r", "old words"), envelope(1, "r", "new text", "run"))
    assert read.view("t", "s").rows([1])[0].text == "new text"
    assert read.view("t", "s", as_of=2).rows([1])[0].text == "old words"
    assert (found(read, "old"), found(read, "new")) == ([], [1])
    assert (found(read, "old", 2), found(read, "new", 2)) == ([1], [])


def test_live_work_that_comes_after_a_named_run_is_late() -> None:
    read = model(result("r"), envelope(1, "r", "rerun", "run"), envelope(1, "r", "late"))
    assert read.view("t", "s").rows([1])[0].text == "rerun"


def test_an_enveloped_result_is_found_by_its_facts() -> None:
    facts = (ExtractedFact("invoice.number", "INV-77", "r"),)
    assert found(model(result("r"), envelope(1, "r", "paid", facts=facts)), "INV-77") == [1]


def test_an_envelope_s_count_is_taken_in_the_same_encoding_and_made_in_another() -> None:
    same = model(
        result("r"), envelope(1, "r", "in short", summary_tokens=99, encoding="cl100k_base")
    )
    other = model(
        result("r"), envelope(1, "r", "in short", summary_tokens=99, encoding="o200k_base")
    )
    assert same.view("t", "s").rows([1])[0].tokens == 99
    assert other.view("t", "s").rows([1])[0].tokens == 2


@pytest.mark.parametrize(
    "event",
    [
        envelope(7, "r", "from the future"),
        envelope(2, "r", "itself"),
        envelope(1, "other", "another item's"),
        envelope(-1, "r", "before the log"),
        envelope(1 << 70, "r", "beyond numbers"),
    ],
)
def test_an_envelope_without_its_item_is_ignored_and_noted(event: EnvelopeEvent) -> None:
    read = model(result("r"), event)
    assert read.view("t", "s").rows([1])[0].pending
    assert codes(read) == ["contradiction"]


def test_an_envelope_on_another_session_s_subject_touches_neither() -> None:
    own = records_of([result("r")], "t", "s")
    foreign = records_of([turn("x"), envelope(1, "r", "forged")], "t", "s2", first_sequence=2)
    read = ReadModel.in_memory(own + foreign)
    assert read.view("t", "s").rows([1])[0].pending
    assert codes(read) == ["contradiction"]


def test_the_policy_in_force_says_which_kinds_are_untrusted() -> None:
    strict = ContextPolicy(firewall=FirewallRules(untrusted_kinds=(ItemKind.DOC_SNIPPET,)))
    snippet = ContextItem("d", ItemKind.DOC_SNIPPET, "fetched")
    later = ContextItem("e", ItemKind.DOC_SNIPPET, "fetched too")
    view = model(snippet, strict, later, result("r", "trusted now")).view("t", "s")
    assert [row.text for row in view.span(0, 9)] == ["fetched", "", "trusted now"]


def test_the_newest_policy_of_the_session_goes_before_the_tenant_s() -> None:
    read = model(
        ContextPolicy("tenant"), ContextPolicy("session", session="s"), ContextPolicy("tenant 2")
    )
    found = [read.view("t", "s", at).policy() for at in (0, 1, 2, 3)]
    assert [(version, policy.name) for version, policy in found] == [
        (0, "default"),
        (1, "tenant"),
        (2, "session"),
        (2, "session"),
    ]
    assert read.view("t", "else").policy()[0] == 3


def test_the_newest_version_of_a_catalogue_at_the_sequence_read() -> None:
    one, two = (Catalog("c", (SelectableItem(id, id),)) for id in ("a", "b"))
    read = model(one, two)
    assert read.view("t", "s").catalog("c") == (2, two)
    assert read.view("t", "s", 1).catalog("c") == (1, one)
    assert read.view("t", "s").catalog("none") is None


def test_a_summary_stands_beside_the_text() -> None:
    short = SummaryEvent(Origin(1, "a", "summarizer", "1"), "short", 1, "cl100k_base")
    row = model(turn("a", "long text"), short).view("t", "s").rows([1])[0]
    assert (row.text, row.summary, row.summary_version) == ("long text", "short", 2)


def test_a_newer_fact_supersedes_and_the_old_one_stays_for_as_of() -> None:
    read = model(turn("a"), fact(1, "a", "tz", "UTC"), turn("b"), fact(3, "b", "tz", "CET"))
    assert values(read) == {"tz": "CET"}
    assert values(read, 3) == {"tz": "UTC"}
    assert values(read, 1) == {}


def test_which_fact_is_newer_is_a_matter_of_its_source() -> None:
    read = model(turn("a"), turn("b"), fact(2, "b", "tz", "CET"), fact(1, "a", "tz", "UTC"))
    assert values(read) == {"tz": "CET"}


def test_a_rerun_withdraws_what_the_run_before_it_learned() -> None:
    again = FactsEvent(Origin(1, "a", "memory", "2", run="r"), "u", ())
    read = model(turn("a"), fact(1, "a", "tz", "UTC"), again)
    assert values(read) == {}
    assert values(read, 2) == {"tz": "UTC"}


def test_after_a_withdrawal_the_value_before_is_in_force_again() -> None:
    again = FactsEvent(Origin(3, "b", "memory", "2", run="r"), "u", ())
    read = model(turn("a"), fact(1, "a", "tz", "UTC"), turn("b"), fact(3, "b", "tz", "CET"), again)
    assert (values(read, 4), values(read)) == ({"tz": "CET"}, {"tz": "UTC"})


def test_facts_of_a_new_envelope_replace_those_of_the_old_one() -> None:
    read = model(
        result("r"),
        envelope(1, "r", "one"),
        fact(2, "r", "a", "1"),
        envelope(1, "r", "two", "run"),
        fact(4, "r", "b", "2"),
    )
    assert values(read) == {"b": "2"}
    assert values(read, 4) == {"a": "1"}


def test_facts_are_seen_in_their_scope_alone_and_in_all_its_sessions() -> None:
    one = records_of([turn("a"), fact(1, "a", "tz", "UTC", "user:1")], "t", "s")
    read = ReadModel.in_memory(one + records_of([turn("b")], "t", "s2", first_sequence=3))
    assert [f.session for f in read.view("t", "s2").facts(["user:1"])] == ["s"]
    assert read.view("t", "s2").facts(["user:2", "session:s2"]) == []
    assert read.view("other", "s2").facts(["user:1"]) == []


def test_the_scopes_of_a_session_are_its_own_and_those_its_items_name() -> None:
    read = model(turn("a", metadata={"scope": "user:1"}), turn("b", metadata={"scope": "p"}))
    assert read.view("t", "s").scopes() == ["session:s", "user:1", "p"]
    assert read.view("t", "s", 1).scopes() == ["session:s", "user:1"]


def test_the_digest_does_not_know_an_episode_by_its_sequence_numbers() -> None:
    def log(gap: int, names: list[str]) -> ReadModel:
        """Two closed stretches, of which each episode tells."""
        places = [place * gap for place in range(1, 7)]
        episodes = [
            EpisodeEvent(
                Origin(places[at], "", "memory", "1"), name, "u", text, 1, "x", places[first],
                places[first],
            )
            for name, text, at, first in zip(names, ("one", "two"), (1, 4), (0, 3), strict=True)
        ]  # fmt: skip
        stretch = [turn("a"), SessionClosedEvent(), episodes[0]]
        events = [*stretch, turn("b"), SessionClosedEvent(), episodes[1]]
        made = records_of(events, "t", "s")
        return ReadModel.in_memory(
            LogRecord(place, record.subject, 7, record.payload)
            for place, record in zip(places, made, strict=True)
        )

    here = log(1, ["s:1", "s:4"])
    assert [e.text for e in here.view("t", "s").episodes(["u"], 5)] == ["two", "one"]
    # Sorted by name the second comes first there: "s:18" < "s:9".
    assert content_digest(log(3, ["s:9", "s:18"]).db) == content_digest(here.db)
    assert content_digest(log(1, ["s:4", "s:4"]).db) != content_digest(here.db)


def test_the_newest_episodes_come_first() -> None:
    def episode(source: int, id: str) -> EpisodeEvent:
        origin = Origin(source, worker="memory")
        return EpisodeEvent(origin, id, "u", f"text {id}", 2, "cl100k_base", 1, source)

    close = SessionClosedEvent()
    read = model(turn("a"), close, episode(2, "e1"), turn("b"), close, episode(5, "e2"))
    assert [e.episode_id for e in read.view("t", "s").episodes(["u"], 5)] == ["e2", "e1"]
    assert [e.episode_id for e in read.view("t", "s", 4).episodes(["u"], 5)] == ["e1"]
    assert [e.episode_id for e in read.view("t", "s").episodes(["u"], 1)] == ["e2"]


def test_a_parked_item_is_settled_and_a_revived_one_waits_again() -> None:
    parked = ParkedEvent(Origin(1, "r", "firewall"), "invalid_input", "too deep", 3)
    revived = RevivedEvent(Origin(1, "r", "firewall"))
    read = model(result("r"), parked, revived, envelope(1, "r", "at last"))
    rows = [read.view("t", "s", at).rows([1])[0] for at in (1, 2, 3, 4)]
    assert [(row.pending, row.parked) for row in rows] == [
        (True, False),
        (False, True),
        (True, False),
        (False, False),
    ]
    assert of_tenant(read).parked == 0


def test_a_dropped_item_stays_parked() -> None:
    parked = ParkedEvent(Origin(1, "r", "firewall"), "invalid_input", "too deep", 3)
    dropped = RevivedEvent(Origin(1, "r", "firewall"), drop=True)
    read = model(result("r"), parked, dropped)
    assert read.view("t", "s").rows([1])[0].parked
    assert [letter.item_id for letter in of_tenant(model(result("r"), parked)).dead_letters] == [
        "r"
    ]
    assert of_tenant(read).parked == 0


def test_what_the_summarizer_parks_keeps_its_text() -> None:
    parked = ParkedEvent(Origin(1, "a", "summarizer"), "unavailable", "no endpoint", 3)
    row = model(turn("a"), parked).view("t", "s").rows([1])[0]
    assert (row.text, row.parked, row.pending) == ("turn a", False, False)


NINES = b"9" * 25


def record(sequence: int, subject: str, payload: bytes) -> LogRecord:
    return LogRecord(sequence, subject, 0, payload)


@pytest.mark.parametrize(
    ("subject", "payload", "code"),
    [
        ("w.in.0.t.s.user_turn", b"not json", "invalid_input"),
        ("w.in.0.t.s.user_turn", b'{"type":"item","id":"a","kind":"user_turn","v":9}', None),
        ("w.in.0.t.s.tool_call", b'{"type":"item","id":"a","kind":"user_turn"}', "invalid_input"),
        ("w.out.0.t.s.user_turn", b'{"type":"item","id":"a","kind":"user_turn"}', "invalid_input"),
        ("w.in.0.t.@tenant.user_turn", b'{"type":"item","id":"a","kind":"user_turn"}', None),
        ("w.in.0.t.s.erased", b'{"type":"erased","session":"s"}', "invalid_input"),
        ("w.out.0.t.s.erased", b'{"type":"erased","session":"s"}', "invalid_input"),
        ("w.in.0.t.=bad!.user_turn", b'{"type":"item","id":"a","kind":"user_turn"}', None),
        ("w.in.0.t.s.user_turn", b'{"type":"item","id":"\\ud800","kind":"user_turn"}', None),
        (
            "w.out.0.t.s.summary",
            b'{"type":"summary","origin":{"sequence":1},"text":"\\ud800","tokens":1,'
            b'"encoding":"cl100k_base"}',
            "invalid_input",
        ),
        (
            "w.in.0.t.s.session_closed",
            b'{"type":"session_closed","last_sequence":99999999999999999999999}',
            "",
        ),
    ],
)
def test_a_record_that_does_not_belong_is_noted_and_skipped(
    subject: str, payload: bytes, code: str | None
) -> None:
    before = records_of([turn("first")], "t", "s")
    after = records_of([turn("last")], "t", "s", first_sequence=3)
    read = ReadModel.in_memory([*before, record(2, subject, payload), *after])
    assert [row.id for row in read.view("t", "s").recent(9)] == ["last", "first"]
    if code != "":
        assert [(fault.sequence, fault.code) for fault in faults(read.db)] == [
            (2, code or faults(read.db)[0].code)
        ]


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        ("in.0.t.s.user_turn", b'"type":"item","id":"n\\u0000","kind":"user_turn"'),
        (
            "in.0.t.s.user_turn",
            b'"type":"item","id":"b","kind":"user_turn","metadata":{"n":1e400}',
        ),
        (
            "in.0.t.s.user_turn",
            b'"type":"item","id":"b","kind":"user_turn","body":{"sha256":"","size":1%s}' % NINES,
        ),
        (
            "out.0.t.s.episode",
            b'"type":"episode","origin":{"sequence":1},"episode_id":"e","scope":"u","text":"t",'
            b'"tokens":-5,"encoding":"x","first_sequence":-%s,"last_sequence":%s' % (NINES, NINES),
        ),
        (
            "out.0.t.s.summary",
            b'"type":"summary","origin":{"sequence":1},"text":"t","tokens":%s,'
            b'"encoding":"cl100k_base"' % NINES,
        ),
        (
            "out.0.t.s.parked",
            b'"type":"parked","origin":{"sequence":1},"code":"","error":"","attempts":%s' % NINES,
        ),
        ("out.0.t.@tenant.erased", b'"type":"erased","session":""'),
        ("out.0.t.@tenant.context_policy", b'"type":"context_policy","session":""'),
        ("out.0.t.@tenant.erased", b'"type":"erased","session":"\\u0000"'),
    ],
)
def test_extreme_values_stop_nothing(place: str, fields: bytes) -> None:
    hostile = record(2, f"w.{place}", b"{%s}" % fields)
    before = records_of([turn("first")], "t", "s")
    after = records_of([turn("last")], "t", "s", first_sequence=3)
    read = ReadModel.in_memory([*before, hostile, *after])
    shown = [row.id for row in read.view("t", "s").recent(9)]
    assert (shown[0], shown[-1]) == ("last", "first")
    assert len(content_digest(read.db)) == 64


def test_an_erased_session_is_gone_and_stays_gone() -> None:
    read = model(
        turn("a"), fact(1, "a", "tz", "UTC"), result("r"), ErasedEvent("s"), turn("b"), turn("a")
    )
    assert read.view("t", "s").item_count() == 0
    assert values(read) == {}
    assert sessions(read.db) == []
    assert "turn" not in [row[0] for row in read.db.execute("SELECT term FROM postings")]
    with pytest.raises(NotFound):
        artifact(read.db, "t", artifact_handle("t", "s", "r"))


def test_erasing_a_session_leaves_what_others_taught() -> None:
    kept = records_of([turn("k"), fact(1, "k", "tz", "UTC")], "t", "kept")
    gone = records_of(
        [turn("g"), fact(3, "g", "tz", "CET"), ErasedEvent("s")], "t", "s", first_sequence=3
    )
    read = ReadModel.in_memory(kept + gone)
    assert [f.value for f in read.view("t", "kept").facts(["u"])] == ["UTC"]
    assert content_digest(read.db, "t", "kept") == content_digest(
        ReadModel.in_memory(kept).db, "t", "kept"
    )


def test_an_erased_tenant_is_gone_and_others_stay() -> None:
    read = ReadModel.in_memory(
        records_of([turn("a"), ContextPolicy("p"), ErasedEvent(None), turn("b")], "t", "s")
        + records_of([turn("o")], "other", "s", first_sequence=5)
    )
    assert read.view("t", "s").item_count() == 0
    assert read.view("t", "s").policy()[0] == 0
    assert read.view("other", "s").item_count() == 1


def test_a_handle_leads_to_the_body() -> None:
    body = BodyRef("0" * 64, 300_000)
    read = model(result("r", metadata={"content_type": "text/csv"}), result("big", "", body=body))
    small = artifact(read.db, "t", artifact_handle("t", "s", "r"))
    assert (small.sequence, small.body, small.content_type) == (1, None, "text/csv")
    assert artifact(read.db, "t", artifact_handle("t", "s", "big")).body == body
    with pytest.raises(NotFound):
        artifact(read.db, "other", artifact_handle("t", "s", "r"))


def test_a_closed_session_is_open_again_with_a_later_item() -> None:
    def is_open(*events: Event) -> bool:
        row = sessions(model(*events).db)[0]
        return row.closed_sequence < row.last_sequence

    assert not is_open(turn("a"), SessionClosedEvent())
    assert is_open(turn("a"), SessionClosedEvent(), turn("b"))
    assert is_open(turn("a"), turn("b"), SessionClosedEvent(1, "idle"))


def test_a_tool_call_is_found_by_its_tool_and_arguments() -> None:
    metadata = {"tool_name": "find_invoice", "arguments": {"number": "INV-9"}}
    call = ContextItem("c", ItemKind.TOOL_CALL, metadata=metadata)
    assert found(model(call), "INV-9") == [1]


def test_a_batch_folded_twice_changes_nothing() -> None:
    db = open_writer(":memory:")
    fold, log = Fold(db), records_of([turn("a"), turn("b")], "t", "s")
    fold.apply(log)
    again = fold.apply(log)
    assert (again.skipped, again.records) == (2, 0)


def test_a_failed_transaction_leaves_nothing_behind() -> None:
    db = open_writer(":memory:")
    fold, log = Fold(db), records_of([turn("a"), turn("b")], "t", "s")

    def fail(step: str) -> None:
        if step == "work":
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fold.apply(log, step=fail)
    assert ReadModel(db).watermark() == fold.checkpoint == 0
    fold.apply(log)
    assert ReadModel(db).view("t", "s").item_count() == 2


def test_a_read_model_counts_in_one_encoding() -> None:
    db = open_writer(":memory:")
    Fold(db, "cl100k_base")
    with pytest.raises(ConfigurationError, match="rebuild"):
        Fold(db, "o200k_base")


def test_deleted_messages_at_the_end_of_the_log_are_passed_over() -> None:
    db = open_writer(":memory:")
    fold = Fold(db)
    fold.apply(records_of([turn("a")], "t", "s"), through=5)
    assert ReadModel(db).watermark() == fold.checkpoint == 5
