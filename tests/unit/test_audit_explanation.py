"""Why each item was in a recorded compile, or was not."""

from collections import Counter

import msgspec
import pytest
from tests.audited import KEY, log_of, recorded, turn

from weft.audit.explanation import ExplainedCompile, explain_compile
from weft.audit.history import fresh_model
from weft.audit.missing_records import MissingRecords
from weft_schemas.errors import NotFound
from weft_schemas.items import Sensitivity
from weft_schemas.policy import ContextPolicy


def explained(audit, records, **options) -> ExplainedCompile:
    model = fresh_model(records, audit.sequence, "o200k_base")
    try:
        view = model.view("default", "session", audit.sequence)
        return explain_compile(audit, view, key=KEY, **options)
    finally:
        model.close()


def states(found: ExplainedCompile) -> dict[str, str]:
    return {one.item_id: one.reason for one in found.items}


def test_what_was_shown_comes_first_in_the_order_of_the_prompt():
    _, audit = recorded(log_of(), 5)
    found = explained(audit, log_of(turn("u3", "Later.")))
    assert states(found) == dict.fromkeys(("u1", "c1", "r1", "u2"), "included")
    assert [(one.rule, one.turn) for one in found.items] == [
        ("whole_session", turn) for turn in (1, 1, 1, 2)
    ]
    assert "It is shown whole. It is in turn 2 of 2." in found.items[3].detail
    assert (found.sequence, found.notes, found.others) == (5, (), 0)


def test_what_was_no_candidate_is_counted_and_listed_if_wanted() -> None:
    records = log_of(*(turn(f"v{number}", f"Note {number}.") for number in range(300)))
    _, audit = recorded(records, len(records), budget=60)
    counted = explained(audit, records)
    every = explained(audit, records, everything=True)
    assert counted.others > 0
    assert every.others == 0
    assert every.items[: len(counted.items)] == counted.items
    listed = every.items[len(counted.items) :]
    assert len(listed) == counted.others
    assert {(one.included, one.reason) for one in listed} == {(False, "no candidate")}
    assert [one.sequence for one in listed] == sorted(one.sequence for one in listed)
    [one] = explained(audit, records, item=listed[0].item_id).items
    assert one == listed[0]


def test_the_turns_of_a_session_are_read_once_however_many_items_are_explained() -> None:
    records = log_of(*(turn(f"v{number}", f"Note {number}.") for number in range(100)))
    _, audit = recorded(records, len(records), budget=60)
    model = fresh_model(records, audit.sequence, "o200k_base")
    view = model.view("default", "session", audit.sequence)
    ran: Counter[str] = Counter()
    model.db.set_trace_callback(lambda sql: ran.update([sql]))
    assert len(explain_compile(audit, view, key=KEY, everything=True).items) > 100
    model.db.set_trace_callback(None)
    model.close()
    assert 0 < max(count for sql, count in ran.items() if "user_turn" in sql) < 10


def test_what_was_pending_and_what_had_no_room():
    _, audit = recorded(log_of(), 3)
    assert states(explained(audit, log_of()))["r1"] == "pending"
    _, audit = recorded(log_of(), 5, budget=30)
    found = explained(audit, log_of())
    assert [one.included for one in found.items] == sorted(
        (one.included for one in found.items), reverse=True
    )
    assert "budget" in states(found).values()


def test_a_floor_that_dropped_an_item_is_named():
    secret = turn("u3", "My dog is called Rex.")
    records = log_of(
        msgspec.structs.replace(secret, sensitivity=Sensitivity.INTERNAL), turn("u4", "?")
    )
    policy = ContextPolicy(sensitivity_floor=Sensitivity.INTERNAL)
    _, audit = recorded(records, 7, policy=policy)
    [one] = explained(audit, records, item="u3").items
    assert (one.included, one.reason, one.sequence) == (False, "sensitivity", 6)
    with pytest.raises(NotFound, match="has no item 'u9' at or before sequence 7"):
        explained(audit, records, item="u9")


def test_the_record_decides_what_was_shown():
    """Whatever this release would select."""
    _, audit = recorded(log_of(), 5)
    fewer = tuple(one for one in audit.manifest if one.item_id != "u2")
    found = explained(msgspec.structs.replace(audit, manifest=fewer, digest="0" * 64), log_of())
    assert "u2" not in states(found)
    assert "is not the same again" in found.notes[0]
    [one] = explained(msgspec.structs.replace(audit, manifest=fewer), log_of(), item="u2").items
    assert (one.included, one.reason) == (False, "no candidate")
    assert "this release would show it" in one.detail


def test_another_release_and_a_trimmed_log_are_told():
    _, audit = recorded(log_of(), 5)
    old = msgspec.structs.replace(audit, code_version="0")
    assert "it was selected by code 0, this release is" in explained(old, log_of()).notes[0]
    kept = [record for record in log_of() if record.sequence >= 5]
    found = explained(audit, kept, gone=MissingRecords(trimmed=5))
    assert "the log was trimmed and begins at 5" in found.notes[0]
    assert states(found)["u1"] == "included"
    with pytest.raises(NotFound, match="'session' was erased by event 6"):
        explained(audit, log_of(), gone=MissingRecords(tombstone=6))
