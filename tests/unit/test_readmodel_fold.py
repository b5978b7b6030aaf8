"""Batches, policies and catalogues: once, all or nothing, each version from its sequence on."""

from __future__ import annotations

import pytest
from tests.folded import model, turn

from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import open_writer
from weft_schemas.errors import ConfigurationError
from weft_schemas.policy import ContextPolicy
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
        (2, "session"),
    ]
    assert read.view("t", "else").policy()[0] == 3


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
