"""What workers derived: it counts where its source is known, and a later run supersedes."""

from __future__ import annotations

import json

import pytest
from tests.folded import codes, envelope, found, model, of_tenant, result, turn

from weft.passages.part import unpacked
from weft.passages.splitting import outline_of
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft_schemas.envelope import ExtractedFact
from weft_schemas.events import (
    EnvelopeEvent,
    Origin,
    ParkedEvent,
    RevivedEvent,
    SensitivityEvent,
    SummaryEvent,
)
from weft_schemas.items import ContextItem, ItemKind, Sensitivity


def test_an_envelope_gives_an_untrusted_item_its_text() -> None:
    read = model(result("r"), envelope(1, "r", "in short", sensitivity=Sensitivity.INTERNAL))
    row = read.view("t", "s").recent(1)[0]
    assert (row.text, row.pending, row.version) == ("in short", False, 2)
    assert row.sensitivity is Sensitivity.INTERNAL
    assert read.view("t", "s").pending() == []


def test_a_result_that_passes_whole_has_its_outline_stored_so_that_no_compile_splits_it() -> None:
    text = json.dumps([{"order": number, "note": "left at the door " * 3} for number in range(9)])
    of_json = {"content_type": "application/json", "complete": True}
    read = model(result("r", text), envelope(1, "r", text, **of_json), result("s"))
    row = read.view("t", "s").rows([1])[0]
    assert unpacked(row.outline) == row.parts == outline_of(text, "application/json")
    assert row.part_count > 1


def test_a_summary_that_is_not_the_whole_result_has_no_outline() -> None:
    summary = json.dumps([{"order": number, "note": "at the door " * 9} for number in range(9)])
    read = model(result("r"), envelope(1, "r", summary))
    assert read.view("t", "s").rows([1])[0].parts is None


def test_before_its_envelope_an_item_is_pending_for_ever() -> None:
    read = model(result("r"), turn("x"), envelope(1, "r", "in short"))
    then = read.view("t", "s", as_of=2)
    assert [row.id for row in then.pending()] == ["r"]
    assert then.rows([1])[0].text == ""


def test_of_two_envelopes_of_one_run_the_first_counts() -> None:
    read = model(result("r"), envelope(1, "r", "first"), envelope(1, "r", "second"))
    assert read.view("t", "s").rows([1])[0].text == "first"


def test_a_later_run_supersedes_from_its_own_sequence_on() -> None:
    read = model(result("r"), envelope(1, "r", "old words"), envelope(1, "r", "new text", "run"))
    assert read.view("t", "s").rows([1])[0].text == "new text"
    assert read.view("t", "s", as_of=2).rows([1])[0].text == "old words"
    assert (found(read, "old"), found(read, "new")) == ([], [1])
    assert (found(read, "old", 2), found(read, "new", 2)) == ([1], [])


def test_live_work_that_comes_after_a_named_run_is_late() -> None:
    read = model(result("r"), envelope(1, "r", "rerun", "run"), envelope(1, "r", "late"))
    assert read.view("t", "s").rows([1])[0].text == "rerun"


def test_an_enveloped_result_is_found_by_its_facts() -> None:
    facts = (ExtractedFact("invoice.number", "INV-77", "r"),)
    assert found(model(result("r"), envelope(1, "r", "paid", facts=facts)), "INV-77") == [1]


def test_an_envelope_s_count_is_taken_in_the_same_encoding_and_made_in_another() -> None:
    same = model(
        result("r"), envelope(1, "r", "in short", summary_tokens=99, encoding="o200k_base")
    )
    other = model(
        result("r"), envelope(1, "r", "in short", summary_tokens=99, encoding="cl100k_base")
    )
    assert same.view("t", "s").rows([1])[0].tokens == 99
    assert other.view("t", "s").rows([1])[0].tokens == 2


@pytest.mark.parametrize(
    "event",
    [
        envelope(7, "r", "from the future"),
        envelope(2, "r", "itself"),
        envelope(1, "other", "another item's"),
        envelope(-1, "r", "before the log"),
        envelope(1 << 70, "r", "beyond numbers"),
    ],
)
def test_an_envelope_without_its_item_is_ignored_and_noted(event: EnvelopeEvent) -> None:
    read = model(result("r"), event)
    assert read.view("t", "s").rows([1])[0].pending
    assert codes(read) == ["contradiction"]


def test_an_envelope_on_another_session_s_subject_touches_neither() -> None:
    own = records_of([result("r")], "t", "s")
    foreign = records_of([turn("x"), envelope(1, "r", "forged")], "t", "s2", first_sequence=2)
    read = ReadModel.in_memory(own + foreign)
    assert read.view("t", "s").rows([1])[0].pending
    assert codes(read) == ["contradiction"]


