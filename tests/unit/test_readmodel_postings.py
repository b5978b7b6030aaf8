"""The text index as rows: what the log says, in whatever batches it came."""

import pytest

from weft.readmodel.fold import Fold
from weft.readmodel.model import records_of
from weft.readmodel.postings import BLOCK, MAX_TERM, SEGMENT, halves, pack, posting
from weft.readmodel.store import open_writer
from weft_schemas.items import ContextItem, ItemKind


def index_of(texts: list[str], batch: int) -> tuple[list[object], list[object]]:
    """Sealed and unsealed rows after folding one text an item, so many at a time."""
    db = open_writer(":memory:")
    fold = Fold(db)
    items = [ContextItem(f"i{at}", ItemKind.USER_TURN, text) for at, text in enumerate(texts)]
    records = records_of(items, "t", "s")
    for start in range(0, len(records), batch):
        fold.apply(records[start : start + batch])
        fold.seal()
    sealed = db.execute("SELECT * FROM postings ORDER BY session, term, block").fetchall()
    tail = db.execute("SELECT session, document, length, terms FROM tail ORDER BY document")
    return sealed, tail.fetchall()


@pytest.mark.parametrize("batch", [100, SEGMENT, 1_000, BLOCK + 700])
def test_rows_do_not_depend_on_the_batches(batch: int) -> None:
    texts = [f"common word{at % 97} only{at} common" for at in range(BLOCK + 700)]
    assert index_of(texts, batch) == index_of(texts, 37)


def test_a_posting_holds_place_frequency_and_length() -> None:
    texts = ["ox " * 300, *["seldom ox"] * (SEGMENT - 1)]
    sealed, tail = index_of(texts, 50)
    assert tail == []
    rows = {row[1]: halves(row[3]) for row in sealed}
    assert rows["ox"][1::2] == tuple(range(SEGMENT))
    assert rows["seldom"][1::2] == tuple(range(1, SEGMENT))
    assert [one >> 8 for one in rows["ox"][:4:2]] == [255, 1]
    assert pack([posting(5, 300, 7)]) == pack([5 << 16 | 255 << 8 | 7])


def test_long_terms_are_cut_before_they_are_counted() -> None:
    long = "x" * 60
    _, tail = index_of([f"{long}1 {long}2 short"], 10)
    assert tail[0][3] == "\n".join(["x" * MAX_TERM, "x" * MAX_TERM, "short"])
