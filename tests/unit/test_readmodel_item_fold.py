"""Items: the first with an id wins, an untrusted one waits for its envelope."""

from __future__ import annotations

import pytest
from tests.folded import found, model, of_tenant, result, turn

from weft.readmodel.digest import content_digest
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.status import artifact, quiet_sessions, status
from weft_schemas.envelope import ArtifactRef, ResultEnvelope
from weft_schemas.errors import NotFound
from weft_schemas.events import EnvelopeEvent, Event, Origin, SessionClosedEvent
from weft_schemas.ids import artifact_handle
from weft_schemas.items import BodyRef, ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules
from weft_schemas.status import StatusRequest


def test_items_stand_in_log_order_with_ordinals_from_zero() -> None:
    rows = model(turn("a"), turn("b"), turn("c")).view("t", "s").recent(2)
    assert [(row.id, row.sequence, row.ordinal) for row in rows] == [("c", 3, 2), ("b", 2, 1)]


def test_the_first_item_with_an_id_wins_and_another_content_is_a_conflict() -> None:
    read = model(turn("a", "first"), turn("a", "second"))
    assert [row.text for row in read.view("t", "s").recent(9)] == ["first"]
    status = of_tenant(read)
    assert (status.conflicts, status.duplicates) == (1, 0)
    assert [(c.item_id, c.sequence, c.first_sequence) for c in status.collisions] == [("a", 2, 1)]


def test_the_same_item_again_is_a_duplicate_and_changes_nothing() -> None:
    once, twice = model(turn("a")), model(turn("a"), turn("a"))
    assert of_tenant(twice).duplicates == 1
    assert content_digest(once.db) == content_digest(twice.db)


def test_collisions_of_a_span_are_what_a_publisher_asks_for() -> None:
    read = model(turn("a"), turn("b"), turn("a"), turn("b"), turn("b", "other"))
    asked = status(read.db, "t", "s", StatusRequest(first=4, last=5, ids=("a", "x")))
    assert [(c.sequence, c.conflict) for c in asked.collisions] == [(5, True), (4, False)]
    assert asked.places == {"a": 1}


def test_the_same_id_in_another_session_is_another_item() -> None:
    one = records_of([turn("a")], "t", "s")
    two = records_of([turn("a", "other")], "t", "s2", first_sequence=2)
    read = ReadModel.in_memory(one + two)
    assert [row.text for row in read.view("t", "s2").recent(9)] == ["other"]
    assert of_tenant(read).conflicts == 0


def test_a_child_may_come_before_its_parent() -> None:
    view = model(turn("child", parent_id="late"), turn("late")).view("t", "s")
    assert [row.id for row in view.children(["late"])] == ["child"]
    assert [row.id for row in view.by_ids(["late", "child"])] == ["child", "late"]


def test_of_an_untrusted_item_there_is_no_text_until_its_envelope() -> None:
    secret = "zanzibar"
    read = model(result("r", secret, metadata={"tool_name": "find", "note": secret}))
    row = read.view("t", "s").recent(1)[0]
    assert (row.text, row.pending, row.metadata) == ("", True, {"tool_name": "find"})
    assert secret not in "\n".join(read.db.iterdump())
    assert [row.id for row in read.view("t", "s").pending()] == ["r"]


@pytest.mark.parametrize("kind", [ItemKind.PLAN_STATE, ItemKind.POLICY])
def test_items_of_a_kind_are_found_from_the_first_on(kind: ItemKind) -> None:
    read = model(turn("a"), ContextItem("k", kind, "first"), turn("b"))
    other = model(turn("a"), turn("b"), turn("c"))
    assert [row.id for row in read.view("t", "s").of_kind(kind, 3)] == ["k"]
    assert [row.id for row in read.view("t", "s", 2).of_kind(kind, 3)] == ["k"]
    assert read.view("t", "s", 1).of_kind(kind, 3) == []
    assert other.view("t", "s").of_kind(kind, 3) == []


def test_the_policy_in_force_says_which_kinds_are_untrusted() -> None:
    strict = ContextPolicy(firewall=FirewallRules(untrusted_kinds=(ItemKind.DOC_SNIPPET,)))
    snippet = ContextItem("d", ItemKind.DOC_SNIPPET, "fetched")
    later = ContextItem("e", ItemKind.DOC_SNIPPET, "fetched too")
    view = model(snippet, strict, later, result("r", "trusted now")).view("t", "s")
    assert [row.text for row in view.span(0, 9)] == ["fetched", "", "trusted now"]


def test_a_handle_leads_to_the_body() -> None:
    body = BodyRef("0" * 64, 300_000)
    read = model(result("r", metadata={"content_type": "text/csv"}), result("big", "", body=body))
    small = artifact(read.db, "t", artifact_handle("t", "s", "r"))
    assert (small.sequence, small.body, small.content_type) == (1, None, "text/csv")
    assert artifact(read.db, "t", artifact_handle("t", "s", "big")).body == body
    with pytest.raises(NotFound):
        artifact(read.db, "other", artifact_handle("t", "s", "r"))


def test_a_handle_is_the_envelopes_or_one_made_with_the_key() -> None:
    key = b"of this deployment"
    reference = ArtifactRef(artifact_handle("t", "s", "old"), "text/plain", 3)
    envelope = EnvelopeEvent(Origin(1, "old"), ResultEnvelope("short", artifacts=(reference,)))
    read = model(result("old"), envelope, result("waits"))
    assert artifact(read.db, "t", reference.handle, key).item_id == "old"
    assert artifact(read.db, "t", artifact_handle("t", "s", "waits", key), key).item_id == "waits"
    for unknown in (
        artifact_handle("t", "s", "waits"),
        artifact_handle("t", "s", "old", key),
        artifact_handle("t", "s", "waits", b"of another"),
    ):
        with pytest.raises(NotFound):
            artifact(read.db, "t", unknown, key)


def test_a_closed_session_is_open_again_with_a_later_item() -> None:
    def is_open(*events: Event) -> bool:
        return quiet_sessions(model(*events).db, before_ns=1, limit=9) != []

    assert not is_open(turn("a"), SessionClosedEvent())
    assert is_open(turn("a"), SessionClosedEvent(), turn("b"))
    assert is_open(turn("a"), turn("b"), SessionClosedEvent(1, "idle"))


def test_a_tool_call_is_found_by_its_tool_and_arguments() -> None:
    metadata = {"tool_name": "find_invoice", "arguments": {"number": "INV-9"}}
    call = ContextItem("c", ItemKind.TOOL_CALL, metadata=metadata)
    assert found(model(call), "INV-9") == [1]
