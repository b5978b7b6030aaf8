"""Live messages of each provider become items: in order, tied together, nothing lost silently."""

import dataclasses
from typing import Any

import msgspec
import pytest

from weft import messages
from weft.adapters import read_items
from weft.adapters.conversation import CONTINUE
from weft.adapters.drafting import compact
from weft.messages.writing import request_of
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.reasoning import METADATA

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)

CHATS: dict[str, Any] = {
    "openai": {
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "compare 1 and 2"},
            {"role": "assistant", "content": "looking", "reasoning_content": "hm", "tool_calls": [
                {"id": "a", "type": "function",
                 "function": {"name": "get", "arguments": '{"n": 1}'}},
                {"id": "b", "type": "function",
                 "function": {"name": "get", "arguments": '{"n": 2}'}}]},
            {"role": "tool", "tool_call_id": "b", "content": "two"},
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "assistant", "content": "2 is more"},
        ]
    },
    "openai-responses": {
        "instructions": "be brief",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "compare 1 and 2"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "looking", "annotations": []}]},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "get",
             "arguments": '{"n": 1}', "status": "completed"},
            {"type": "function_call", "call_id": "b", "name": "get", "arguments": '{"n": 2}'},
            {"type": "function_call_output", "call_id": "b", "output": "two"},
            {"type": "function_call_output", "call_id": "a",
             "output": [{"type": "input_text", "text": "one"}]},
            {"role": "assistant", "content": "2 is more"},
        ],
    },
    "anthropic": {
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "compare 1 and 2"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "looking"},
                {"type": "tool_use", "id": "a", "name": "get", "input": {"n": 1}},
                {"type": "tool_use", "id": "b", "name": "get", "input": {"n": 2}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "two"},
                {"type": "tool_result", "tool_use_id": "a", "content": [
                    {"type": "text", "text": "one"}]}]},
            {"role": "assistant", "content": "2 is more"},
        ],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "compare 1 and 2"}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": True},
                {"text": "looking"},
                {"functionCall": {"id": "a", "name": "get", "args": {"n": 1}},
                 "thoughtSignature": "s"},
                {"function_call": {"id": "b", "name": "get", "args": {"n": 2}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "b", "name": "get", "response": {"output": "two"}}},
                {"function_response": {"id": "a", "name": "get", "response": {"result": "one"}}}]},
            {"role": "model", "parts": [{"text": "2 is more"}]},
        ],
        "config": {"system_instruction": "be brief", "tools": []},
    },
}  # fmt: skip


def without_reasoning(read: messages.ReadMessages) -> list[ContextItem]:
    return [
        msgspec.structs.replace(
            item,
            metadata={key: item.metadata[key] for key in item.metadata if key != METADATA},
        )
        for item in read.items
    ]


@pytest.mark.parametrize("provider", CHATS)
def test_the_same_conversation_gives_the_same_items_whatever_the_provider(provider: str) -> None:
    found = messages.read(CHATS[provider])
    assert found.format == provider
    assert without_reasoning(found) == without_reasoning(messages.read(CHATS["openai"]))
    policy, _, said, one, two, second, first, _ = found.items
    assert (policy.kind, policy.text) == (ItemKind.POLICY, "be brief")
    assert one.parent_id == two.parent_id == said.id
    assert one.reserved.turn_id == two.reserved.turn_id == said.id
    assert (second.parent_id, first.parent_id) == (two.id, one.id)
    assert [item.id[:2] for item in found.items] == [
        "p1", "u2", "a3", "c4", "c5", "r6", "r7", "a8"
    ]  # fmt: skip


@pytest.mark.parametrize("provider", CHATS)
def test_what_is_compiled_of_a_conversation_reads_as_the_same_again(provider: Any) -> None:
    """But for the order of results, which is that of their calls, and for the user's message that
    some providers want last."""
    items = messages.read(CHATS[provider]).items
    whole = messages.writing.request_of(items, provider)
    read = [item for item in messages.read(whole, provider).items if item.text != CONTINUE]
    assert sorted(map(_said, read)) == sorted(map(_said, items))


def _said(item: ContextItem) -> tuple[str, str, str]:
    return item.kind, item.text, item.reserved.tool_name or ""


def test_a_file_of_either_new_format_is_told_by_its_shape() -> None:
    import json

    for provider in ("openai-responses", "gemini"):
        found = read_items(json.dumps(CHATS[provider]).encode())
        assert [item.text for item in found][-1] == "2 is more"


