"""Stage 4: what may be shown of an item, whole or in parts, and shown again from its recipe."""

import json

import pytest
from tests.session_view import ListView

from weft.compiler.forms import Form, head, parted, places, ranges, reread, shape, whole
from weft.readmodel.rows import ItemRow
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

ENCODING = "cl100k_base"


def row_of(kind: ItemKind, text: str, **metadata: object) -> ItemRow:
    items = [ContextItem("i", kind, text, metadata=metadata)]
    return ListView(items).recent(1)[0]


def test_a_result_shows_its_envelope_and_never_more() -> None:
    body = json.dumps([{"id": f"N{n:05d}X", "note": "w " * 40} for n in range(200)])
    row = row_of(ItemKind.TOOL_RESULT, body)
    form = whole(row)
    assert form.view == "envelope"
    assert form.text.startswith(row.envelope.summary if row.envelope else "?")
    assert len(form.text) < len(body) / 5


def test_a_short_text_is_one_part_and_a_long_one_several() -> None:
    row = row_of(ItemKind.AGENT_MSG, "One came. Two left. Three stayed.")
    assert len(shape(row, False, 100).parts) == 1
    assert [part.text for part in shape(row, False, 10).parts] == [
        "One came.",
        "Two left.",
        "Three stayed.",
    ]
    assert shape(row, False, 10).choose({0, 2}).text == "One came. … Three stayed."


def test_a_shortened_call_is_still_an_object() -> None:
    arguments = {"name": "Mia", "where": {"city": "Oslo", "zip": "0150"}}
    row = row_of(ItemKind.TOOL_CALL, "f(…)", tool_name="f", arguments=arguments)
    form = parted(row, whole(row)).choose({0, 2})
    assert form.arguments == {"name": "Mia", "where": "{zip=0150}"}
    assert form.text == "f(name=Mia where{zip=0150} …)"


def test_a_redacted_item_has_no_parts() -> None:
    row = row_of(ItemKind.AGENT_MSG, "[REDACTED: restricted]")
    (part,) = shape(row, True, 5).parts
    assert part.text == "[REDACTED: restricted]"


def test_a_head_keeps_within_its_tokens() -> None:
    row = row_of(ItemKind.POLICY, "Never do this. " * 50)
    form = head(row, 12, ENCODING)
    assert form.text.endswith("…")
    assert reread(row, form.view, form.recipe, ENCODING) == form


@pytest.mark.parametrize("chosen", [{0}, {0, 1, 2}, {1, 3, 4, 9}, set()])
def test_a_recipe_gives_the_same_parts_again(chosen: set[int]) -> None:
    assert places(ranges(chosen)) == chosen


def test_every_form_is_made_again_from_its_view_and_recipe() -> None:
    row = row_of(ItemKind.AGENT_MSG, "One came. Two left. Three stayed.")
    forms: list[Form] = [whole(row), shape(row, False, 10).choose({1})]
    for form in forms:
        assert reread(row, form.view, form.recipe, ENCODING) == form
    with pytest.raises(InvalidInput, match="'hologram' is unknown"):
        reread(row, "hologram", "", ENCODING)
