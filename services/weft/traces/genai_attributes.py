"""What a span says of a conversation, in whichever of the conventions it is written.

- GenAI attributes: `gen_ai.system_instructions`, `gen_ai.input.messages`, `gen_ai.output.messages`
  as JSON or as structured values, `gen_ai.tool.call.*` of a tool's span;
- the older events of a span: `gen_ai.user.message`, …, `gen_ai.choice`, `gen_ai.content.prompt` and
  `gen_ai.content.completion`;
- attributes with a number for each message: `gen_ai.prompt.0.content` (OpenLLMetry) and
  `llm.input_messages.0.message.content` (OpenInference).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from weft.adapters.drafting import compact
from weft.adapters.media import block_text
from weft.traces.otlp import Span, SpanEvent
from weft_schemas.errors import InvalidInput


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


class TracedExchange(msgspec.Struct, frozen=True):
    """The input and the output of a model or a tool."""

    inputs: tuple[ChatMessage, ...] = ()
    outputs: tuple[ChatMessage, ...] = ()


def exchange(span: Span) -> TracedExchange:
    """The content of a span; nothing if it belongs to no model or tool, or has no content. Raises
    `InvalidInput` that names the span and the attribute."""
    attributes = span.attributes
    if "gen_ai.tool.call.id" in attributes:
        return _tool(span)
    found = _attributes(span) or _events(span) or _numbered(attributes)
    return found or TracedExchange()


def _attributes(span: Span) -> TracedExchange | None:
    """The current convention, also if an event contains it."""
    details = [e.attributes for e in span.events if e.name == DETAILS]
    for held in (span.attributes, *details):
        contents = [_json(span, held, f"gen_ai.{name}") for name in NAMES]
        if any(contents):
            system, inputs, outputs = contents
            instructions = _message({"role": "system", "parts": system}) if system else None
            return TracedExchange(
                (*([instructions] if instructions else []), *_messages(inputs)), _messages(outputs)
            )
    return None


DETAILS = "gen_ai.client.inference.operation.details"
NAMES = ("system_instructions", "input.messages", "output.messages")


def _tool(span: Span) -> TracedExchange:
    """A tool's span. Without the call's id it cannot be tied to the model's call; the model's next
    call contains the result anyway."""
    held = span.attributes
    name, call_id = str(held.get("gen_ai.tool.name", "")), str(held["gen_ai.tool.call.id"])
    called: tuple[ChatMessage, ...] = ()
    if "gen_ai.tool.call.arguments" in held:
        arguments = _parsed(held["gen_ai.tool.call.arguments"])
        called = (ChatMessage("assistant", calls=(TracedCall(name, arguments, call_id),)),)
    if "gen_ai.tool.call.result" not in held:
        return TracedExchange(called)
    is_error = span.is_error or "error.type" in held
    result = TracedResult(_text_of(held["gen_ai.tool.call.result"]), call_id, name, is_error)
    return TracedExchange(called, (ChatMessage("tool", results=(result,)),))


MESSAGES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events of the older form that contain one message, and its role."""
CHOICES = frozenset({"gen_ai.choice"})
"""Those that contain a model's answer."""


