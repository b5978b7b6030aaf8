"""What of an event changes in a copy: sequences, handles, scopes, and nothing else."""

import asyncio
from collections.abc import Iterable
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.copies.copy_digest import CopyDigest
from weft.copies.copying import Copier
from weft.copies.export_format import RecordLine, encoded_line, line_of, read_line, record_of
from weft.copies.forking import prefix
from weft.copies.renaming import renamed
from weft.copies.sequences import Places, highest_reference, with_new_sequences
from weft.log.message import Ack, Message
from weft.log.publishing import Publisher
from weft.log.record import LogRecord
from weft.readmodel.model import records_of
from weft_schemas.envelope import ArtifactRef, ResultEnvelope
from weft_schemas.errors import InvalidInput
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    Event,
    FactsEvent,
    Origin,
    SensitivityEvent,
    SessionClosedEvent,
    SummaryEvent,
    encode_event,
)
from weft_schemas.ids import SessionName, artifact_handle
from weft_schemas.items import ContextItem, ItemKind, Sensitivity

OLD, NEW = SessionName("t", "old"), SessionName("t", "new")


def places(**pairs: int) -> Places:
    made = Places()
    for old, new in pairs.items():
        made.add(int(old[1:]), new)
    return made


def envelope(source: int, version: int = 0) -> EnvelopeEvent:
    handle = artifact_handle("t", "old", "i")
    artifacts = (ArtifactRef(handle, "text/plain", 9),)
    origin = Origin(sequence=source, item_id="i", worker="firewall", policy_version=version)
    return EnvelopeEvent(origin, ResultEnvelope("short", artifacts=artifacts))


def test_sequences_follow_their_events() -> None:
    moved = places(_5=50, _7=51, _9=80)
    assert with_new_sequences(envelope(7), moved, same_log=True).origin.sequence == 51  # type: ignore[union-attr]
    closed = with_new_sequences(SessionClosedEvent(last_sequence=8), moved, same_log=True)
    assert closed == SessionClosedEvent(last_sequence=51)
    origin = Origin(sequence=9)
    summary = SummaryEvent(origin, "x", 1, "cl100k_base", first_sequence=6, last_sequence=9)
    made = with_new_sequences(summary, moved, same_log=True)
    assert isinstance(made, SummaryEvent)
    assert (made.first_sequence, made.last_sequence, made.origin.sequence) == (51, 80, 80)


def test_a_closing_at_this_event_stays_so() -> None:
    assert (
        with_new_sequences(SessionClosedEvent(), places(_1=9), same_log=False)
        == SessionClosedEvent()
    )


def test_a_policy_is_the_same_in_one_log_and_unknown_in_another() -> None:
    for same_log, version in ((True, 3), (False, 0)):
        made = with_new_sequences(envelope(7, version=3), places(_7=9), same_log=same_log)
        assert made.origin.policy_version == version  # type: ignore[union-attr]


def test_an_event_needs_all_that_it_names_first() -> None:
    origin = Origin(sequence=3)
    episode = EpisodeEvent(origin, "e", "s", "x", 1, "cl100k_base", 1, 8)
    forged = msgspec.structs.replace(episode, first_sequence=12)
    named = [envelope(7), envelope(7, version=9), SessionClosedEvent(4), episode, forged]
    assert [highest_reference(event) for event in named] == [7, 9, 4, 8, 12]
    assert highest_reference(ContextItem("i", ItemKind.USER_TURN)) == 0


class Taken:
    """Stores what it is given, from sequence 100 on."""

    def __init__(self) -> None:
        self.records: list[LogRecord] = []

    async def publish_many(self, messages: Iterable[Message]) -> list[Ack]:
        before = len(self.records)
        self.records += [
            LogRecord(100 + number, "w.in.0.t.new.user_turn", 1, one.payload, one.message_id)
            for number, one in enumerate(messages, before)
        ]
        return [Ack(one.sequence) for one in self.records[before:]]


def named_sequences() -> st.SearchStrategy[Event]:
    some = st.integers(1, 12)
    origins = st.builds(Origin, sequence=some, policy_version=some)
    spans = {"first_sequence": some, "last_sequence": some}
    return st.one_of(
        st.just(ContextItem("i", ItemKind.USER_TURN, "hello")),
        st.builds(SessionClosedEvent, last_sequence=some),
        st.builds(SensitivityEvent, origins, st.just(Sensitivity.INTERNAL)),
        st.builds(SummaryEvent, origins, st.just("x"), st.just(1), st.just("cl100k_base"), **spans),
    )


