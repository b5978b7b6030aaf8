"""A sheet weighs what it is given, also where that has changed since."""

import functools

import msgspec
import pytest
from tests.session_view import ListView

from weft.compiler.blocks import entry
from weft.compiler.rendering.counting import counter, learn
from weft.compiler.forms import whole
from weft.compiler.sheet import Sheet
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.items import ContextItem, ItemKind

LEARN = functools.partial(learn, encoding="cl100k_base")


def test_forms_that_lose_an_item_weigh_less() -> None:
    said = [ContextItem(f"u{n}", ItemKind.USER_TURN, f"Order {n} left.") for n in range(3)]
    rows = {row.sequence: row for row in ListView(said).recent(3)}
    make = functools.partial(entry, key=b"", section="context", untrusted=False)
    sheet = Sheet((), rows, make, counter("cl100k_base"), LEARN)
    forms = {sequence: whole(row) for sequence, row in rows.items()}
    heavy = sheet.exact(forms)
    del forms[max(forms)]
    assert sheet.exact(forms) < heavy
    assert len(sheet.weigh(forms).entries) == 2


@pytest.mark.parametrize("worker", [True, False])
def test_only_counts_of_our_own_are_believed(worker: bool) -> None:
    text = f"what {'a worker' if worker else 'the fold'} counted, in a text of its own " * 4
    (row,) = ListView([ContextItem("d", ItemKind.DOC_SNIPPET, "a text")]).recent(1)
    envelope = ResultEnvelope(text.strip(), passthrough=True) if worker else None
    row = msgspec.structs.replace(row, text=text.strip(), tokens=1, envelope=envelope)
    make = functools.partial(entry, key=b"", section="context", untrusted=False)
    sheet = Sheet((), {row.sequence: row}, make, counter("cl100k_base"), LEARN)
    assert (sheet.exact({row.sequence: whole(row)}) > 40) is worker
