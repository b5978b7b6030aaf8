"""One line for each event, in words and JSON."""

from weft.cli.events import _line
from weft.readmodel.model import records_of
from weft_schemas.envelope import ResultEnvelope, ResultStatus
from weft_schemas.events import EnvelopeEvent, FactsEvent, MemoryFact, Origin, SessionClosedEvent

ORIGIN = Origin(1, "u", "memory", "1", 0)


def test_facts_are_told_as_facts() -> None:
    facts = (MemoryFact("user_timezone", "UTC", ("u",)), MemoryFact("home", "OSL", ("u",)))
    (record,) = records_of([FactsEvent(ORIGIN, "user:1", facts)], first_sequence=7)
    line = _line(record)
    assert line.endswith("of 1 user_timezone=UTC; home=OSL")
    assert line.split()[0] == "7"


def test_an_event_without_text_is_told_by_its_fields() -> None:
    (record,) = records_of([SessionClosedEvent(last_sequence=4, reason="asked")])
    assert '"last_sequence":4' in _line(record)


def test_an_envelope_is_told_by_its_type_size_and_summary() -> None:
    made = ResultEnvelope("", content_type="application/json", raw_tokens=61_003)
    failed = ResultEnvelope("no such file", ResultStatus.ERROR, raw_tokens=4)
    origin = Origin(3, "r", "firewall", "1", 0)
    records = records_of([EnvelopeEvent(origin, made), EnvelopeEvent(origin, failed)])
    lines = [_line(record) for record in records]
    assert lines[0].endswith("of 3 application/json, 61,003 tokens: ")
    assert lines[1].endswith("of 3 error, text/plain, 4 tokens: no such file")
