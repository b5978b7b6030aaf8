"""What is wrong with a message of the Responses API, Gemini or OpenHands is named by its field."""

import json
from typing import Any

import pytest

from weft import messages
from weft.adapters import read_items
from weft.messages.reading import turns_of
from weft_schemas.errors import InvalidInput

HI = {"role": "user", "parts": [{"text": "hi"}]}


def refused(content: Any, format: str) -> str:
    with pytest.raises(InvalidInput) as raised:
        read_items(json.dumps(content).encode(), format, "chat.json")
    return str(raised.value)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"functionCall": "x"}, "functionCall: expected an object, got `str`"),
        ({"functionResponse": "x"}, "functionResponse: expected an object, got `str`"),
        ({"inline_data": -1}, "inlineData: expected an object, got `int`"),
        ({"file_data": "hi"}, "fileData: expected an object, got `str`"),
        ({"executableCode": ["x"]}, "executableCode: expected an object, got `list`"),
        ({"code_execution_result": "x"}, "codeExecutionResult: expected an object, got `str`"),
        ({"functionCall": {"name": 7}}, "functionCall.name: a call needs the name of its function"),
        (
            {"functionCall": {"name": "f", "id": {"a": 1}}},
            "functionCall.id: expected a text, got `dict`",
        ),
        (
            {"functionResponse": {"name": "f", "id": {"a": 1}}},
            "functionResponse.id: expected a text, got `dict`",
        ),
        (
            {"functionResponse": {"name": "f", "parts": 7}},
            "functionResponse.parts: expected an array of objects",
        ),
        (
            {"functionResponse": {"name": "f", "parts": [{"inlineData": "x"}]}},
            "functionResponse.parts[0].inlineData: expected an object, got `str`",
        ),
    ],
)
def test_a_part_of_geminis_is_told_by_its_place(part: dict[str, Any], told: str) -> None:
    said = refused([HI, {"role": "model", "parts": [{"text": "x"}, part]}], "auto")
    assert said == f"chat.json, line 1: $.parts[1].{told}; nothing was published"


def test_a_signature_that_would_go_back_to_gemini_is_a_text() -> None:
    part = {"functionCall": {"name": "f"}, "thoughtSignature": 1}
    with pytest.raises(InvalidInput, match=r"thoughtSignature: expected a text, got `int`"):
        messages.read([HI, {"role": "model", "parts": [part]}])


@pytest.mark.parametrize("role", [["user"], {"a": 1}, 7, "robot"])
def test_a_role_of_geminis_is_one_of_two(role: Any) -> None:
    said = refused([HI, {**HI, "role": role}], "auto")
    assert f"$.role: {role!r} is unknown; use user or model" in said


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (["hello"], "$.content[0]: expected `object`, got `str`"),
        (7, "$.content: expected `str | array | null`, got `int`"),
    ],
)
def test_a_message_of_the_responses_api_has_parts(content: Any, told: str) -> None:
    message = {"type": "message", "role": "assistant", "content": content}
    assert told in refused({"input": [message]}, "openai-responses")


@pytest.mark.parametrize("kind", [{"a": 1}, ["text"], 7])
def test_a_part_whose_type_is_no_word_is_refused_whatever_the_format(kind: Any) -> None:
    message = {"role": "user", "content": [{"type": kind, "text": "x"}]}
    for format in ("auto", "openai", "openai-responses", "anthropic"):
        assert "$.content[0].type: a content part needs a type" in refused([message], format)


@pytest.mark.parametrize("kind", [{"a": 1}, ["message"]])
def test_an_item_whose_type_is_no_word_is_of_no_format(kind: Any) -> None:
    assert "no format that we read has records with the keys type" in refused(
        [{"type": kind}], "auto"
    )
    assert turns_of([{"type": kind}, {"type": kind}]) == [
        [{"type": kind}],
        [{"type": kind}],
    ]


@pytest.mark.parametrize("metadata", ["exit 1", [1], 7])
def test_an_observation_of_openhands_has_an_exit_code_only_in_an_object(metadata: Any) -> None:
    call = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}
    seen = {"id": 2, "observation": "run", "content": "a", "cause": 1}
    said = json.dumps([call, {**seen, "extras": {"metadata": metadata}}]).encode()
    assert "exit_code" not in read_items(said)[1].metadata


@pytest.mark.parametrize("response", [{"choices": 7}, {"choices": [7]}, {"choices": [{}]}])
def test_a_stored_response_that_is_none_leaves_the_actions_own_arguments(response: Any) -> None:
    meta = {"function_name": "bash", "tool_call_id": "1", "model_response": response}
    call = {"action": "run", "args": {"command": "ls"}, "tool_call_metadata": meta}
    assert read_items(json.dumps([call]).encode())[0].reserved.arguments == {"command": "ls"}
