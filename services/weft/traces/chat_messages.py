"""A message of a trace as what is said, called and returned in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from weft.adapters.roles import SYSTEM, TOOLS, USERS
from weft.traces.message_parts import (
    Part,
    is_call,
    is_result,
    parsed,
    part_text,
    parts_in,
    result_of,
    shown_result,
    text_of,
    typed,
)


class TracedCall(msgspec.Struct, frozen=True):
    """A call of a tool."""

    name: str
    arguments: Any
    id: str = ""


class TracedResult(msgspec.Struct, frozen=True):
    """The answer of a tool."""

    text: str
    id: str = ""
    name: str = ""
    is_error: bool = False


class ChatMessage(msgspec.Struct, frozen=True):
    """One message: its text, with its calls and results."""

    role: str
    text: str = ""
    calls: tuple[TracedCall, ...] = ()
    results: tuple[TracedResult, ...] = ()
    documents: tuple[str, ...] = ()
    """Files and search results that came with the text."""


_NOT_SAID = "thinking"
"""OpenLLMetry's role for a model's reasoning."""


def chat_messages(message: Any, role_if_none: str) -> tuple[ChatMessage, ...]:
    """A message of parts (the current convention) or of content and tool calls (OpenAI's). It is
    several if something is said after a result. `role_if_none` is that of one that names none."""
    if not isinstance(message, dict):
        return (ChatMessage(role_if_none, text_of(message)),)
    inner = message.get("content")
    if isinstance(inner, dict) and isinstance(inner.get("parts"), list):
        message = {**message, "content": inner["parts"]}  # Gemini's content
    role = str(message.get("role") or role_if_none)
    if role == _NOT_SAID:
        return ()
    if role in TOOLS or message.get("tool_call_id"):
        return _returned(message, role)
    called = [_call(one) for one in _objects(parsed(message.get("tool_calls")))]
    return _messages(role, _parts(_content(message), role), [*called, *_function_call(message)])


def _content(message: dict[str, Any]) -> Any:
    return message.get("parts", message.get("contents", message.get("content")))


def _parts(content: Any, role: str) -> list[Any]:
    """Only a model calls tools, and nothing in a system prompt is a result: a text there that looks
    like either stays a text."""
    if isinstance(content, list):
        return [typed(one) if isinstance(one, dict) else one for one in content]
    if isinstance(content, str):
        is_prompt = role in SYSTEM
        is_user = role in USERS
        parts = parts_in(content, calls=not (is_prompt or is_user), results=not is_prompt)
        return [content] if parts is None else list(parts)
    return [] if content is None else [typed(content) if isinstance(content, dict) else content]


def _returned(message: dict[str, Any], role: str) -> tuple[ChatMessage, ...]:
    """A tool's message: it is one result, or its parts are some."""
    call_id = str(message.get("tool_call_id", message.get("id")) or "")
    if role not in TOOLS:
        # OpenInference wrote so what a user's message of Anthropic's has: a result, and the rest.
        rest = _messages(role, _parts(message.get("contents"), role), [])
        return (_of_tool(message, message.get("content"), call_id), *rest)
    content = _content(message)
    # A tool can return any text. So one that is tied to a call is never read as other results.
    parts = _parts(content, role) if not (call_id and isinstance(content, str)) else []
    results = [_result(part) for part in parts if isinstance(part, dict) and is_result(part)]
    if results:
        return (ChatMessage(role, results=tuple(results)),)
    return (_of_tool(message, content, call_id),)


def _of_tool(message: dict[str, Any], content: Any, call_id: str) -> ChatMessage:
    result = TracedResult(shown_result(content), call_id, str(message.get("name") or ""))
    return ChatMessage("tool", results=(result,))


def _messages(role: str, parts: Iterable[Any], called: list[TracedCall]) -> tuple[ChatMessage, ...]:
    """A message of parts, with the calls that it lists beside them."""
    pieces = _Pieces(role)
    is_system = role in SYSTEM
    for part in parts:
        if not isinstance(part, dict):
            pieces.say(text_of(part))
        elif is_call(part):
            pieces.call(_call(part))
        elif is_result(part):
            pieces.result(_result(part))
        else:
            text, is_document = part_text(part)
            (pieces.add_document if is_document and not is_system else pieces.say)(text)
    for call in called:
        if not pieces.has(call):
            pieces.call(call)
    return pieces.all()


class _Pieces:
    """Collects a message. What is said or called after a result begins another piece."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._done: list[ChatMessage] = []
        self._texts: list[str] = []
        self._documents: list[str] = []
        self._calls: list[TracedCall] = []
        self._results: list[TracedResult] = []

    def say(self, text: str) -> None:
        if text:
            self._begin_after_results()
            self._texts.append(text)

    def add_document(self, text: str) -> None:
        self._begin_after_results()
        self._documents.append(text)

    def call(self, call: TracedCall) -> None:
        self._begin_after_results()
        self._calls.append(call)

    def result(self, result: TracedResult) -> None:
        self._results.append(result)

    def has(self, call: TracedCall) -> bool:
        """Whether it is among the calls so far: some instrumentations write each twice."""
        calls = [one for piece in self._done for one in piece.calls] + self._calls
        return any(one.id == call.id if call.id else one == call for one in calls)

    def all(self) -> tuple[ChatMessage, ...]:
        self._end()
        return tuple(self._done)

    def _begin_after_results(self) -> None:
        if self._results:
            self._end()

    def _end(self) -> None:
        made = ChatMessage(
            self._role,
            "\n".join(self._texts),
            tuple(self._calls),
            tuple(self._results),
            tuple(self._documents),
        )
        self._done.append(made)
        self._texts, self._calls, self._results, self._documents = [], [], [], []


def _result(part: Part) -> TracedResult:
    content = part.get("content")
    failed = bool(part.get("is_error")) or (isinstance(content, dict) and "error_code" in content)
    call_id, name = part.get("tool_use_id"), part.get("name")
    return TracedResult(result_of(part), str(call_id or ""), str(name or ""), failed)


def _call(call: Part) -> TracedCall:
    inner = call.get("function")
    held = inner if isinstance(inner, dict) else call
    name = held.get("name", call.get("function.name", ""))
    arguments = held.get("arguments", call.get("function.arguments", held.get("input", {})))
    return TracedCall(str(name), parsed(arguments), str(call.get("id") or ""))


def _function_call(message: dict[str, Any]) -> list[TracedCall]:
    """The call in OpenAI's older form, and as OpenInference names it."""
    call = message.get("function_call")
    if isinstance(call, dict):
        return [_call(call)]
    name = message.get("function_call_name")
    if not name:
        return []
    arguments = message.get("function_call_arguments_json", {})
    return [TracedCall(str(name), parsed(arguments))]


def _objects(values: Any) -> list[dict[str, Any]]:
    listed = values if isinstance(values, list) else []
    return [value for value in listed if isinstance(value, dict)]
