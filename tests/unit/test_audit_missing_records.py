"""What a compile showed and the log no longer holds, with the reason."""

import pytest
from tests.audited import log_of, recorded

from weft.audit.history import fresh_model
from weft.audit.missing_records import MissingRecords, missing_of, why_gone
from weft_schemas.events import FactsEvent, MemoryFact, Origin

TRIMMED = "the log was trimmed and begins at 5; look into a snapshot"


def lost(records, audit, gone: MissingRecords) -> list[str]:
    model = fresh_model(records, audit.sequence, "o200k_base")
    try:
        return missing_of(audit, model.view("default", "session", audit.sequence), gone)
    finally:
        model.close()


def test_a_whole_log_holds_all():
    _, audit = recorded(log_of(), 5)
    assert lost(log_of(), audit, MissingRecords()) == []


def test_what_was_trimmed_and_what_somebody_deleted():
    _, audit = recorded(log_of(), 5)
    kept = [record for record in log_of() if record.sequence >= 5]
    assert lost(kept, audit, MissingRecords(trimmed=5))[0] == f"item 'u1' (event 1): {TRIMMED}"
    deleted = [record for record in log_of() if record.sequence not in (3, 4)]
    [fault] = lost(deleted, audit, MissingRecords())
    assert fault.startswith("item 'r1' (event 3): the log does not hold it any more")


def test_a_header_of_what_was_trimmed():
    fact = MemoryFact("city", "Oslo", ("u1",))
    records = log_of(FactsEvent(Origin(1, worker="memory"), "session:session", (fact,)))
    pack, audit = recorded(records, 6)
    assert "city=Oslo" in pack.prompt
    kept = [record for record in records if record.sequence < 6]
    assert lost(kept, audit, MissingRecords(trimmed=1)) == [
        "what was remembered then: the log was trimmed and begins at 1; look into a snapshot"
    ]
    assert lost(records, audit, MissingRecords(trimmed=1)) == []


@pytest.mark.parametrize(
    ("sequence", "gone", "why"),
    [
        (4, MissingRecords(trimmed=5), TRIMMED),
        (4, MissingRecords(aged=5), "events before 5 left the log by age; look into a snapshot"),
        (4, MissingRecords(trimmed=5, aged=9), TRIMMED),
        (7, MissingRecords(trimmed=5, aged=9), "events before 9 left the log by age; look into a "
         "snapshot"),
        (5, MissingRecords(trimmed=5), "the log does not hold it any more: somebody deleted it"),
    ],
)  # fmt: skip
def test_why_an_event_is_gone(sequence: int, gone: MissingRecords, why: str):
    assert why_gone(sequence, gone) == why
