"""One line for each event, in words and JSON."""

from weft.cli.events import _line
from weft.readmodel.model import records_of
from weft_schemas.events import FactsEvent, MemoryFact, Origin, SessionClosedEvent

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
