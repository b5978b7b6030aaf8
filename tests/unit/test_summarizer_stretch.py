"""The transcript of a stretch: what it covers, and what must not be in it."""

from typing import Any

from weft.summarizer.stretch import Stretch, stretch_of
from weft_schemas.envelope import ResultEnvelope, ResultStatus
from weft_schemas.events import EnvelopeEvent, Event, Origin, SessionClosedEvent, SummaryEvent
from weft_schemas.items import ContextItem, ItemKind, Sensitivity

FLOOR = Sensitivity.CONFIDENTIAL


def user(item_id: str, text: str, **fields: Any) -> ContextItem:
    return ContextItem(item_id, ItemKind.USER_TURN, text, **fields)


def result(item_id: str, text: str = "raw text of the tool", tool: str = "search") -> ContextItem:
    return ContextItem(item_id, ItemKind.TOOL_RESULT, text, metadata={"tool_name": tool})


def enveloped(sequence: int, **fields: Any) -> EnvelopeEvent:
    return EnvelopeEvent(Origin(sequence), ResultEnvelope("what the tool said", **fields))


def stretch(*events: Event, closing: int | None = None) -> Stretch | None:
    """Items of over 1,000 characters are long."""
    numbered = list(enumerate(events, start=1))
    return stretch_of(
        "s1", numbered, closing or len(events), FLOOR, is_long=lambda item: len(item.text) > 1_000
    )


def test_it_tells_who_said_what_in_order() -> None:
    made = stretch(
        user("u1", "Find me\na flight"),
        ContextItem("a1", ItemKind.AGENT_MSG, "Here is one."),
        SessionClosedEvent(),
    )
    assert made is not None
    assert made.transcript == "User: Find me a flight\nAgent: Here is one."
    assert (made.first_sequence, made.last_sequence) == (1, 2)
    assert made.sources == ("u1", "a1")


def test_an_author_is_named() -> None:
    made = stretch(user("u1", "Hello", metadata={"author": "Caroline"}), SessionClosedEvent())
    assert made is not None
    assert made.transcript == "Caroline: Hello"


def test_a_result_leaves_its_tool_and_status_but_none_of_its_text() -> None:
    made = stretch(
        user("u1", "Look"),
        result("r1"),
        result("r2"),
        enveloped(2),
        enveloped(3, status=ResultStatus.ERROR),
        SessionClosedEvent(),
    )
    assert made is not None
    assert made.transcript.endswith("Tools used: search x2 (1 failed).")
    assert "raw text" not in made.transcript
    assert "what the tool said" not in made.transcript


def test_a_result_without_an_envelope_is_named_as_pending() -> None:
    made = stretch(user("u1", "Look"), result("r1"), SessionClosedEvent())
    assert made is not None
    assert made.pending == ("r1",)


def test_a_long_item_without_its_summary_is_pending_where_its_words_are_told() -> None:
    long = "long " * 1_000
    made = stretch(
        user("u1", long),
        user("u2", long),
        user("hidden", long, sensitivity=Sensitivity.CONFIDENTIAL),
        ContextItem("elsewhere", ItemKind.DOC_SNIPPET, long),
        SummaryEvent(Origin(2, "u2"), "It is long.", 4, "cl100k_base"),
        SessionClosedEvent(),
    )
    assert made is not None
    assert made.pending == ("u1",)


def test_items_at_the_floor_are_left_out_and_lower_ones_raise_the_level() -> None:
    made = stretch(
        user("u1", "open"),
        user("u2", "inside", sensitivity=Sensitivity.INTERNAL),
        user("u3", "hush", sensitivity=Sensitivity.CONFIDENTIAL),
        SessionClosedEvent(),
    )
    assert made is not None
    assert "hush" not in made.transcript
    assert made.sources == ("u1", "u2")
    assert made.sensitivity is Sensitivity.INTERNAL


def test_a_tool_whose_result_reaches_the_floor_is_not_named() -> None:
    made = stretch(
        user("u1", "Look"),
        result("r1", tool="salary_lookup"),
        enveloped(2, sensitivity=Sensitivity.RESTRICTED),
        SessionClosedEvent(),
    )
    assert made is not None
    assert "salary" not in made.transcript


def test_it_begins_after_the_closing_before() -> None:
    made = stretch(
        user("u1", "first"), SessionClosedEvent(), user("u2", "second"), SessionClosedEvent()
    )
    assert made is not None
    assert made.sources == ("u2",)


def test_an_item_between_the_last_sequence_and_the_closing_belongs_to_the_next_stretch() -> None:
    events = (
        user("u1", "first"),
        user("u2", "late"),
        SessionClosedEvent(last_sequence=1, reason="idle"),
        SessionClosedEvent(),
    )
    first = stretch(*events[:3])
    second = stretch(*events)
    assert first is not None
    assert second is not None
    assert (first.sources, second.sources) == (("u1",), ("u2",))


def test_a_repeated_item_counts_once() -> None:
    made = stretch(user("u1", "same"), user("u1", "other"), SessionClosedEvent())
    assert made is not None
    assert made.transcript == "User: same"


def test_a_long_item_is_told_by_its_summary() -> None:
    made = stretch(
        user("u1", "long " * 1_000),
        SummaryEvent(Origin(1, "u1"), "It is long.", 4, "cl100k_base"),
        SessionClosedEvent(),
    )
    assert made is not None
    assert made.transcript == "User: It is long."


def test_the_scope_is_the_one_that_the_items_name() -> None:
    one = stretch(user("u1", "a", metadata={"scope": "user:42"}), user("u2", "b"))
    two = stretch(
        user("u1", "a", metadata={"scope": "user:42"}),
        user("u2", "b", metadata={"scope": "user:43"}),
    )
    assert one is not None
    assert two is not None
    assert (one.scope, two.scope) == ("user:42", "session:s1")


def test_a_closing_without_items_has_no_stretch() -> None:
    assert stretch(user("u1", "a"), SessionClosedEvent(), SessionClosedEvent()) is None
