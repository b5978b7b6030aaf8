"""Raw bodies between their event and their envelope: remembered, or read from the log again."""

import sys

import pytest

from weft.readmodel import raw_bodies
from weft.readmodel.raw_bodies import RawBodies
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import EnvelopeEvent, Origin, encode_event
from weft_schemas.items import ContextItem, ItemKind


class Log:
    """Payloads by sequence, and what was asked for."""

    def __init__(self, **texts: str) -> None:
        self.payloads = {
            int(name.removeprefix("at_")): encode_event(
                ContextItem(name, ItemKind.TOOL_RESULT, text)
            )
            for name, text in texts.items()
        }
        self.asked: list[int] = []

    def read(self, sequence: int) -> bytes | None:
        self.asked.append(sequence)
        return self.payloads.get(sequence)


def test_what_is_remembered_is_taken_once_without_the_log() -> None:
    log = Log(at_1="one")
    bodies = RawBodies(log.read)
    bodies.add(1, "one")
    assert bodies.take(1) == "one"
    assert log.asked == []
    assert bodies.take(1) == "one"
    assert log.asked == [1]


def test_the_oldest_are_forgotten_first_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_bodies, "MAX_BYTES", 2 * raw_bodies.ENTRY_BYTES + 8)
    log = Log(at_1="first", at_2="other")
    bodies = RawBodies(log.read)
    bodies.add(1, "first")
    bodies.add(2, "other")
    assert bodies.take(2) == "other"
    assert log.asked == []
    assert bodies.take(1) == "first"
    assert log.asked == [1]


def test_what_is_taken_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_bodies, "MAX_BYTES", 2 * raw_bodies.ENTRY_BYTES + 10)
    log = Log()
    bodies = RawBodies(log.read)
    for sequence in range(20):
        bodies.add(sequence, "12345678")
        assert bodies.take(sequence) == "12345678"
    bodies.add(90, "12345")
    bodies.add(91, "12345")
    assert (bodies.take(90), bodies.take(91), log.asked) == ("12345", "12345", [])


def test_what_is_dropped_makes_room_and_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_bodies, "MAX_BYTES", 2 * raw_bodies.ENTRY_BYTES + 10)
    log = Log(at_2="other")
    bodies = RawBodies(log.read)
    for sequence, text in enumerate(("first", "other"), 1):
        bodies.add(sequence, text)
    bodies.drop(2)
    bodies.drop(2)
    bodies.add(3, "third")
    assert (bodies.take(1), log.asked) == ("first", [])
    assert (bodies.take(2), log.asked) == ("other", [2])


def test_without_a_log_nothing_is_dropped() -> None:
    bodies = RawBodies()
    bodies.add(1, "one")
    bodies.drop(1)
    assert bodies.take(1) == "one"


@pytest.mark.parametrize("text", ["", "x", "\u6e21" * 300], ids=["empty", "short", "wide"])
def test_what_is_held_is_limited_in_bytes_of_memory(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_bodies, "MAX_BYTES", 100_000)
    bodies = RawBodies(Log().read)
    for sequence in range(2_000):
        bodies.add(sequence, text)
    assert 100 < len(bodies._kept) * (sys.getsizeof(text) + sys.getsizeof(sequence)) < 100_000


def test_without_a_log_bodies_stay_for_a_second_envelope() -> None:
    bodies = RawBodies()
    bodies.add(1, "one")
    assert bodies.take(1) == bodies.take(1) == "one"
    assert bodies.take(2) is None


def test_what_the_log_does_not_hold_or_is_no_item_is_none() -> None:
    log = Log()
    log.payloads[2] = encode_event(EnvelopeEvent(Origin(1), ResultEnvelope("x")))
    log.payloads[3] = b"not json"
    bodies = RawBodies(log.read)
    assert [bodies.take(sequence) for sequence in (1, 2, 3)] == [None, None, None]


def test_nothing_is_kept_over_an_erasure() -> None:
    bodies = RawBodies()
    bodies.add(1, "one")
    bodies.forget()
    assert bodies.take(1) is None