def test_media_of_gemini_and_responses_are_named_and_counted() -> None:
    gemini = messages.read([
        {"role": "user", "parts": [
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
            {"file_data": {"file_uri": "gs://b/a.pdf?k=1", "mime_type": "application/pdf"}},
            {"text": "what?"}]},
        {"role": "model", "parts": [
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}]},
    ])  # fmt: skip
    assert gemini.left_out == {"image": 1, "file": 1}
    assert gemini.items[0].text.startswith("[image left out: image/png, 1x1,")
    assert "k=1" not in gemini.items[0].text
    call, result = gemini.items[1:]
    assert (call.kind, call.text) == (ItemKind.TOOL_CALL, "code_execution(print(1))")
    assert (result.kind, result.text, result.parent_id) == (ItemKind.TOOL_RESULT, "1", call.id)
    responses = messages.read([
        {"type": "message", "role": "user", "content": [
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}]},
        {"type": "image_generation_call", "id": "ig", "status": "completed", "result": PNG},
        {"type": "web_search_call", "id": "ws", "status": "completed",
         "action": {"type": "search", "query": "weft"}},
        {"type": "mcp_call", "id": "mcp", "server_label": "x", "name": "add",
         "arguments": "{}", "error": "boom"},
        {"type": "item_reference", "id": "msg_0"},
        {"type": "computer_call", "call_id": "cc", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "cc",
         "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}},
    ])  # fmt: skip
    assert responses.left_out == {"image": 3, "reference": 1}
    texts = [item.text for item in responses.items]
    assert 'web_search({"action":{"type":"search","query":"weft"}})' in texts
    assert ("boom", True) in [(one.text, one.reserved.is_error) for one in responses.items]
    assert not any(PNG[:20] in text for text in texts)


def test_a_hosted_search_that_ended_is_answered() -> None:
    search = {"type": "web_search_call", "action": {"type": "search", "query": "lamps"}}
    statuses = ("completed", "failed", "in_progress")
    read = messages.read([search | {"id": one, "status": one} for one in statuses])
    results = [one for one in read.items if one.kind is ItemKind.TOOL_RESULT]
    calls = [one.id for one in read.items if one.kind is ItemKind.TOOL_CALL]
    assert [one.parent_id for one in results] == calls[:2]
    assert [one.reserved.is_error for one in results] == [None, True]
    assert results[0].text == "(done at the provider, which keeps the result)"


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "lamps"}}
FOUND = {
    "type": "web_search_result",
    "url": "https://x.example",
    "title": "Lamp L-9 is out",
    "encrypted_content": "AAAA",
}
FETCHED = {"type": "text", "media_type": "text/plain", "data": "It costs 9."}
PAGE = {"type": "document", "title": "L-9", "source": FETCHED}
FETCH_RESULT = {"type": "web_fetch_result", "url": "https://x.example", "content": PAGE}


def test_calls_of_the_provider_s_tools_are_calls_with_results() -> None:
    def answer(kind: str, content: Any, **more: Any) -> dict[str, Any]:
        return {"type": kind, "tool_use_id": "s1", "content": content, **more}

    listed = '[{"type":"web_search_result","url":"https://x.example","title":"Lamp L-9 is out"}]'
    fetched = {**FETCH_RESULT, "content": "[file: L-9, text/plain]\nIt costs 9."}
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    for block, told, failed in (
        (answer("web_search_tool_result", [FOUND]), listed, None),
        (answer("web_search_tool_result", error), compact(error), True),
        (answer("web_fetch_tool_result", FETCH_RESULT), compact(fetched), None),
        (answer("mcp_tool_result", [{"type": "text", "text": "hi"}], is_error=True), "hi", True),
    ):
        said = [{"type": "text", "text": one} for one in ("Searching.", "L-9 is out.")]
        history = [
            {"role": "user", "content": "New lamps?"},
            {"role": "assistant", "content": [said[0], SEARCH, block, said[1]]},
        ]
        read = messages.read(history)
        assert not read.left_out
        _, _, call, result, text = read.items
        assert (result.text, result.reserved.is_error, result.parent_id) == (told, failed, call.id)
        assert call.reserved.arguments == {"query": "lamps"}
        assert text.text == "L-9 is out."
        *_, asked, answered, last = request_of(read.items, "anthropic")["messages"][:4]
        assert [one["type"] for one in asked["content"]] == ["text", "tool_use"]
        assert [one["type"] for one in answered["content"]] == ["tool_result"]
        assert last == {"role": "assistant", "content": "L-9 is out."}


def test_thinking_stays_before_all_calls_of_a_message_that_ends_with_one() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    own = {"type": "tool_use", "id": "t1", "name": "pay", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [FOUND]}
    text = {"type": "text", "text": "Found it."}
    read = messages.read([{"role": "assistant", "content": [thought, SEARCH, found, text, own]}])
    made = [*read.items, ContextItem("r", ItemKind.TOOL_RESULT, "paid", read.items[-1].id)]
    _, asked, answered = request_of(made, "anthropic")["messages"]
    kinds = [one["type"] for one in asked["content"]]
    assert kinds == ["thinking", "text", "tool_use", "tool_use"]
    assert [one["type"] for one in answered["content"]] == ["tool_result"] * 2