def _events(span: Span) -> TracedExchange | None:
    """The older form: one event for each message."""
    inputs: list[ChatMessage] = []
    outputs: list[ChatMessage] = []
    for event in span.events:
        if event.name in MESSAGES:
            inputs.append(_message({"role": MESSAGES[event.name], **_body(span, event)}))
        elif event.name in CHOICES:
            body = _body(span, event)
            said = _parsed(body.get("message", body))
            inner = said if isinstance(said, dict) else {"content": said}
            outputs.append(_message({"role": "assistant", **inner}))
        elif event.name == "gen_ai.content.prompt":
            inputs += _messages(_json(span, event.attributes, "gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            outputs += _messages(_json(span, event.attributes, "gen_ai.completion"))
    return TracedExchange(tuple(inputs), tuple(outputs)) if inputs or outputs else None


def _body(span: Span, event: SpanEvent) -> dict[str, Any]:
    body = event.attributes
    if "gen_ai.event.content" in body:
        inner = _json(span, body, "gen_ai.event.content")
        body = inner if isinstance(inner, dict) else {"content": inner}
    return {key.removeprefix("gen_ai.event."): value for key, value in body.items()}


_NUMBERED = (
    ("gen_ai.prompt.", "gen_ai.completion."),
    ("llm.input_messages.", "llm.output_messages."),
)


def _numbered(attributes: dict[str, Any]) -> TracedExchange | None:
    """One attribute for each field of each message."""
    for before, after in _NUMBERED:
        inputs, outputs = _unfolded(attributes, before), _unfolded(attributes, after)
        if inputs or outputs:
            return TracedExchange(_messages(inputs), _messages(outputs))
    return None


def _unfolded(attributes: dict[str, Any], prefix: str) -> list[Any]:
    """`…0.content`, `…0.tool_calls.1.name` as a list of objects."""
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            at = root
            *steps, last = key.removeprefix(prefix).split(".")
            for step in steps:
                inner = at.setdefault(step, {})
                if not isinstance(inner, dict):
                    break
                at = inner
            else:
                at[last] = value
    return _listed(root) if isinstance(_listed(root), list) else []


def _listed(value: Any) -> Any:
    """The value with objects whose keys are all numbers as lists, and without OpenInference's
    wrapper."""
    if not isinstance(value, dict):
        return value
    inner = {key: _listed(one) for key, one in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    for wrapper in ("message", "tool_call"):
        if list(inner) == [wrapper]:
            return inner[wrapper]
    return inner


def _messages(value: Any) -> tuple[ChatMessage, ...]:
    """Messages from a list, from a single one, or from a text, which the user said."""
    listed = value if isinstance(value, list) else [value] if value else []
    return tuple(_message(message) for message in listed)


def _message(message: Any) -> ChatMessage:
    """A message of parts (the current convention) or of content and tool calls (OpenAI's)."""
    if not isinstance(message, dict):
        return ChatMessage("user", _text_of(message))
    role = str(message.get("role", "user"))
    parts = message.get("parts", message.get("contents", message.get("content")))
    texts: list[str] = []
    calls = [_call(one) for one in _objects(_parsed(message.get("tool_calls")))]
    results: list[TracedResult] = []
    for part in parts if isinstance(parts, list) else [parts]:
        match part:
            case None:
                continue
            case {"type": "tool_call"}:
                calls.append(_call(part))
            case {"type": "tool_call_response"}:
                response = part.get("response", part.get("result", part.get("content")))
                name = str(part.get("name") or "")
                results.append(TracedResult(_text_of(response), str(part.get("id") or ""), name))
            case {"type": "reasoning" | "thinking"}:
                continue
            case {"type": "text", "content": str(text)} | {"type": "text", "text": str(text)}:
                texts.append(text)
            case dict():
                texts.append(block_text(part, Counter()) or _text_of(part))
            case _:
                texts.append(_text_of(part))
    text = "\n".join(texts)
    if role in ("tool", "function"):
        call_id = message.get("tool_call_id", message.get("id"))
        if not results:
            results = [TracedResult(text, str(call_id or ""), str(message.get("name") or ""))]
        text = ""
    return ChatMessage(role, text, tuple(calls), tuple(results))


def _call(call: dict[str, Any]) -> TracedCall:
    inner = call.get("function")
    held = inner if isinstance(inner, dict) else call
    name = held.get("name", call.get("function.name", ""))
    arguments = held.get("arguments", call.get("function.arguments", {}))
    return TracedCall(str(name), _parsed(arguments), str(call.get("id") or ""))


def _objects(values: Any) -> Iterable[dict[str, Any]]:
    listed = values if isinstance(values, list) else []
    return [value for value in listed if isinstance(value, dict)]


def _json(span: Span, held: dict[str, Any], name: str) -> Any:
    """An attribute that is structured, or JSON as text. Raises `InvalidInput`."""
    value = held.get(name)
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        # Exporters cut off long attributes: half a history would be taken for another one.
        raise InvalidInput(
            f"span {span.span_id} ({span.name:.60}): {name} is not whole JSON; raise the "
            "exporter's limit on the length of attributes (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)"
        ) from None


def _parsed(value: Any) -> Any:
    """JSON if it can be parsed, otherwise the value itself."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def _text_of(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else compact(value)
