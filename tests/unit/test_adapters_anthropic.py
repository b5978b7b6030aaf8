"""Anthropic conversations become items: blocks, tools, the system prompt."""

import json
from typing import Any

import pytest

from weft.adapters import read_items, read_transcripts
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind


def read(messages: list[dict[str, Any]], **around: Any) -> list[ContextItem]:
    content = json.dumps({**around, "messages": messages}).encode()
    return read_items(content, file="talk.json")


TALK = [
    {"role": "user", "content": "weather in Oslo and Rome?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "two cities", "signature": "x"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "tu_1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "tu_2", "name": "weather", "input": {"city": "Rome"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "tu_2", "content": "no", "is_error": True},
            {
                "type": "tool_result",
                "tool_use_id": "tu_1",
                "content": [{"type": "text", "text": "3 °C"}],
            },
            {"type": "text", "text": "and tomorrow?"},
        ],
    },
]


def test_blocks_become_items_tied_together() -> None:
    policy, user, said, oslo, rome, no, three, tomorrow = read(TALK, system="be brief")
    assert (policy.kind, policy.text) == (ItemKind.POLICY, "be brief")
    assert said.text == "I look."
    assert oslo.reserved.arguments == {"city": "Oslo"}
    assert oslo.reserved.turn_id == rome.reserved.turn_id == said.reserved.turn_id
    assert oslo.parent_id == rome.parent_id == said.id
    assert (no.parent_id, no.reserved.is_error) == (rome.id, True)
    assert (three.parent_id, three.text, three.reserved.is_error) == (oslo.id, "3 °C", None)
    assert (tomorrow.kind, tomorrow.text) == (ItemKind.USER_TURN, "and tomorrow?")
    assert user.text.startswith("weather")


def test_a_false_is_error_is_only_a_default() -> None:
    text = '{"error": "seat taken", "code": 409}'
    use = {"type": "tool_use", "id": "tu_1", "name": "book", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "tu_1", "content": text, "is_error": False}
    _, result = read(
        [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    )
    assert result.text == text
    assert result.reserved.is_error is None


def test_thinking_is_the_models_own_and_stays_out() -> None:
    assert not any("two cities" in item.text for item in read(TALK))


def test_system_blocks_are_read_as_well() -> None:
    policy, *_ = read(TALK, system=[{"type": "text", "text": "a", "cache_control": {}}])
    assert policy.text == "a"


def test_the_format_is_seen_from_its_blocks() -> None:
    (found,) = read_transcripts(json.dumps(TALK).encode())
    assert found.format == "anthropic"


@pytest.mark.parametrize(
    ("block", "named"),
    [
        ({"type": "tool_use", "id": 3, "name": "x"}, "$.content[0].id: expected `str`, got `int`"),
        ({"type": "tool_use", "id": "t"}, "$.content[0]: object missing required field `name`"),
        ({"type": "tool_result"}, "$.content[0]: object missing required field `tool_use_id`"),
    ],
)
def test_a_fault_is_named_by_file_line_and_field(block: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=r"talk\.json, line 1: ") as caught:
        read([{"role": "assistant", "content": [block]}], system="x")
    assert named in str(caught.value)
