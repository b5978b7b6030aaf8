"""Fact and episode events: scope, sources, sensitivity and what supersedes what."""

from typing import Any

from weft.memory.derive import episode_of, facts_of_envelope, facts_of_item
from weft_schemas.envelope import ExtractedFact, ResultEnvelope
from weft_schemas.events import EnvelopeEvent, Origin, SummaryEvent
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import MemoryRules


def user(text: str, **fields: Any) -> ContextItem:
    return ContextItem("u1", ItemKind.USER_TURN, text, **fields)


def test_a_fact_carries_its_scope_source_and_sensitivity() -> None:
    item = user(
        "my timezone is UTC", sensitivity=Sensitivity.INTERNAL, metadata={"scope": "user:42"}
    )
    event = facts_of_item("s1", item, item.text, Origin(5, "u1"))
    assert event is not None
    assert event.scope == "user:42"
    (fact,) = event.facts
    assert (fact.key, fact.value, fact.sources) == ("user_timezone", "UTC", ("u1",))
    assert fact.sensitivity is Sensitivity.INTERNAL


def test_two_sessions_of_one_scope_share_it_and_without_one_they_do_not() -> None:
    shared = user("my timezone is UTC", metadata={"scope": "user:42"})
    own = user("my timezone is UTC")
    scopes = [
        event.scope
        for session in ("a", "b")
        for item in (shared, own)
        if (event := facts_of_item(session, item, item.text, Origin(5, "u1")))
    ]
    assert scopes == ["user:42", "session:a", "user:42", "session:b"]


def test_an_author_that_is_no_plain_user_owns_their_keys() -> None:
    for author, key in (("Caroline", "caroline_job"), ("User", "user_job"), ("", "user_job")):
        item = user("my job is nurse", metadata={"author": author})
        event = facts_of_item("s1", item, item.text, Origin(5, "u1"))
        assert event is not None
        assert event.facts[0].key == key


def test_only_user_turns_and_given_facts_are_taken_at_their_word() -> None:
    for kind in ItemKind:
        item = ContextItem("i", kind, "my timezone: UTC")
        event = facts_of_item("s1", item, item.text, Origin(5, "i"))
        assert (event is not None) == (kind in (ItemKind.USER_TURN, ItemKind.MEMORY_FACT))


def test_a_later_run_withdraws_what_it_does_not_find() -> None:
    item = user("nothing to learn")
    assert facts_of_item("s1", item, item.text, Origin(5, "u1")) is None
    event = facts_of_item("s1", item, item.text, Origin(5, "u1", run="again"))
    assert event is not None
    assert event.facts == ()


def test_a_result_teaches_under_its_tools_name_with_the_raised_sensitivity() -> None:
    item = ContextItem("r1", ItemKind.TOOL_RESULT, metadata={"tool_name": "get_user"})
    fact = ExtractedFact("email", "mia@example.org", "r1")
    envelope = ResultEnvelope("…", facts=(fact,), sensitivity=Sensitivity.CONFIDENTIAL)
    given = ("s1", item, EnvelopeEvent(Origin(3), envelope), Origin(3, "r1"))
    event = facts_of_envelope(*given, MemoryRules(results=("get_*",)))
    assert event is not None
    assert event.facts[0].key == "get_user.email"
    assert event.facts[0].sensitivity is Sensitivity.CONFIDENTIAL

    for silent in (MemoryRules(), MemoryRules(results=("search", "get_"))):
        assert facts_of_envelope(*given, silent) is None


def test_a_sessions_summary_becomes_an_episode_and_an_items_does_not() -> None:
    summary = SummaryEvent(
        Origin(9),
        "User: a flight",
        4,
        "cl100k_base",
        scope="user:42",
        first_sequence=1,
        last_sequence=8,
        sources=("u1",),
    )
    episode = episode_of("s1", summary, Origin(9))
    assert episode is not None
    assert (episode.episode_id, episode.scope, episode.text) == (
        "s1:u1",
        "user:42",
        "User: a flight",
    )
    of_item = SummaryEvent(Origin(9, "u1"), "short", 1, "cl100k_base")
    assert episode_of("s1", of_item, Origin(9)) is None
