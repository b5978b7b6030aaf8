"""What a re-derivation has to do in a session, decided from its records alone."""

from tests.audited import SESSION, envelope, log_of, turn

from weft.readmodel.model import records_of
from weft.rederive.plan import decoded, run_name, sources, standings, to_publish
from weft_schemas.events import (
    EnvelopeEvent,
    FactsEvent,
    MemoryFact,
    Origin,
    SessionClosedEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem

TAKES = {
    "summarizer": lambda event: isinstance(event, ContextItem | SessionClosedEvent),
    "memory": lambda event: isinstance(event, ContextItem | EnvelopeEvent | SummaryEvent),
}
RUN = Origin(1, "u1", "summarizer", "2", run="summarizer/2/0")


def summary(text: str, run: str = "", model: str = "extractive") -> SummaryEvent:
    origin = Origin(1, "u1", "summarizer", "1", run=run)
    return SummaryEvent(origin, text, len(text) // 4, "cl100k_base", model=model)


def standing(*events):
    pairs = decoded(log_of(*events))
    return standings(pairs, "summarizer").get(("summarizer", 1))


def test_the_latest_run_is_what_counts_and_live_work_after_it_is_late():
    found = standing(summary("live"), summary("first run", "a"), summary("again", "a"))
    assert found.current.text == "first run"
    assert found.runs == {"", "a"}
    late = standing(summary("run", "a"), summary("live"), summary("next", "b"))
    assert late.current.text == "next"
    assert late.runs == {"a", "b"}


def test_each_item_is_a_source_once():
    again = turn("u1", "other words under a taken id")
    taken = sources(decoded(log_of(again, SessionClosedEvent())), TAKES["summarizer"])
    assert [one.record.sequence for one in taken] == [1, 2, 3, 5, 7]


def test_memory_reads_the_envelope_that_counts():
    pairs = decoded(log_of(envelope(3, "r1", "newer", "firewall/2/0")))
    taken = [
        one for one in sources(pairs, TAKES["memory"]) if not isinstance(one.event, ContextItem)
    ]
    assert [(one.record.sequence, one.about) for one in taken] == [(6, 3)]


def test_memory_reads_sessions_summaries_and_not_those_of_items():
    of_session = SummaryEvent(Origin(6, "", "summarizer", "1"), "all of it", 3, "cl100k_base")
    pairs = decoded(log_of(SessionClosedEvent(), of_session, summary("of an item")))
    taken = [one.record.sequence for one in sources(pairs, TAKES["memory"])]
    assert taken == [1, 2, 3, 4, 5, 7]


def test_what_cannot_be_decoded_is_no_source():
    broken = records_of(SESSION)
    broken[0] = type(broken[0])(1, broken[0].subject, 0, b"{")
    assert [record.sequence for record, _ in decoded(broken)] == [2, 3, 4, 5]


def test_only_another_result_is_news():
    known = standing(summary("same"))
    assert to_publish(summary("same"), known, RUN) is None
    assert to_publish(summary("other"), known, RUN) == summary("other")
    assert to_publish(summary("same"), None, RUN) == summary("same")


def test_what_a_model_answered_is_always_kept():
    known = standing(summary("same", model="tiny"))
    assert to_publish(summary("same", model="tiny"), known, RUN) is not None


def test_what_is_not_derived_any_more_is_withdrawn_once():
    known = standing(summary("long since"))
    withdrawn = to_publish(None, known, RUN)
    assert isinstance(withdrawn, SummaryEvent)
    assert (withdrawn.text, withdrawn.tokens, withdrawn.origin) == ("", 0, RUN)
    assert to_publish(None, standing(summary("x"), summary("", "a")), RUN) is None
    assert to_publish(None, None, RUN) is None


def test_no_facts_are_news_only_where_there_were_some():
    origin = Origin(1, "u1", "memory", "1")
    facts = FactsEvent(origin, "session:session", (MemoryFact("diet", "veg", ("u1",)),))
    none = FactsEvent(RUN, "session:session", ())
    pairs = decoded(log_of(facts))
    known = standings(pairs, "memory")["memory", 1]
    assert to_publish(none, known, RUN) == FactsEvent(RUN, "session:session", ())
    assert to_publish(none, None, RUN) is None


def test_a_run_is_named_by_what_its_output_depends_on():
    assert run_name("firewall", "3", 17) == "firewall/3/17"
    assert run_name("summarizer", "1", 0, "tiny") == "summarizer/1/0/tiny"
