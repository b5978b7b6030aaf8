"""Batches, policies and catalogues: once, all or nothing, each version from its sequence on."""

from __future__ import annotations

import msgspec
import pytest
from tests.folded import envelope, model, result, turn

from weft.log.record import LogRecord
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import open_writer
from weft_schemas.envelope import Signal
from weft_schemas.errors import ConfigurationError
from weft_schemas.events import Event
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextBudget, ContextPolicy, FirewallRules, SecretPattern
from weft_schemas.routing import Catalog, SelectableItem


def test_the_newest_policy_of_the_session_goes_before_the_tenant_s() -> None:
    read = model(
        ContextPolicy("tenant"), ContextPolicy("session", session="s"), ContextPolicy("tenant 2")
    )
    found = [read.view("t", "s", at).policy() for at in (0, 1, 2, 3)]
    assert [(version, policy.name) for version, policy in found] == [
        (0, "default"),
        (1, "tenant"),
        (2, "session"),
        (3, "session"),  # the tenant's is part of what holds
    ]
    assert read.view("t", "else").policy()[0] == 3


def test_a_sessions_policy_keeps_what_the_tenants_masks_and_its_floor() -> None:
    pattern = SecretPattern("badge", "badge-[0-9]+")
    masking = FirewallRules(secret_patterns=(pattern,), untrusted_kinds=(ItemKind.DOC_SNIPPET,))
    read = model(
        ContextPolicy(sensitivity_floor=Sensitivity.INTERNAL, firewall=masking),
        ContextPolicy(session="s", budgets=ContextBudget(answer=9)),
        turn("u1", "my badge-1234"),
        ContextItem("d1", ItemKind.DOC_SNIPPET, "A document."),
    )
    view = read.view("t", "s")
    policy = view.policy()[1]
    assert (policy.budgets.answer, policy.sensitivity_floor) == (9, Sensitivity.INTERNAL)
    assert view.rows([3])[0].text == "my [secret:badge]"
    assert view.pending(), "a document waits for its envelope"


def test_the_newest_version_of_a_catalogue_at_the_sequence_read() -> None:
    one, two = (Catalog("c", (SelectableItem(id, id),)) for id in ("a", "b"))
    read = model(one, two)
    assert read.view("t", "s").catalog("c") == (2, two)
    assert read.view("t", "s", 1).catalog("c") == (1, one)
    assert read.view("t", "s").catalog("none") is None


def test_a_batch_folded_twice_changes_nothing() -> None:
    db = open_writer(":memory:")
    fold, log = Fold(db), records_of([turn("a"), turn("b")], "t", "s")
    fold.apply(log)
    again = fold.apply(log)
    assert again.records == 0
    assert ReadModel(db).view("t", "s").item_count() == 2


def rows_after(log: list[LogRecord], batch: int) -> dict[str, list[tuple[object, ...]]]:
    """All rows of a read model into which a log was folded in batches."""
    db = open_writer(":memory:")
    fold = Fold(db)
    for at in range(0, len(log), batch):
        fold.apply(log[at : at + batch])
    tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    return {name: db.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables}


def test_items_folded_together_are_as_folded_one_by_one() -> None:
    """Among them a duplicate, a conflict, one that cannot be stored, one with a result's envelope,
    and some before and after policies that decide what is masked."""
    secret = "my token is ghp_0123456789abcdefghijABCDEFGHIJ012345"
    events: list[Event] = [
        *(turn(f"u{n}", f"order {n} of {n % 7}") for n in range(130)),
        turn("u3", "order 3 of 3"),
        turn("u4", "something else"),
        turn("masked", secret),
        ContextPolicy(firewall=FirewallRules(masked_kinds=())),
        turn("told", secret),
        result("r", "42 orders"),
        envelope(136, "r", "42 orders", signals=(Signal("injection", "told", 1, "why"),)),
        envelope(136, "r", "no orders", run="again"),
        ContextItem("d", ItemKind.DOC_SNIPPET, "hid\u200bden", metadata={"pin": True}),
        turn("long", "word " * 20_000),
        turn("last", "one more"),
    ]
    log = records_of(events, "t", "s")
    bad = b'{"type":"item","id":"bad","kind":"user_turn","metadata":{"x":"\\ud800"}}'
    log[50] = msgspec.structs.replace(log[50], payload=bad)
    together, alone = rows_after(log, len(log)), rows_after(log, 1)
    assert together == alone
    assert len(together["faults"]) == 1
    assert [conflict for *_, conflict, _ in together["collisions"]] == [0, 1]
    texts = {id: text for _, _, _, id, _, _, text, *_ in together["items"]}
    assert ("ghp_" in texts["masked"], "ghp_" in texts["told"]) == (False, True)


def test_a_failed_transaction_leaves_nothing_behind() -> None:
    db = open_writer(":memory:")
    fold, log = Fold(db), records_of([turn("a"), turn("b")], "t", "s")

    def fail(step: str) -> None:
        if step == "work":
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fold.apply(log, step=fail)
    assert ReadModel(db).watermark() == fold.checkpoint == 0
    fold.apply(log)
    assert ReadModel(db).view("t", "s").item_count() == 2


def test_a_read_model_counts_in_one_encoding() -> None:
    db = open_writer(":memory:")
    Fold(db, "cl100k_base")
    with pytest.raises(ConfigurationError, match="rebuild"):
        Fold(db, "o200k_base")


def test_deleted_messages_at_the_end_of_the_log_are_passed_over() -> None:
    db = open_writer(":memory:")
    fold = Fold(db)
    fold.apply(records_of([turn("a")], "t", "s"), through=5)
    assert ReadModel(db).watermark() == fold.checkpoint == 5
