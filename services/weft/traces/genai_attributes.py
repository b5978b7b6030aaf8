"""What a span says of a conversation, in whichever of the conventions it is written.

- GenAI attributes: `gen_ai.system_instructions`, `gen_ai.input.messages`, `gen_ai.output.messages`
  as JSON or as structured values, `gen_ai.tool.call.*` of a tool's span;
- the older events of a span: `gen_ai.user.message`, …, `gen_ai.choice`, `gen_ai.content.prompt` and
  `gen_ai.content.completion`;
- attributes with a number for each message: `gen_ai.prompt.0.content` (OpenLLMetry) and
  `llm.input_messages.0.message.content` (OpenInference).
"""

from __future__ import annotations

from typing import Any

import msgspec

from weft.traces.chat_messages import (
    ChatMessage,
    TracedCall,
    TracedResult,
    chat_messages,
)
from weft.traces.message_parts import is_cut, parsed, shown_result
from weft.traces.otlp import Span, SpanEvent
from weft_schemas.errors import InvalidInput


class SpanContent(msgspec.Struct, frozen=True):
    """The input and the output of a model or a tool."""

    inputs: tuple[ChatMessage, ...] = ()
    outputs: tuple[ChatMessage, ...] = ()


def span_content(span: Span) -> SpanContent:
    """The content of a span; nothing if it belongs to no model or tool, or has no content. Raises
    `InvalidInput` that names the span and the attribute."""
    attributes = span.attributes
    if "gen_ai.tool.call.id" in attributes:
        return _tool(span)
    found = _attributes(span) or _events(span) or _numbered(span)
    return found or SpanContent()


def _attributes(span: Span) -> SpanContent | None:
    """The current convention, also if an event contains it."""
    details = [e.attributes for e in span.events if e.name == DETAILS]
    for held in (span.attributes, *details):
        contents = [_json(span, held, f"gen_ai.{name}") for name in NAMES]
        if any(contents):
            system, inputs, outputs = contents
            instructions = {"role": "system", "parts": system}
            said = chat_messages(instructions, "system") if system else ()
            return SpanContent((*said, *_messages(inputs)), _messages(outputs, "assistant"))
    return None


DETAILS = "gen_ai.client.inference.operation.details"
NAMES = ("system_instructions", "input.messages", "output.messages")


def _tool(span: Span) -> SpanContent:
    """A tool's span. Without the call's id it cannot be tied to the model's call; the model's next
    call contains the result anyway."""
    held = span.attributes
    name, call_id = str(held.get("gen_ai.tool.name", "")), str(held["gen_ai.tool.call.id"])
    called: tuple[ChatMessage, ...] = ()
    if "gen_ai.tool.call.arguments" in held:
        arguments = parsed(held["gen_ai.tool.call.arguments"])
        called = (ChatMessage("assistant", calls=(TracedCall(name, arguments, call_id),)),)
    is_error = span.is_error or "error.type" in held
    if "gen_ai.tool.call.result" in held:
        text = shown_result(held["gen_ai.tool.call.result"])
    elif is_error and called:
        text = _failure(span)
    else:
        return SpanContent(called)
    result = TracedResult(text, call_id, name, is_error)
    return SpanContent(called, (ChatMessage("tool", results=(result,)),))


def _failure(span: Span) -> str:
    """Why a tool failed: the type and the message of its exception, otherwise of its status."""
    kind, message = str(span.attributes.get("error.type") or ""), span.status_message
    for event in span.events:
        if event.name == "exception":
            kind = str(event.attributes.get("exception.type") or kind)
            message = str(event.attributes.get("exception.message") or message)
    if message.startswith(kind):
        return message or "the call failed"
    return ": ".join(filter(None, [kind, message]))


MESSAGES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events of the older form that contain one message, and its role."""
CHOICES = frozenset({"gen_ai.choice"})
"""Those that contain a model's answer."""


def _events(span: Span) -> SpanContent | None:
    """The older form: one event for each message."""
    inputs: list[ChatMessage] = []
    outputs: list[ChatMessage] = []
    for event in span.events:
        if event.name in MESSAGES:
            role = MESSAGES[event.name]
            inputs += chat_messages({"role": role, **_body(span, event)}, role)
        elif event.name in CHOICES:
            body = _body(span, event)
            said = parsed(body.get("message", body))
            inner = said if isinstance(said, dict) else {"content": said}
            outputs += chat_messages({"role": "assistant", **inner}, "assistant")
        elif event.name == "gen_ai.content.prompt":
            inputs += _messages(_json(span, event.attributes, "gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            completion = _json(span, event.attributes, "gen_ai.completion")
            outputs += _messages(completion, "assistant")
    return SpanContent(tuple(inputs), tuple(outputs)) if inputs or outputs else None


def _body(span: Span, event: SpanEvent) -> dict[str, Any]:
    body = event.attributes
    if "gen_ai.event.content" in body:
        inner = _json(span, body, "gen_ai.event.content")
        body = inner if isinstance(inner, dict) else {"content": inner}
    for name in ("content", "message"):
        _refuse_cut(span, name, body.get(name))
    return {key.removeprefix("gen_ai.event."): value for key, value in body.items()}


_NUMBERED = (
    ("gen_ai.prompt.", "gen_ai.completion."),
    ("llm.input_messages.", "llm.output_messages."),
)


def _numbered(span: Span) -> SpanContent | None:
    """One attribute for each field of each message."""
    for before, after in _NUMBERED:
        inputs, outputs = _unfolded(span, before), _unfolded(span, after)
        if inputs or outputs:
            return SpanContent(_messages(inputs), _messages(outputs, "assistant"))
    return None


def _unfolded(span: Span, prefix: str) -> list[Any]:
    """`…0.content`, `…0.tool_calls.1.name` as a list of objects. Raises `InvalidInput`."""
    root: dict[str, Any] = {}
    for key, value in span.attributes.items():
        if key.startswith(prefix):
            _refuse_cut(span, key, value)
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


def _messages(value: Any, role: str = "user") -> tuple[ChatMessage, ...]:
    """Messages from a list, from a single one, or from a text; `role` is that of one that names
    none."""
    listed = value if isinstance(value, list) else [value] if value else []
    return tuple(piece for message in listed for piece in chat_messages(message, role))


def _json(span: Span, held: dict[str, Any], name: str) -> Any:
    """An attribute that is structured, or JSON as text. Raises `InvalidInput`."""
    value = held.get(name)
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    whole = parsed(value)
    if whole is value:
        # Exporters cut off long attributes: half a history would be taken for another one.
        raise _not_whole(span, name)
    return whole


def _refuse_cut(span: Span, name: str, value: Any) -> None:
    """Raises `InvalidInput` for half of a content that has a tool's result."""
    if isinstance(value, str) and is_cut(value):
        raise _not_whole(span, name)


def _not_whole(span: Span, name: str) -> InvalidInput:
    return InvalidInput(
        f"span {span.span_id} ({span.name:.60}): {name} is not whole JSON; raise the "
        "exporter's limit on the length of attributes (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)"
    )
