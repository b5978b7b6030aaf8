"""What one session taught stands in the header of another of its scope, and of no other."""

from typing import Any

import pytest

from weft.compiler.compile import compile_pack
from weft.log.record import LogRecord
from weft.memory.derive import WORKER, episode_of, facts_of_item
from weft.readmodel.model import ReadModel, records_of
from weft.summarizer.derive import summary_of_session
from weft.summarizer.stretch import stretch_of
from weft.summarizer.summarizer import ExtractiveSummarizer
from weft_schemas.compile import CompileRequest
from weft_schemas.events import Event, FactsEvent, Origin, SessionClosedEvent
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import Phase, SummaryRules

SCOPE = {"scope": "user:42"}


def turn(item_id: str, text: str, **fields: Any) -> ContextItem:
    return ContextItem(item_id, ItemKind.USER_TURN, text, **fields)


class Log:
    """Events of several sessions, with what the workers derive right behind each."""

    def __init__(self) -> None:
        self.records: list[LogRecord] = []

    def add(self, session: str, event: Event) -> int:
        sequence = len(self.records) + 1
        self.records += records_of([event], "acme", session, sequence)
        if isinstance(event, ContextItem):
            origin = Origin(sequence, event.id, WORKER)
            facts = facts_of_item(session, event, event.text, origin)
            if isinstance(facts, FactsEvent):
                self.add(session, facts)
        return sequence

    def close(self, session: str) -> None:
        closing = self.add(session, SessionClosedEvent())
        events = [(r.sequence, r.event()) for r in self.records if r.address().session == session]
        stretch = stretch_of(session, events, closing, Sensitivity.CONFIDENTIAL)
        assert stretch is not None
        origin = Origin(closing, "", "summarizer")
        summary = summary_of_session(
            stretch, origin, SummaryRules(), ExtractiveSummarizer(), "cl100k_base"
        )
        assert summary is not None
        self.add(session, summary)
        episode = episode_of(session, summary, Origin(closing, "", WORKER))
        assert episode is not None
        self.add(session, episode)

    def prompt(self, session: str, as_of: int | None = None) -> str:
        view = ReadModel.in_memory(self.records).view("acme", session, as_of)
        return compile_pack(view, CompileRequest(Phase.ANSWER, query="timezone")).pack.prompt


@pytest.fixture
def log() -> Log:
    """Session a teaches, b shares its scope, c is by itself."""
    made = Log()
    made.add("a", turn("a1", "Hello, my timezone is UTC.", metadata=SCOPE))
    made.add("b", turn("b1", "When is it?", metadata=SCOPE))
    made.add("c", turn("c1", "When is it?"))
    return made


def test_a_fact_stands_in_every_session_of_its_scope(log: Log) -> None:
    assert "user_timezone=UTC" in log.prompt("b")
    assert "user_timezone" not in log.prompt("c")


def test_a_newer_value_supersedes_and_the_old_one_is_seen_in_the_past(log: Log) -> None:
    before = len(log.records)
    log.add("b", turn("b2", "My timezone is CET now.", metadata=SCOPE))
    assert "user_timezone=CET" in log.prompt("a")
    assert "user_timezone=UTC" not in log.prompt("a")
    assert "user_timezone=UTC" in log.prompt("b", as_of=before)


def test_a_negated_fact_stands_in_no_session_of_its_scope_and_another_value_stays(log: Log) -> None:
    log.add("b", turn("b2", "I live in Berlin.", metadata=SCOPE))
    log.add("a", turn("a2", "I don't live in Rome anymore.", metadata=SCOPE))
    assert "user_location=Berlin" in log.prompt("a")
    before = len(log.records)
    log.add("a", turn("a3", "I don't live in Berlin anymore.", metadata=SCOPE))
    assert "user_location" not in log.prompt("b")
    assert "user_location=Berlin" in log.prompt("a", as_of=before)


def test_one_allergy_of_several_is_withdrawn_however_its_end_is_told(log: Log) -> None:
    log.add("b", turn("b2", "I'm allergic to peanuts and milk.", metadata=SCOPE))
    assert "user_allergy_peanuts=peanuts" in log.prompt("a")
    log.add("b", turn("b3", "I no longer have a peanut allergy.", metadata=SCOPE))
    assert "user_allergy_peanuts" not in log.prompt("a")
    assert "user_allergy_milk=milk" in log.prompt("a")


def test_what_a_user_says_never_replaces_what_the_application_gave(log: Log) -> None:
    given = "user_location=Berlin"
    log.add("a", ContextItem("f1", ItemKind.MEMORY_FACT, given, metadata=SCOPE))
    log.add("b", turn("b2", "I live in Munich.", metadata=SCOPE))
    both = "user_location=Berlin (from f1), the user said later: Munich (from b2)"
    assert both in log.prompt("b")
    log.add("b", turn("b3", "I don't live in Munich. I don't live in Berlin.", metadata=SCOPE))
    assert "user_location=Berlin (from f1), the user said later: not Berlin" in log.prompt("b")
    before = len(log.records)
    newer = ContextItem("f2", ItemKind.MEMORY_FACT, "user_location=Hamburg", metadata=SCOPE)
    log.add("a", newer)
    assert "user_location=Hamburg (from f2);" in log.prompt("b").replace("\n", ";")
    assert "said later" not in log.prompt("b")
    assert "not Berlin" in log.prompt("b", as_of=before)


def test_a_closed_session_is_an_episode_of_its_scope(log: Log) -> None:
    log.add("a", turn("a2", "Book the harbour tour in Porto.", metadata=SCOPE))
    log.close("a")
    assert "harbour tour in Porto" in log.prompt("b")
    assert "Porto" not in log.prompt("c")


def test_a_sensitive_item_teaches_no_header(log: Log) -> None:
    secret = turn("a3", "My user id is mia_42.", metadata=SCOPE, sensitivity=Sensitivity.RESTRICTED)
    log.add("a", secret)
    log.close("a")
    assert "mia_42" not in log.prompt("b")
