"""However a transcript is malformed, it is read or refused by file, line and field: an exporter's
bug or a truncated tool must not end a publish with a traceback."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft import messages
from weft.adapters import read_transcripts
from weft_schemas.errors import InvalidInput
from weft_schemas.lone_surrogates import is_encodable

Path = tuple[str | int, ...]
"""Keys and positions from the outside in; the place of one value in a transcript."""

PICTURE = "iVBORw0KGgo="
TRANSCRIPTS: dict[str, Any] = {
    "weft": [
        {"id": "a", "kind": "tool_call", "text": "f({})", "sensitivity": "public"},
        {
            "id": "b",
            "kind": "tool_result",
            "text": "42",
            "parent_id": "a",
            "token_estimate": 1,
            "metadata": {"tool_name": "f", "is_error": False, "extra": {"any": [1]}},
        },
    ],
    "contextweaver": [
        {"id": "a", "type": "tool_call", "text": "f(x=1)", "metadata": {"any": 1}},
        {"id": "b", "type": "tool_result", "text": "42", "parent_id": "a", "token_estimate": 1},
    ],
    "openai": [
        {"role": "user", "name": "Ann", "content": [
            {"type": "text", "text": "hi"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain,hi"}},
        ]},
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"id": "2", "type": "custom", "custom": {"name": "g", "input": "x"}},
        ]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "ok"}]},
    ],
    "anthropic": {"system": [{"type": "text", "text": "be kind"}], "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "hi"},
            {"type": "image", "source": {
                "type": "base64", "media_type": "image/png", "data": PICTURE}},
            {"type": "document", "title": "t", "source": {
                "type": "content", "content": [{"type": "text", "text": "x"}]}},
        ]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
            {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "2", "content": [
                {"type": "web_search_result", "url": "https://x.test", "title": "x"}]},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": True,
                                      "content": [{"type": "text", "text": "no"}]}]},
    ]},
    "openai-responses": {"instructions": "be kind", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "id": "f", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": [
            {"type": "input_text", "text": "ok"}]},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "x"}},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "done"}]},
    ]},
    "gemini": {"systemInstruction": {"parts": [{"text": "be kind"}]}, "contents": [
        {"role": "user", "parts": [
            {"text": "hi"},
            {"inlineData": {"mimeType": "image/png", "data": PICTURE, "displayName": "a"}},
            {"file_data": {"mime_type": "text/plain", "file_uri": "gs://a/b"}},
        ]},
        {"role": "model", "parts": [
            {"thought": True, "text": "hm"},
            {"functionCall": {"id": "1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "cw"},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        ]},
        {"role": "user", "parts": [{"functionResponse": {
            "id": "1", "name": "f", "response": {"output": "ok"}, "parts": [
                {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]}}]},
    ]},
    "openhands": [
        {"id": 1, "source": "user", "action": "message", "timestamp": "2025-01-20T20:29:35",
         "args": {"content": "hi", "image_urls": ["https://x.test/a.png"]}},
        {"id": 2, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "hm"},
         "tool_call_metadata": {"function_name": "bash", "tool_call_id": "1", "model_response": {
             "choices": [{"message": {"tool_calls": [
                 {"id": "1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]}}]}}},
        {"id": 3, "observation": "run", "content": "a", "cause": 2,
         "extras": {"metadata": {"exit_code": 0}, "screenshot": "x"}},
        {"observation": "recall", "content": "", "extras": {
            "repo_instructions": "be kind", "microagent_knowledge": [{"content": "x"}]}},
    ],
}  # fmt: skip
"""A valid transcript of each format, with what its reader looks at."""

REMOVED = object()
OTHERS = (
    REMOVED, None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", [], ["x"], [[]], [{}], {},
    {"x": "y"}, {"\ud800": "y"},
)  # fmt: skip
"""What may stand instead of a value: nothing, or a value of each JSON type, and some that a reader
may take for what they are not."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a value, its own first."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from places(inner, (*path, at))


PLACES = {format: list(places(value))[1:] for format, value in TRANSCRIPTS.items()}


def changed(value: Any, path: Path, other: Any) -> Any:
    """A copy in which something else stands at the place, if that still exists."""
    if not path:
        return other
    first, *rest = path
    known = dict(enumerate(value)) if isinstance(value, list) else value
    if not isinstance(known, dict) or first not in known:
        return value
    inner = changed(known[first], tuple(rest), other)
    made = {**known, first: inner}
    if inner is REMOVED:
        del made[first]
    return list(made.values()) if isinstance(value, list) else made


def read_or_refused(format: str, value: Any) -> None:
    """In a file, as itself and as what it is taken for; and in a loop, if it is a provider's."""
    content = json.dumps(value).encode()
    for said in ("auto", format):
        with refusal(value):
            read_transcripts(content, said, "given.json")
    for provider in messages.FORMATS:
        if provider == format:
            with refusal(value):
                messages.read(value, provider)


@contextmanager
def refusal(value: Any) -> Iterator[None]:
    """Nothing, or an error that can be shown."""
    said = ""
    try:
        yield
    except InvalidInput as error:
        said = str(error)
    except Exception as error:
        raise AssertionError(f"neither read nor refused: {value!a}") from error
    assert is_encodable(said), ascii(said)


@pytest.mark.parametrize("format", TRANSCRIPTS)
def test_what_is_changed_here_is_a_transcript_of_its_format(format: str) -> None:
    [found] = read_transcripts(json.dumps(TRANSCRIPTS[format]).encode())
    assert found.format == format
    assert found.items


@pytest.mark.parametrize("format", TRANSCRIPTS)
def test_one_value_of_a_wrong_type_anywhere_is_read_or_refused(format: str) -> None:
    for path in PLACES[format]:
        for other in OTHERS:
            read_or_refused(format, changed(TRANSCRIPTS[format], path, other))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(list(TRANSCRIPTS)))
def test_several_values_of_a_wrong_type_are_read_or_refused(data: st.DataObject, fmt: str) -> None:
    value = TRANSCRIPTS[fmt]
    for _ in range(data.draw(st.integers(2, 6))):
        path = data.draw(st.sampled_from(PLACES[fmt]))
        value = changed(value, path, data.draw(st.sampled_from(OTHERS)))
    read_or_refused(fmt, value)
