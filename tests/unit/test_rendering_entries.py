"""The entry of one item: its handle is always there, and in the text where much is missing."""

import msgspec
import pytest
from tests.session_view import ListView

from weft.compiler.blocks import HANDLE_FROM, entry
from weft.compiler.forms import REDACTED, SHORTENED, Form, whole
from weft.readmodel.rows import ItemRow
from weft_schemas.envelope import ArtifactRef, ResultEnvelope, ResultStatus
from weft_schemas.items import ContextItem, ItemKind

HANDLE = "art:abcdefghij"


def row(raw_tokens: int) -> ItemRow:
    (made,) = ListView([ContextItem("r", ItemKind.TOOL_RESULT, "All is well.")]).recent(1)
    envelope = ResultEnvelope(
        summary=made.text,
        status=ResultStatus.SUCCESS,
        artifacts=(ArtifactRef(HANDLE, "text/plain", 12, None),),
        raw_tokens=raw_tokens,
    )
    return msgspec.structs.replace(made, envelope=envelope)


@pytest.mark.parametrize(("missing", "shown"), [(0, False), (HANDLE_FROM + 1, True)])
def test_a_handle_stands_in_the_text_where_much_is_missing(missing: int, shown: bool) -> None:
    held = row(0)
    held = row(held.tokens + missing)
    made = entry(held, Form(SHORTENED, "All …"), b"", "context", untrusted=True)
    assert made.handle == HANDLE
    assert (HANDLE in made.text) is shown


def test_a_whole_result_has_a_handle_too() -> None:
    held = row(4)
    made = entry(held, whole(held), b"", "context", untrusted=True)
    assert made.handle == HANDLE
    assert HANDLE not in made.text


def test_what_is_redacted_leads_nowhere() -> None:
    made = entry(row(4), Form(REDACTED, "[REDACTED]"), b"", "context", untrusted=True)
    assert made.handle is None
