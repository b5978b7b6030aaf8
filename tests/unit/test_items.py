"""ContextItem: what a publisher may send, and what it is told when it may not."""

from math import inf, nan

import pytest

from weft.client.event_check import checked
from weft.messages.reading import draft
from weft_schemas.errors import InvalidInput
from weft_schemas.events import decode_event, encode_event
from weft_schemas.items import BodyRef, ContextItem, ItemKind, Sensitivity, check_item


def item(**changes: object) -> ContextItem:
    fields: dict[str, object] = {"id": "a", "kind": ItemKind.USER_TURN, "text": "hello"}
    return ContextItem(**(fields | changes))  # type: ignore[arg-type]


def test_the_levels_are_ordered_and_the_floor_itself_is_reached() -> None:
    levels = list(Sensitivity)
    assert [level.level for level in levels] == [0, 1, 2, 3]
    assert Sensitivity.CONFIDENTIAL.reaches(Sensitivity.CONFIDENTIAL)
    assert not Sensitivity.INTERNAL.reaches(Sensitivity.CONFIDENTIAL)
    assert Sensitivity.PUBLIC.raised_to(Sensitivity.RESTRICTED) is Sensitivity.RESTRICTED
    assert Sensitivity.RESTRICTED.raised_to(Sensitivity.PUBLIC) is Sensitivity.RESTRICTED


def test_reserved_metadata_is_typed_and_other_keys_are_free() -> None:
    read = item(metadata={"tool_name": "grep", "arguments": {"q": 1}, "own": [1]}).reserved
    assert read.tool_name == "grep"
    assert read.arguments == {"q": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, "$.id is 0 bytes"),
        ({"id": "ä" * 129}, "$.id is 258 bytes"),
        ({"text": "\ud800"}, "$.text has a lone surrogate"),
        ({"parent_id": "\ud800"}, "$.parent_id has a lone surrogate"),
        ({"parent_id": "a"}, "$.parent_id is the item itself"),
        ({"body": BodyRef("0" * 64, 1)}, "$.text and $.body are both set"),
        ({"metadata": {"arguments": "x"}}, "$.metadata.arguments"),
    ],
)
def test_an_item_that_breaks_a_rule_is_refused_by_field(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_item(item(**changes))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token_estimate": -5}, "item 'a': $.token_estimate is -5; give 0 or more, or leave"),
        ({"parent_id": ""}, "item 'a': $.parent_id is empty; name the item that this one answers"),
        ({"metadata": {"own": [1, {"x": nan}]}}, "item 'a': $.metadata.own[1].x is a number that"),
        ({"metadata": {"y": -inf, "z": (1,)}}, "item 'a': $.metadata.y is a number that JSON"),
    ],
)
def test_what_no_log_should_contain_is_refused_at_publishing_and_read_where_it_is(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        checked(item(**changes))
    assert str(refusal.value).startswith(message)
    assert isinstance(decode_event(encode_event(item(**changes))), ContextItem)


_WRITTEN = {"name": "f", "arguments": '{"x": NaN, "y": [1, -Infinity]}'}
_GIVEN = {"x": nan, "y": [1, inf]}


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": [{"id": "c", "type": "function", "function": _WRITTEN}]},
        {"content": [{"type": "tool_use", "id": "c", "name": "f", "input": _GIVEN}]},
    ],
)
def test_a_model_may_write_a_number_that_there_is_not(message: dict[str, object]) -> None:
    _, call = draft([{"role": "user", "content": "x"}, {"role": "assistant", **message}]).items
    assert call.reserved.arguments == {"x": None, "y": [1, None]}
    assert checked(call)


def test_an_id_may_be_any_unicode_up_to_256_bytes() -> None:
    assert check_item(item(id="ä" * 128)).id == "ä" * 128
