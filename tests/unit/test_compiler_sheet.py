"""A sheet weighs what it is given, also where that has changed since."""

import functools

from tests.session_view import ListView

from weft import tokens
from weft.compiler.blocks import entry
from weft.compiler.counting import counter
from weft.compiler.forms import whole
from weft.compiler.sheet import Sheet
from weft_schemas.items import ContextItem, ItemKind


def test_forms_that_lose_an_item_weigh_less() -> None:
    said = [ContextItem(f"u{n}", ItemKind.USER_TURN, f"Order {n} left.") for n in range(3)]
    rows = {row.sequence: row for row in ListView(said).recent(3)}
    make = functools.partial(entry, key=b"", section="context", untrusted=False)
    sheet = Sheet((), rows, make, counter("cl100k_base"), tokens.learn)
    forms = {sequence: whole(row) for sequence, row in rows.items()}
    heavy = sheet.exact(forms)
    del forms[max(forms)]
    assert sheet.exact(forms) < heavy
    assert len(sheet.weigh(forms).entries) == 2
