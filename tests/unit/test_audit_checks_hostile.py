"""What an agent or another tenant's operator wrote stops no audit."""

import pytest
from tests.folded import result

from weft.audit.checks import DuplicateEnvelopes, gaps
from weft.audit.grounding import _structure
from weft.erasure.history import ErasureHistory
from weft.erasure.sequence_runs import runs_of
from weft.log.record import LogRecord
from weft_schemas.events import ErasedEvent, ErasureReceiptEvent


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_result_that_is_too_deep_is_text(depth: int) -> None:
    assert _structure(result("r", "[" * depth + "]" * depth)) is None


def test_an_envelope_that_is_too_deep_is_no_double() -> None:
    doubles = DuplicateEnvelopes()
    payload = b'{"origin":' + b'{"a":' * 100_000
    doubles.take(LogRecord(1, "w.out.0.acme.s.envelope", 0, payload))
    assert doubles.findings == []


@pytest.mark.parametrize("counted", [-1, -(2**62)])
def test_a_receipt_of_less_than_nothing_explains_nothing(counted: int) -> None:
    erasures = ErasureHistory()
    erasures.take("acme", 1, ErasedEvent("s"))
    erasures.take("acme", 9, ErasureReceiptEvent("s", 1, {"events": counted}, ()))
    assert gaps(runs_of([]), 0, erasures) == []
    assert [one.kind for one in gaps(runs_of([7]), 0, erasures)] == ["gap"]