def test_a_summary_stands_beside_the_text() -> None:
    short = SummaryEvent(Origin(1, "a", "summarizer", "1"), "short", 1, "cl100k_base")
    row = model(turn("a", "long text"), short).view("t", "s").rows([1])[0]
    assert (row.text, row.summary, row.summary_version) == ("long text", "short", 2)


def test_a_parked_item_is_settled_and_a_revived_one_waits_again() -> None:
    parked = ParkedEvent(Origin(1, "r", "firewall"), "invalid_input", "too deep", 3)
    revived = RevivedEvent(Origin(1, "r", "firewall"))
    read = model(result("r"), parked, revived, envelope(1, "r", "at last"))
    rows = [read.view("t", "s", at).rows([1])[0] for at in (1, 2, 3, 4)]
    assert [(row.pending, row.parked) for row in rows] == [
        (True, False),
        (False, True),
        (True, False),
        (False, False),
    ]
    assert of_tenant(read).parked == 0


@pytest.mark.parametrize("sequence", [-(2**63) - 1, 0, 3, 2**63, 2**64])
@pytest.mark.parametrize("is_parked", [True, False])
def test_what_parks_no_earlier_sequence_is_ignored_and_noted(
    is_parked: bool, sequence: int
) -> None:
    origin = Origin(sequence, "r", "firewall")
    event = ParkedEvent(origin, "invalid_input", "", 3) if is_parked else RevivedEvent(origin)
    read = model(result("r"), event)
    assert codes(read) == ["contradiction"]
    assert [row.id for row in read.view("t", "s").pending()] == ["r"]


def test_a_dropped_item_stays_parked() -> None:
    parked = ParkedEvent(Origin(1, "r", "firewall"), "invalid_input", "too deep", 3)
    dropped = RevivedEvent(Origin(1, "r", "firewall"), drop=True)
    read = model(result("r"), parked, dropped)
    assert read.view("t", "s").rows([1])[0].parked
    assert [letter.item_id for letter in of_tenant(model(result("r"), parked)).dead_letters] == [
        "r"
    ]
    assert of_tenant(read).parked == 0


def test_what_the_summarizer_parks_keeps_its_text() -> None:
    parked = ParkedEvent(Origin(1, "a", "summarizer"), "unavailable", "no endpoint", 3)
    row = model(turn("a"), parked).view("t", "s").rows([1])[0]
    assert (row.text, row.parked, row.pending) == ("turn a", False, False)


def test_a_level_raises_an_item_from_its_own_sequence_on_and_a_later_run_ends_it() -> None:
    origin = Origin(1, "u", "classifier", "1")
    raised = SensitivityEvent(origin, Sensitivity.CONFIDENTIAL)
    again = SensitivityEvent(Origin(1, "u", "classifier", "2", run="two"), Sensitivity.PUBLIC)
    read = model(turn("u"), raised, raised, again)
    levels = [read.view("t", "s", at).rows([1])[0].sensitivity for at in (1, 2, 3, None)]
    public, high = Sensitivity.PUBLIC, Sensitivity.CONFIDENTIAL
    assert levels == [public, high, high, public]


def test_a_level_never_lowers_and_the_highest_of_several_workers_counts() -> None:
    item = ContextItem("u", ItemKind.USER_TURN, "text", sensitivity=Sensitivity.INTERNAL)
    low = SensitivityEvent(Origin(1, "u", "one", "1"), Sensitivity.PUBLIC)
    high = SensitivityEvent(Origin(1, "u", "two", "1"), Sensitivity.RESTRICTED)
    assert model(item, low).view("t", "s").rows([1])[0].sensitivity is Sensitivity.INTERNAL
    assert model(item, low, high).view("t", "s").rows([1])[0].sensitivity is Sensitivity.RESTRICTED


def test_a_row_that_was_read_before_its_level_came_is_read_again() -> None:
    read = model(turn("u"))
    assert read.view("t", "s").rows([1])[0].sensitivity is Sensitivity.PUBLIC
    raised = SensitivityEvent(Origin(1, "u", "one", "1"), Sensitivity.RESTRICTED)
    Fold(read.db).apply(records_of([raised], "t", "s", first_sequence=2))
    assert read.view("t", "s").rows([1])[0].sensitivity is Sensitivity.RESTRICTED


def test_a_level_of_no_item_is_a_contradiction() -> None:
    assert codes(model(turn("u"), SensitivityEvent(Origin(9), Sensitivity.INTERNAL))) == [
        "contradiction"
    ]
