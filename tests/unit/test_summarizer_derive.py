"""Summary events: when there is one, and what it records."""

import msgspec

from weft import tokens
from weft.summarizer.derive import is_long, summary_of_item, summary_of_session
from weft.summarizer.stretch import stretch_of
from weft.summarizer.summarizer import ExtractiveSummarizer
from weft_schemas.events import Event, Origin, SessionClosedEvent
from weft_schemas.items import BodyRef, ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import SummaryRules

ENCODING = "cl100k_base"
RULES = SummaryRules(item_threshold=50, item_tokens=20, session_tokens=40)
LONG = "The first thing is this. " + " ".join(f"Then came number {n}." for n in range(60))


def summarised(item: ContextItem) -> str | None:
    event = summary_of_item(
        item, item.text, Origin(7, item.id), RULES, ExtractiveSummarizer(), ENCODING
    )
    return event.text if event else None


def test_a_long_trusted_item_gets_a_summary_of_its_sensitivity() -> None:
    item = ContextItem("i", ItemKind.DOC_SNIPPET, LONG, sensitivity=Sensitivity.INTERNAL)
    event = summary_of_item(item, LONG, Origin(7, "i"), RULES, ExtractiveSummarizer(), ENCODING)
    assert event is not None
    assert event.origin.sequence == 7
    assert event.sensitivity is Sensitivity.INTERNAL
    assert event.tokens == tokens.count(event.text, ENCODING) <= 20
    assert (event.model, event.encoding) == ("extractive", ENCODING)


def test_a_short_item_gets_none() -> None:
    assert summarised(ContextItem("i", ItemKind.USER_TURN, "Short.")) is None


def closed(*items: ContextItem) -> list[tuple[int, Event]]:
    return list(enumerate((*items, SessionClosedEvent()), start=1))


def test_a_closed_session_gets_a_summary_that_says_what_it_covers() -> None:
    item = ContextItem("u1", ItemKind.USER_TURN, LONG[:900], metadata={"scope": "user:42"})
    stretch = stretch_of("s1", closed(item), 2, Sensitivity.CONFIDENTIAL)
    assert stretch is not None
    event = summary_of_session(stretch, Origin(2), RULES, ExtractiveSummarizer(), ENCODING)
    assert event is not None
    assert tokens.count(event.text, ENCODING) == event.tokens <= 40
    assert event.scope == "user:42"
    assert event.sources == ("u1",)
    assert (event.first_sequence, event.last_sequence) == (1, 1)
    assert msgspec.json.encode(event)


def test_a_session_of_sensitive_items_alone_gets_none() -> None:
    item = ContextItem("u1", ItemKind.USER_TURN, "hush", sensitivity=Sensitivity.RESTRICTED)
    stretch = stretch_of("s1", closed(item), 2, Sensitivity.CONFIDENTIAL)
    assert stretch is not None
    assert summary_of_session(stretch, Origin(2), RULES, ExtractiveSummarizer(), ENCODING) is None


def test_what_is_long_is_what_gets_a_summary() -> None:
    items = [
        ContextItem("long", ItemKind.USER_TURN, LONG),
        ContextItem("short", ItemKind.USER_TURN, "Short."),
        ContextItem("slice", ItemKind.USER_TURN, LONG, metadata={"slice_of": "art:1"}),
    ]
    assert [is_long(item, item.text, RULES, ENCODING) for item in items] == [True, False, False]
    assert [bool(summarised(item)) for item in items] == [True, False, False]
    apart = ContextItem("apart", ItemKind.USER_TURN, body=BodyRef("0" * 64, 300_000))
    assert is_long(apart, "", RULES, ENCODING)
