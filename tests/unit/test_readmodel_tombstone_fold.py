"""What is erased is gone and stays gone; what others taught stays."""

from __future__ import annotations

import pytest
from tests.folded import fact, model, of_tenant, result, session_digest, turn, values

from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.status import artifact
from weft_schemas.errors import NotFound
from weft_schemas.events import (
    ErasedEvent,
)
from weft_schemas.ids import artifact_handle
from weft_schemas.policy import ContextPolicy


def test_an_erased_session_is_gone_and_stays_gone() -> None:
    read = model(
        turn("a"), fact(1, "a", "tz", "UTC"), result("r"), ErasedEvent("s"), turn("b"), turn("a")
    )
    assert read.view("t", "s").item_count() == 0
    assert values(read) == {}
    assert of_tenant(read).sessions == 0
    assert "turn" not in [row[0] for row in read.db.execute("SELECT term FROM postings")]
    with pytest.raises(NotFound):
        artifact(read.db, "t", artifact_handle("t", "s", "r"))


def test_erasing_a_session_leaves_what_others_taught() -> None:
    kept = records_of([turn("k"), fact(1, "k", "tz", "UTC")], "t", "kept")
    gone = records_of(
        [turn("g"), fact(3, "g", "tz", "CET"), ErasedEvent("s")], "t", "s", first_sequence=3
    )
    read = ReadModel.in_memory(kept + gone)
    assert [f.value for f in read.view("t", "kept").facts(["u"])] == ["UTC"]
    alone = ReadModel.in_memory(kept)
    assert session_digest(read.db, "t", "kept") == session_digest(alone.db, "t", "kept") != ""


def test_an_erased_tenant_is_gone_and_others_stay() -> None:
    read = ReadModel.in_memory(
        records_of([turn("a"), ContextPolicy("p"), ErasedEvent(None), turn("b")], "t", "s")
        + records_of([turn("o")], "other", "s", first_sequence=5)
    )
    assert read.view("t", "s").item_count() == 0
    assert read.view("t", "s").policy()[0] == 0
    assert read.view("other", "s").item_count() == 1
