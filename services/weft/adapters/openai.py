"""OpenAI chat messages to items and back: text, content parts, parallel tool calls, results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from weft.adapters.content import Content, check_content, result_text, said_in, text_of
from weft.adapters.conversation import Conversation, conversation, steps_with_memory
from weft.adapters.drafting import Draft, Reading, Said, compact
from weft.adapters.media import block_text
from weft.adapters.reasoning import before_calls, of_call, reasoning_metadata
from weft.adapters.records import Record, TranscriptSource
from weft.adapters.steps import Step
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind


class _Function(msgspec.Struct, frozen=True):
    name: str
    arguments: str | dict[str, Any] = "{}"


class _Custom(msgspec.Struct, frozen=True):
    name: str
    input: str = ""


class _ToolCall(msgspec.Struct, frozen=True):
    function: _Function | None = None
    id: str | None = None
    custom: _Custom | None = None
    """A call of a tool that takes text instead of JSON."""
    extra_content: dict[str, Any] | None = None
    """Gemini's signature of its thoughts, behind its OpenAI-compatible API."""
    provider_specific_fields: dict[str, Any] | None = None
    """The same behind LiteLLM."""


class _Audio(msgspec.Struct, frozen=True):
    id: str = ""
    transcript: str = ""


class _Message(msgspec.Struct, frozen=True):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: tuple[_ToolCall, ...] | None = None
    tool_call_id: str | None = None
    function_call: _Function | None = None
    audio: _Audio | None = None
    """A spoken answer: its transcript is read."""
    reasoning_content: str | None = None
    """Some servers put the model's reasoning here (DeepSeek, Kimi), and want it back."""
    reasoning_details: list[Any] | None = None
    """OpenRouter's key for it."""
    thinking_blocks: list[Any] | None = None
    """Anthropic's, behind LiteLLM."""


def read(source: TranscriptSource) -> Reading:
    """The items of a chat. Raises `InvalidInput` with file, line and field."""
    draft = Draft(source.is_live)
    for record in source.records:
        _read(draft, record, record.to(_Message))
    return draft.reading()


def _read(draft: Draft, record: Record, message: _Message) -> None:
    check_content(record, record.value, _CONTENT)
    match message.role:
        case "system" | "developer":
            text = text_of(record, message.content, draft.left_out)
            draft.say(record, ItemKind.POLICY, Said(text), author=message.name)
        case "user":
            said = said_in(record, message.content, draft.left_out)
            draft.say(record, ItemKind.USER_TURN, said, author=message.name)
        case "assistant":
            _assistant(draft, record, message)
        case "tool" | "function":
            text, content_type = result_text(message.content, draft.left_out)
            draft.result(
                record, text, message.tool_call_id, message.name, content_type=content_type
            )


def _assistant(draft: Draft, record: Record, message: _Message) -> None:
    calls = message.tool_calls or ()
    if message.function_call is not None:
        calls = (*calls, _ToolCall(message.function_call))
    thoughts = {key: getattr(message, key) for key in THOUGHTS if getattr(message, key)}
    before = [thoughts] if thoughts and draft.keeps_reasoning else []
    reasonings = [
        reasoning_metadata("openai", () if at else before, _signed(draft, call))
        for at, call in enumerate(calls)
    ]
    if thoughts and not (before and reasonings and reasonings[0]):
        draft.left_out["reasoning"] += 1
    turn_id = draft.message_id(record) if calls else None
    text, documents = said_in(record, message.content, draft.left_out)
    text = text or message.refusal or ""
    if message.audio is not None:
        spoken = {"type": "audio", "source": {"file_id": message.audio.id}}
        recording = block_text(spoken, draft.left_out)
        text = "\n".join(filter(None, [text, message.audio.transcript, recording]))
    spoken_by = {"author": message.name, "turn_id": turn_id}
    said = draft.say(record, ItemKind.AGENT_MSG, Said(text, documents), **spoken_by)
    for at, call in enumerate(calls):
        name, arguments = _named(record, call, at)
        draft.call(
            record,
            name,
            arguments,
            call.id,
            said,
            turn_id=turn_id,
            author=message.name,
            provider_reasoning=reasonings[at],
        )


THOUGHTS = ("reasoning_content", "reasoning_details", "thinking_blocks")
"""Keys of an assistant's message that contain the reasoning before its calls."""
_CONTENT = ("content", "refusal", "audio", "tool_calls", "function_call", "tool_call_id", *THOUGHTS)
"""Keys of a message beside its role and name."""


def _signed(draft: Draft, call: _ToolCall) -> dict[str, Any]:
    fields = call.provider_specific_fields or {}
    signed = fields if "thought_signature" in fields and draft.keeps_reasoning else None
    extra = call.extra_content if draft.keeps_reasoning else None
    return {"extra_content": extra, "provider_specific_fields": signed} if extra or signed else {}


def _named(record: Record, call: _ToolCall, at: int) -> tuple[str, str | dict[str, Any]]:
    """Name and arguments of a call."""
    if call.function is not None:
        return call.function.name, call.function.arguments
    if call.custom is not None:
        return call.custom.name, call.custom.input
    record.fail(f"$.tool_calls[{at}]: a call needs `function` or `custom`")


FAILED = "[the call failed]"
"""Precedes the result of a failed call: the API has no field for that."""


def messages(entries: Sequence[PackEntry]) -> dict[str, Any]:
    """A pack's entries as keyword arguments for `chat.completions.create`.

    Every call is answered at once, parallel calls together. Pass your own `tools` as well.
    """
    return conversation_messages(conversation(entries))


def conversation_messages(talk: Conversation) -> dict[str, Any]:
    """`messages` for entries that are a conversation already."""
    out: list[dict[str, Any]] = []
    if talk.system:
        out.append({"role": "system", "content": talk.system})
    for step in steps_with_memory(talk):
        if step.calls:
            out.extend(_called(step, _said_before(out)))
        else:
            out.append({"role": step.role, "content": step.text})
    return {"messages": out}


def _said_before(out: list[dict[str, Any]]) -> str | None:
    """Remove and return what the assistant said just before its calls: one message contains
    both."""
    if out and out[-1]["role"] == "assistant" and "tool_calls" not in out[-1]:
        said: str = out.pop()["content"]
        return said
    return None


def _called(step: Step, said: str | None) -> Iterator[dict[str, Any]]:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": compact(call.arguments)},
            **of_call("openai", call.reasoning),
        }
        for call in step.calls
    ]
    message = {"role": "assistant", "content": said, "tool_calls": calls}
    for thoughts in before_calls("openai", (call.reasoning for call in step.calls)):
        message |= thoughts
    yield message
    for call in step.calls:
        result = f"{FAILED}\n{call.result}" if call.is_error else call.result
        yield {"role": "tool", "tool_call_id": call.id, "content": result}
