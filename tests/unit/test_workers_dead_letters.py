"""When a source is given up: its own failures count soon, what others did to it much later."""

import pytest

from weft.log.record import LogRecord
from weft.workers.dead_letters import (
    MAX_ATTEMPTS,
    MAX_DELIVERIES,
    is_final,
    retry_delay,
    worn_out,
)
from weft_schemas.errors import InvalidInput, Unavailable


def record(deliveries: int) -> LogRecord:
    return LogRecord(7, "w.in.3.acme.s1.tool_result", 1, b"{}", deliveries=deliveries)


def test_a_source_that_was_only_held_when_processes_died_is_worked_on():
    assert worn_out(record(MAX_DELIVERIES)) is None
    given_up = worn_out(record(MAX_DELIVERIES + 1))
    assert given_up is not None
    assert "event 7 was delivered 25 times and never finished" in str(given_up)


@pytest.mark.parametrize(
    ("error", "deliveries", "final"),
    [
        (InvalidInput("no item"), 1, True),
        (KeyError("x"), MAX_ATTEMPTS - 1, False),
        (KeyError("x"), MAX_ATTEMPTS, True),
        (Unavailable("the model does not answer"), MAX_DELIVERIES, False),
    ],
)
def test_malformed_input_is_final_at_once_and_a_passing_fault_never(error, deliveries, final):
    assert is_final(error, deliveries) == final


def test_attempts_come_ever_more_slowly():
    assert [retry_delay(n) for n in range(1, 5)] == [0.25, 0.75, 2.25, 6.75]
    assert retry_delay(MAX_DELIVERIES) == 60.0
    assert retry_delay(100_000) == 60.0
