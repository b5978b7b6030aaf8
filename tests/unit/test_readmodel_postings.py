"""The text index as rows: what the log says, in whatever batches it came."""

import sqlite3
from typing import Any

import pytest

from weft.log.record import LogRecord
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.postings import BLOCK, MAX_TERM, SEGMENT, UNSEALED, halves
from weft.readmodel.store import open_writer
from weft_schemas.events import ErasedEvent
from weft_schemas.items import ContextItem, ItemKind

Rows = list[tuple[Any, ...]]


def index_of(texts: list[str], batch: int, seals: bool = True) -> tuple[Rows, Rows]:
    """Sealed and unsealed rows after folding one text an item, so many at a time."""
    db = open_writer(":memory:")
    fold, records = Fold(db), said(texts)
    for start in range(0, len(records), batch):
        fold.apply(records[start : start + batch])
        if seals:
            fold.seal()
    return rows_of(db)


def said(texts: list[str]) -> list[LogRecord]:
    items = [ContextItem(f"i{at}", ItemKind.USER_TURN, text) for at, text in enumerate(texts)]
    return records_of(items, "t", "s")


def rows_of(db: sqlite3.Connection) -> tuple[Rows, Rows]:
    sealed = db.execute("SELECT * FROM postings ORDER BY session, term, block").fetchall()
    unsealed = db.execute(
        "SELECT session, document, length, terms, times FROM unsealed_documents ORDER BY document"
    )
    return sealed, unsealed.fetchall()


@pytest.fixture(scope="module")
def in_small_batches() -> tuple[Rows, Rows]:
    return index_of(TEXTS, 37)


@pytest.mark.parametrize("batch", [100, SEGMENT, 1_000, BLOCK + 700])
def test_rows_do_not_depend_on_the_batches(batch: int, in_small_batches: tuple[Rows, Rows]) -> None:
    assert index_of(TEXTS, batch) == in_small_batches


TEXTS = [f"common word{at % 97} only{at} common" for at in range(BLOCK + 700)]


@pytest.mark.parametrize("batch", [37, BLOCK - 10])
def test_few_documents_stay_unsealed_where_nobody_seals(batch: int) -> None:
    sealed, unsealed = index_of(TEXTS, batch, seals=False)
    assert len(unsealed) <= UNSEALED + SEGMENT
    assert min(row[1] for row in unsealed) >= BLOCK  # unsealed ones are within one block
    assert sealed


@pytest.mark.parametrize("before", [SEGMENT + 20, 2 * SEGMENT + 5])
def test_what_a_killed_process_did_not_seal_is_sealed_by_the_next(before: int) -> None:
    db = open_writer(":memory:")
    records = said(TEXTS[: before + SEGMENT])
    Fold(db).apply(records[:before])
    assert len(rows_of(db)[1]) > SEGMENT
    fold = Fold(db)
    fold.apply(records)
    fold.seal()
    assert len(rows_of(db)[1]) < SEGMENT
    whole = ReadModel(db).view("t", "s").search(["common", "word5"], 90)
    assert whole == ReadModel.in_memory(records).view("t", "s").search(["common", "word5"], 90)


def test_sealing_takes_nothing_from_a_search_and_adds_nothing() -> None:
    db = open_writer(":memory:")
    fold, reader = Fold(db), ReadModel(db)
    fold.apply(said(TEXTS[: SEGMENT + 90]))
    asked = [["common"], ["word5", "only7"], [f"only{at}" for at in range(9)]]
    views = [(terms, at) for terms in asked for at in (3, SEGMENT, SEGMENT + 1, SEGMENT + 90)]
    before = [reader.view("t", "s", at).search(terms, 40) for terms, at in views]
    assert not rows_of(db)[0]
    fold.seal()
    assert len(rows_of(db)[1]) == 90
    assert [reader.view("t", "s", at).search(terms, 40) for terms, at in views] == before


def test_a_posting_holds_place_frequency_and_length() -> None:
    texts = ["ox " * 300, *["seldom ox"] * (SEGMENT - 1)]
    sealed, unsealed = index_of(texts, 50)
    assert unsealed == []
    rows = {row[1]: halves(row[3]) for row in sealed}
    assert rows["ox"][1::2] == tuple(range(SEGMENT))
    assert rows["seldom"][1::2] == tuple(range(1, SEGMENT))
    assert [one >> 8 for one in rows["ox"][:4:2]] == [255, 1]


def test_long_terms_are_cut_before_they_are_counted() -> None:
    long = "x" * 60
    _, unsealed = index_of([f"{long}1 {long}2 short"], 10)
    assert unsealed[0][3:] == (f"{'x' * MAX_TERM}\nshort", bytes([2, 1]))


def test_a_session_that_was_erased_before_it_was_sealed_leaves_no_posting() -> None:
    db = open_writer(":memory:")
    fold = Fold(db)
    fold.apply([*said(TEXTS[: SEGMENT + 20]), erasure(SEGMENT + 21)])
    fold.seal()
    assert rows_of(db) == ([], [])


def erasure(sequence: int) -> LogRecord:
    return records_of([ErasedEvent("s")], "t", "s", sequence)[0]