def test_calls_of_gemini_without_ids_are_answered_by_name_in_order() -> None:
    call: dict[str, Any] = {"functionCall": {"name": "get", "args": {"n": 1}}}
    other = {"functionCall": {"name": "put", "args": {}}}
    answer = {"functionResponse": {"name": "get", "response": {"output": "1"}}}
    failed = {"functionResponse": {"name": "put", "response": {"error": "full"}}}
    found = messages.read([
        {"role": "model", "parts": [call, other, call]},
        {"role": "user", "parts": [failed, answer, answer]},
    ])  # fmt: skip
    one, put, two, full, first, second = found.items
    assert [full.parent_id, first.parent_id, second.parent_id] == [put.id, one.id, two.id]
    assert full.reserved.is_error
    assert full.text == "full"


class Dumped:
    """As an object of a provider's library."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, mode: str, warnings: bool) -> dict[str, Any]:
        assert mode == "json"
        return self.fields


@dataclasses.dataclass
class Block:
    type: str
    text: str


@pytest.mark.parametrize("role", ["tool", "function"])
def test_a_text_beside_a_response_of_gemini_is_not_the_users(role: str) -> None:
    response = {"function_response": {"name": "find", "response": {"result": "7"}}}
    contents = [{"role": role, "parts": [{"text": "My name is Eve."}, response]}]
    found = [item.kind for item in messages.read(contents, "gemini").items]
    assert found == [ItemKind.DOC_SNIPPET, ItemKind.TOOL_RESULT]


@pytest.mark.parametrize(
    ("message", "format", "fault"),
    [
        ({"role": "user", "blocks": [{"text": "hi"}]}, "auto", "`content`, and this one has b"),
        ({"role": "user", "items": [{"text": "hi"}]}, "openai-responses", "`content`"),
        ({"role": "user", "parts": [{"text": "hi"}]}, "openai", "`content`"),
        ({"role": "user", "content": "hi"}, "gemini", "`parts`, and this one has content"),
    ],
)
def test_words_in_another_form_are_not_lost_without_a_word(
    message: dict[str, Any], format: Any, fault: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"messages\[0\]: \$: .* without {fault}"):
        messages.read([message], format)


def test_objects_of_libraries_are_read_as_what_they_say() -> None:
    said = {
        "role": "assistant",
        "content": [Block("text", "hi"), Dumped(type="text", text="there")],
    }
    found = messages.read([Dumped(role="user", content="x", refusal=None), said])
    assert [item.text for item in found.items] == ["x", "hi\nthere"]
    itself: list[Any] = []
    itself.append({"role": "user", "content": itself})
    for wrong, message in (
        ([object()], "holds a object, which is no JSON"),
        (itself, "nested deeper than"),
        ("hi", "a text is no list of messages"),
        ({"role": "user"}, "has no list of messages"),
        ([{"role": "user", "content": 5}], r"messages\[0\]: \$\.content"),
        ([{"role": "user", "content": "a"}, {"role": "robot"}], r"messages\[1\]: \$\.role"),
        ([{"action": "x"}], "this is openhands; hand over one of openai"),
        ([{"colour": "red"}], "keys colour; messages have a `role`; name their form as `format`: "),
    ):
        with pytest.raises(InvalidInput, match=message):
            messages.read(wrong)
    assert messages.read([]).items == ()


@pytest.mark.parametrize("provider", CHATS)
def test_the_calls_of_an_answer_are_the_same_for_every_provider(provider: str) -> None:
    chat = CHATS[provider]
    listed: list[Any] = next(chat[key] for key in ("messages", "input", "contents") if key in chat)
    calls = [one for message in listed for one in messages.tool_calls(message)]
    assert [(one.id, one.name, one.arguments) for one in calls] == [
        ("a", "get", {"n": 1}),
        ("b", "get", {"n": 2}),
    ]


def _nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels - 1):
        made = {"child": made}
    return made


@pytest.mark.parametrize(("levels", "fits"), [(63, True), (64, False), (150, False)])
@pytest.mark.parametrize(
    "written", [msgspec.to_builtins, lambda made: msgspec.json.encode(made).decode()]
)
def test_arguments_that_are_nested_too_deep_stay_in_the_text(levels, fits, written) -> None:
    function = {"name": "store", "arguments": written(_nested(levels))}
    message = {"role": "assistant", "tool_calls": [{"id": "a", "function": function}]}
    (item,) = messages.read([message], "openai").items
    assert (item.reserved.arguments is not None) is fits
    assert item.text.count("child") == levels - 1
    (call,) = messages.tool_calls(message)
    assert call.arguments == _nested(levels), "a loop of one's own can still run it"


def test_a_call_with_empty_arguments_is_made_without_any_in_its_place() -> None:
    calls = [{"id": name, "function": {"name": "get", "arguments": text}}
             for name, text in (("a", ""), ("b", '{"n": 1}'))]  # fmt: skip
    results = [{"role": "tool", "tool_call_id": name, "content": name} for name in ("a", "b")]
    read = messages.read([{"role": "assistant", "tool_calls": calls}, *results], "openai")
    sent = messages.writing.request_of(read.items, "openai")["messages"]
    assert [call["function"]["arguments"] for call in sent[0]["tool_calls"]] == ["{}", '{"n":1}']
    assert [one["content"] for one in sent[1:]] == ["a", "b"]
