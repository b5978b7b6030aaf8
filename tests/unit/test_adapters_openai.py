"""OpenAI chats become items: what was said, asked and answered, tied together."""

import json
from typing import Any

import pytest

from weft.adapters import read_items
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind


def read(*messages: dict[str, Any]) -> list[ContextItem]:
    return read_items(json.dumps(list(messages)).encode(), file="chat.json")


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_roles_become_kinds_and_a_system_message_a_policy() -> None:
    items = read(
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "no jokes"},
        {"role": "user", "content": "hello", "name": "mia"},
        {"role": "assistant", "content": "hi"},
    )
    assert [(item.id, item.kind, item.text) for item in items] == [
        ("m0", ItemKind.POLICY, "be brief"),
        ("m1", ItemKind.POLICY, "no jokes"),
        ("m2", ItemKind.USER_TURN, "hello"),
        ("m3", ItemKind.AGENT_MSG, "hi"),
    ]
    assert items[2].reserved.author == "mia"


def test_parallel_calls_share_a_turn_and_results_find_their_call() -> None:
    user, said, first, second, answer_two, answer_one = read(
        {"role": "user", "content": "compare"},
        {
            "role": "assistant",
            "content": "looking",
            "tool_calls": [call("a", "get", '{"n": 1}'), call("b", "get", '{"n": 2}')],
        },
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
    )
    assert said.reserved.turn_id == first.reserved.turn_id == second.reserved.turn_id == "m1"
    assert first.parent_id == second.parent_id == said.id
    assert (first.reserved.tool_name, first.reserved.call_id) == ("get", "a")
    assert second.reserved.arguments == {"n": 2}
    assert second.text == 'get({"n":2})'
    assert (answer_two.parent_id, answer_one.parent_id) == (second.id, first.id)
    assert answer_one.reserved.tool_name == "get"
    assert user.parent_id is None


def test_a_call_without_words_answers_the_user() -> None:
    user, asked = read(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call("a", "get", "{}")]},
    )
    assert asked.parent_id == user.id


def test_a_call_id_that_comes_again_is_another_call() -> None:
    items = read(
        {"role": "assistant", "tool_calls": [call("same", "get", "{}")]},
        {"role": "tool", "tool_call_id": "same", "content": "one"},
        {"role": "assistant", "tool_calls": [call("same", "get", "{}")]},
        {"role": "tool", "tool_call_id": "same", "content": "two"},
    )
    assert [item.parent_id for item in items] == [None, "m0", None, "m2"]


def test_content_parts_are_joined_and_media_is_named_not_carried() -> None:
    (item,) = read(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "what is this?"},
                {"type": "image_url", "image_url": {"url": "https://x.test/cat.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        }
    )
    first, linked, inline = item.text.splitlines()
    assert first == "what is this?"
    assert linked.startswith("[image left out: https://x.test/cat.png, media:")
    assert inline.startswith("[image left out: image/png, 3 bytes, media:")
    assert "AAAA" not in item.text


def test_a_spoken_answer_is_its_transcript() -> None:
    audio = {"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "It is noon."}
    (item,) = read({"role": "assistant", "content": None, "audio": audio})
    assert item.text == "It is noon.\n[audio left out: audio_1]"


def test_content_blocks_of_a_result_are_text_and_richer_ones_stay_json() -> None:
    text = {"type": "text", "text": "ok"}
    file = {"type": "resource", "resource": {"uri": "f:1", "text": "a,b", "mimeType": "text/csv"}}
    rows = {"type": "table", "rows": [1, 2]}
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    plain, mixed, rich = read(
        {"role": "tool", "tool_call_id": "a", "content": [text]},
        {"role": "tool", "tool_call_id": "b", "content": [text, file]},
        {"role": "tool", "tool_call_id": "c", "content": [rows, image]},
    )
    assert plain.text == "ok"
    assert mixed.text == "ok\n[file: f:1, text/csv]\na,b"
    kept, placeholder = json.loads(rich.text)
    assert kept == rows
    assert placeholder["text"].startswith("[image left out: image/png, 3 bytes, ")
    assert [one.reserved.content_type for one in (plain, mixed, rich)] == [
        None,
        None,
        "application/json",
    ]


def test_arguments_that_are_no_object_stay_text() -> None:
    (item,) = read({"role": "assistant", "tool_calls": [call("a", "run", "{broken")]})
    assert item.reserved.arguments is None
    assert item.text == "run({broken)"


def test_the_old_function_form_is_read_too() -> None:
    asked, answered = read(
        {"role": "assistant", "function_call": {"name": "now", "arguments": "{}"}},
        {"role": "function", "name": "now", "content": "12:00"},
    )
    assert answered.parent_id == asked.id


def test_a_longer_copy_of_the_same_chat_keeps_the_ids() -> None:
    start = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    longer = [*start, {"role": "user", "content": "c"}]
    assert read(*longer)[:2] == read(*start)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"role": "robot", "content": "x"}, "$.role: invalid enum value 'robot'"),
        ({"role": "user", "content": 7}, "$.content: expected `str | array | null`, got `int`"),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]},
            "$.tool_calls[0].function: object missing required field `name`",
        ),
        ({"role": "user", "content": [{"text": "x"}]}, "$.content[0].type: a content part needs"),
        ({"role": "user", "content": [{"type": "text"}]}, "$.content[0].text: expected `str`"),
        ({"content": "x"}, "$: object missing required field `role`"),
        ({"role": "user", "content": "lone \ud800"}, "$.text has a lone surrogate"),
    ],
)
def test_a_fault_is_named_by_file_line_and_field(message: dict[str, Any], named: str) -> None:
    content = '[\n{"role": "user", "content": "fine"},\n' + json.dumps(message) + "]"
    with pytest.raises(InvalidInput) as caught:
        read_items(content.encode(), file="chat.json")
    assert str(caught.value).startswith("chat.json, line 3: ")
    assert named in str(caught.value)