@given(st.lists(st.tuples(st.integers(1, 3), named_sequences()), max_size=8))
def test_a_copy_is_like_its_original_whatever_its_events_name(
    steps: list[tuple[int, Event]],
) -> None:
    records, sequence, taken = list[LogRecord](), 0, Taken()
    for step, event in steps:
        sequence += step
        records.append(LogRecord(sequence, "w.in.0.t.old.user_turn", 1, encode_event(event)))

    async def copied() -> None:
        copier = Copier(cast(Publisher, taken), {}, same_log=False, source="/weft/import")
        for record in records:
            await copier.copy(record, OLD, NEW)
        await copier.flush()

    asyncio.run(copied())
    assert likeness(taken.records, NEW) == likeness(records, OLD)


def test_places_between_known_ones() -> None:
    moved = places(_5=50, _7=51)
    assert [moved.get(5), moved.get(6)] == [50, None]
    assert [moved.at_or_before(4), moved.at_or_before(6), moved.at_or_before(99)] == [0, 50, 51]
    assert [moved.at_or_after(1), moved.at_or_after(6), moved.at_or_after(99)] == [50, 51, 51]
    assert Places().at_or_after(3) == 0


def test_a_renamed_sessions_handles_and_scope_are_its_own() -> None:
    made = renamed(envelope(7), OLD, NEW)
    assert isinstance(made, EnvelopeEvent)
    (before,) = envelope(7).envelope.artifacts
    handle = artifact_handle("t", "new", "i", before.handle.encode())
    assert made.envelope.artifacts[0].handle == handle != artifact_handle("t", "new", "i")
    facts = FactsEvent(Origin(sequence=1), "session:old", ())
    assert renamed(facts, OLD, NEW).scope == "session:new"  # type: ignore[union-attr]


def test_a_users_scope_stays_unless_the_copy_keeps_to_itself() -> None:
    facts = FactsEvent(Origin(sequence=1), "user:42", ())
    assert renamed(facts, OLD, NEW) == facts
    own = renamed(facts, OLD, NEW, own_memory=True)
    assert own.scope == "session:new"  # type: ignore[union-attr]


def history() -> list[LogRecord]:
    events: list[Event] = [
        ContextItem("i", ItemKind.TOOL_RESULT, "one"),
        ContextItem("j", ItemKind.TOOL_RESULT, "two"),
        envelope(1),
        SummaryEvent(Origin(sequence=3), "of the envelope", 3, "cl100k_base"),
    ]
    return records_of(events, "t", "old")


def test_a_prefix_is_chosen_by_source_and_takes_what_came_of_it_later() -> None:
    assert [record.sequence for record in prefix(history(), 1)] == [1, 3, 4]
    assert [record.sequence for record in prefix(history(), 2)] == [1, 2, 3, 4]
    assert list(prefix(history(), 0)) == []


def moved(records: list[LogRecord], name: SessionName, by: int) -> list[LogRecord]:
    """The records as a copy at other sequences would be."""
    all_places = Places()
    for record in records:
        all_places.add(record.sequence, record.sequence + by)
    events = [
        renamed(with_new_sequences(r.event(), all_places, same_log=False), OLD, name)
        for r in records
    ]
    return records_of(events, name.tenant, name.session, 1 + by)


def likeness(records: list[LogRecord], name: SessionName) -> str:
    found = CopyDigest()
    for record in records:
        found.take(record, name)
    return found.hexdigest()


def test_a_copy_is_like_its_original_wherever_it_stands() -> None:
    original = likeness(history(), OLD)
    assert likeness(moved(history(), NEW, 1_000), NEW) == original
    assert likeness(history()[:3], OLD) != original
    other = [*history()[:3], msgspec.structs.replace(history()[3], payload=b"rubbish")]
    assert likeness(other, OLD) != original


@pytest.mark.parametrize(
    "payload",
    [b'{"type":"item"}', b'{"a":\n1}', b"no json", b"\xff\xfe", b'"\xc3\xa9 \\ud800"', b""],
)
def test_a_line_gives_the_record_back_byte_for_byte(payload: bytes) -> None:
    record = LogRecord(7, "w.in.0.t.=YSBi.tool_result", 5, payload, "id")
    text = encoded_line(line_of(record))
    assert text.count(b"\n") == 1
    line = read_line(text, 1)
    assert isinstance(line, RecordLine)
    assert record_of(line, "t") == (record, SessionName("t", "a b"))


def test_a_line_that_is_none_is_named() -> None:
    with pytest.raises(InvalidInput, match="line 12"):
        read_line(b'{"line":"unknown"}', 12)
    with pytest.raises(InvalidInput, match="format 9"):
        read_line(
            b'{"line":"start","tenant":"t","session":null,"through":1,"settled":{},"format":9}', 1
        )
