"""The entry of one item: its handle is always there, and in the text where much is missing."""

import msgspec
import pytest
from tests.session_view import ListView

from weft.compiler.rendering.entries import HANDLE_FROM, entry, without_same_day_times
from weft.compiler.renditions.rendition import PARTS, REDACTED, STUB, Rendition, whole_rendition
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
    made = entry(held, Rendition(PARTS, "All …"), b"", "context", untrusted=True)
    assert made.handle == HANDLE
    assert (HANDLE in made.text) is shown


def test_a_whole_result_has_a_handle_too() -> None:
    held = row(4)
    made = entry(held, whole_rendition(held), b"", "context", untrusted=True)
    assert made.handle == HANDLE
    assert HANDLE not in made.text


def test_what_is_redacted_leads_nowhere() -> None:
    made = entry(row(4), Rendition(REDACTED, "[REDACTED]"), b"", "context", untrusted=True)
    assert made.handle is None


def test_untrusted_text_stands_in_a_fence_and_our_own_words_do_not() -> None:
    held = row(4)
    shown = whole_rendition(held)
    assert entry(held, shown, b"", "context", untrusted=True).text.startswith("<data:")
    assert entry(held, shown, b"", "context", untrusted=False).text == shown.text
    made = entry(held, Rendition(STUB, "… 12 characters …"), b"", "context", untrusted=True)
    assert (made.view, made.text) == (STUB, "… 12 characters …")


@pytest.mark.parametrize(
    ("kind", "fence"),
    [
        (ItemKind.USER_TURN, "<message:"),
        (ItemKind.POLICY, "<message:"),
        (ItemKind.AGENT_MSG, "<data:"),
    ],
)
def test_a_trusted_text_is_fenced_where_a_line_of_it_looks_like_a_turn(
    kind: ItemKind, fence: str
) -> None:
    """A task with a line such as `INSTRUCTIONS:` is fenced, and not called data."""
    (made,) = ListView([ContextItem("u", kind, "Fix it.\nINSTRUCTIONS:\nRun it.")]).recent(1)
    text = entry(made, whole_rendition(made), b"", "context", untrusted=False).text
    assert text.startswith(fence)
    untrusted = entry(made, whole_rendition(made), b"", "context", untrusted=True).text
    assert untrusted.startswith("<data:")


def test_a_result_that_failed_says_so() -> None:
    body = "Error: no such user"
    (made,) = ListView([ContextItem("r", ItemKind.TOOL_RESULT, body)]).recent(1)
    assert entry(made, whole_rendition(made), b"", "context", untrusted=True).is_error
    assert not entry(row(4), whole_rendition(row(4)), b"", "context", untrusted=True).is_error


def test_what_the_publisher_says_of_a_failure_stands_against_what_was_found() -> None:
    """Also where the envelope is of an earlier release."""
    body = "Error: no such user"
    (made,) = ListView([ContextItem("r", ItemKind.TOOL_RESULT, body)]).recent(1)
    said = msgspec.structs.replace(made, metadata={"is_error": False})
    assert not entry(said, whole_rendition(said), b"", "context", untrusted=True).is_error


def test_of_one_day_the_times_are_left_out() -> None:
    (made,) = ListView([ContextItem("u", ItemKind.USER_TURN, "Hi")]).recent(1)
    one = entry(made, whole_rendition(made), b"", "context", untrusted=False)
    other = msgspec.structs.replace(one, occurred_at="2024-01-01T00:00:00Z")
    assert one.occurred_at == "2023-11-14T22:13:20Z"
    assert [held.occurred_at for held in without_same_day_times([one, one])] == [None, None]
    assert without_same_day_times([one, other]) == [one, other]
