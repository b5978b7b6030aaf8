"""When a source is given up, and what the event about it says."""

import pytest

from weft.log.record import LogRecord
from weft.runtime.parking import (
    MOST_ATTEMPTS,
    MOST_DELIVERIES,
    is_final,
    is_reported,
    parked_event,
    parked_subject,
    retry_delay,
    worn_out,
)
from weft_schemas.errors import InvalidInput, Unavailable, UnknownVersion
from weft_schemas.events import encode_event


def record(payload: bytes = b"{}", deliveries: int = 1) -> LogRecord:
    return LogRecord(7, "w.in.3.acme.s1.tool_result", 0, payload, deliveries=deliveries)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def test_retries_wait_longer_each_time_and_never_over_a_minute():
    delays = [retry_delay(n) for n in range(1, 12)]
    assert delays == sorted(delays)
    assert delays[0] == 0.25
    assert delays[-1] == 60.0


@pytest.mark.parametrize("session", ["s1", "=", "x" * 200])
def test_what_says_that_something_is_parked_is_never_parked_itself(session):
    bad = LogRecord(7, f"w.out.3.acme.{session}.summary", 0, b"{")
    assert is_reported(bad, "out")
    assert not is_reported(bad, "in")
    parked = LogRecord(8, f"w.out.3.acme.{session}.parked", 0, b"{")
    assert not is_reported(parked, "out")


@pytest.mark.parametrize("error", [InvalidInput("bad"), UnknownVersion("new")])
def test_malformed_input_is_final_at_once(error):
    assert is_final(error, 1)


def test_other_errors_are_final_after_so_many_attempts():
    assert not is_final(KeyError("x"), MOST_ATTEMPTS - 1)
    assert is_final(KeyError("x"), MOST_ATTEMPTS)


def test_what_a_later_try_may_mend_waits_until_the_last_delivery():
    assert not is_final(Unavailable("away"), MOST_DELIVERIES)
    assert worn_out(record(deliveries=MOST_DELIVERIES)) is None
    given_up = worn_out(record(deliveries=MOST_DELIVERIES + 1))
    assert "event 7 was delivered 8 times" in str(given_up)
    assert is_final(given_up, MOST_DELIVERIES + 1)


def test_the_event_names_the_source_and_never_quotes_a_strange_errors_text():
    error = raised(KeyError("a secret of the body"))
    event = parked_event(record(b'{"id":"r1","text":"x"}', deliveries=5), error, "firewall", "2")
    assert (event.origin.sequence, event.origin.item_id) == (7, "r1")
    assert (event.code, event.attempts) == ("failed", 5)
    assert event.error.startswith("KeyError at test_runtime_parking.py:")
    mine = parked_event(record(), raised(InvalidInput("item 'r1': no")), "firewall", "2")
    assert (mine.code, mine.error) == ("invalid_input", "item 'r1': no")


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b'{"id":5}', b'{"id":"\\ud800"}', b'{"id":"' + b"x" * 300 + b'"}']
)
def test_an_item_id_that_no_event_may_hold_is_left_out(payload):
    event = parked_event(record(payload), raised(InvalidInput("no")), "firewall", "2")
    assert event.origin.item_id == ""
    assert encode_event(event)


def test_the_event_stands_in_the_sources_session_whatever_its_tokens():
    odd = LogRecord(7, "w.in.3.no~token.=!!.tool_result", 0, b"")
    assert parked_subject(odd) == "weft.no~token.=!!.out.parked"
