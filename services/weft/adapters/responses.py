"""Items of OpenAI's Responses API to items of the log and back: messages, calls and their outputs.

A turn is here a run of items, not a message: what the assistant says, and the calls after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from weft.adapters.content import Content, check_content, result_text, said_in, text_of
from weft.adapters.conversation import Conversation, conversation, steps_with_memory
from weft.adapters.drafting import Draft, Reading, Said, compact
from weft.adapters.media import block_text
from weft.adapters.openai import FAILED
from weft.adapters.reasoning import before_calls, of_call, reasoning_metadata
from weft.adapters.records import Record, TranscriptSource
from weft.adapters.steps import Step
from weft.part_kind import part_kind
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

TYPES = frozenset(
    {
        *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
        *("reasoning", "compaction", "item_reference", "web_search_call", "file_search_call"),
        *("computer_call", "computer_call_output", "code_interpreter_call"),
        *("image_generation_call", "local_shell_call", "local_shell_call_output", "shell_call"),
        *("shell_call_output", "apply_patch_call", "apply_patch_call_output", "mcp_call"),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_call"),
    }
)
"""Types of items that no other format has. A `message` has a role and is recognised by its
parts."""

_KINDS = {
    "user": ItemKind.USER_TURN,
    "assistant": ItemKind.AGENT_MSG,
    "system": ItemKind.POLICY,
    "developer": ItemKind.POLICY,
}
_THE_PROVIDERS = frozenset(
    {"type", "id", "call_id", "status", "created_by", "encrypted_content", "name", "server_label"}
)
"""Keys of a call that say nothing about its input."""
_ANSWERS = ("output", "outputs", "results", "result", "error", "tools")
"""Keys under which a call itself contains the answer of a tool that runs at the provider."""
_HOSTED = frozenset(
    {
        *("web_search_call", "file_search_call", "code_interpreter_call"),
        *("image_generation_call", "mcp_call"),
    }
)
"""Calls that the provider runs itself, so that no item of ours answers them."""
_ENDED = {
    "completed": "(done at the provider, which keeps the result)",
    "incomplete": "(ended early at the provider)",
    "failed": "(failed at the provider)",
}
"""The text for such a call without an answer, by its status."""


class _Message(msgspec.Struct, frozen=True):
    """What is read of a message beside its role."""

    content: Content = None


class _Turn:
    """What the assistant says and does until somebody answers."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.said: str | None = None
        self.thoughts: list[dict[str, Any]] = []
        """Reasoning before its next call."""
        self.is_reasoned = False
        """Whether one of its calls has reasoning: then its calls keep the provider's ids."""

    def joined(self, record: Record) -> str:
        """The id that the calls of this turn share: that of its first item."""
        self.id = self.id or f"m{record.index}"
        return self.id


def read(source: TranscriptSource) -> Reading:
    """The items of a conversation; `instructions` become the first, a policy item.

    In a live loop, encrypted reasoning is kept with the call after it. Any other reasoning, and
    data that only the provider has (`item_reference`, `compaction`), is left out and counted.
    Raises `InvalidInput` with the place and the field.
    """
    draft = Draft(source.is_live)
    instructions = source.around.get("instructions")
    if isinstance(instructions, str) and instructions.strip():
        file = source.records[0].file if source.records else "-"
        draft.add(Record(-1, 0, {}, file), ItemKind.POLICY, instructions)
    turn = _Turn()
    items = [record.to(dict[str, Any]) for record in source.records]
    calls = [kind.endswith("_call") for kind in map(_kind, items) if kind != "reasoning"]
    calls_next = iter([*calls[1:], False])
    is_followed = False
    for record, item in zip(source.records, items, strict=True):
        if _kind(item) != "reasoning":
            is_followed = next(calls_next)
        before, turn = turn, _read(draft, record, item, turn, is_followed)
        if turn is not before and turn.thoughts is not before.thoughts:
            _leave_out(draft, before.thoughts)
    _leave_out(draft, turn.thoughts)
    return draft.reading()


def _leave_out(draft: Draft, thoughts: Sequence[Any]) -> None:
    if thoughts:
        draft.left_out["reasoning"] += len(thoughts)


def _kind(item: dict[str, Any]) -> str:
    return str(item.get("type") or "message")


def _read(
    draft: Draft, record: Record, item: dict[str, Any], turn: _Turn, is_followed: bool
) -> _Turn:
    """Add the item's content; returns the turn that continues. `is_followed`: by a call."""
    kind = _kind(item)
    if kind == "message":
        return _message(draft, record, item, turn, is_followed)
    if kind == "reasoning" and draft.keeps_reasoning and _word(item, "encrypted_content"):
        turn.thoughts.append({key: item[key] for key in item if key != "status"})
    elif kind == "reasoning":
        draft.left_out["reasoning"] += 1
    elif kind not in TYPES:
        record.fail(f"$.type: {kind!r} is no item of the Responses API that we know")
    elif kind.endswith("_output"):
        text, content_type = _output(item.get("output"), draft)
        draft.result(record, text, _word(item, "call_id"), content_type=content_type)
        return _Turn()
    elif kind.endswith("_call"):
        _call(draft, record, item, kind, turn)
    else:
        draft.left_out["reference"] += 1
    return turn


def _message(
    draft: Draft, record: Record, item: dict[str, Any], turn: _Turn, is_followed: bool
) -> _Turn:
    role = item.get("role")
    if not isinstance(role, str) or role not in _KINDS:
        record.fail(f"$.role: {role!r} is unknown; use {', '.join(_KINDS)}")
    check_content(record, item, ("content",))
    content = record.to(_Message, item).content
    if role != "assistant":
        kind = _KINDS[role]
        if kind is ItemKind.POLICY:
            said = Said(text_of(record, content, draft.left_out))
        else:
            said = said_in(record, content, draft.left_out)
        draft.say(record, kind, said)
        return _Turn()
    said = said_in(record, content, draft.left_out)
    # A message after calls begins a turn of its own: it was not said together with them.
    begun = turn
    if turn.id is not None:
        begun = _Turn()
        begun.thoughts = turn.thoughts
    has_words = bool(said.text.strip())
    turn_id = begun.joined(record) if is_followed and has_words else None
    begun.said = draft.say(record, ItemKind.AGENT_MSG, said, turn_id=turn_id) or begun.said
    return begun


def _call(draft: Draft, record: Record, item: dict[str, Any], kind: str, turn: _Turn) -> None:
    """A call, and its result if the provider ran it and the item contains both."""
    named = _word(item, "name")
    name = named or kind.removesuffix("_call")
    if kind in ("function_call", "custom_tool_call"):
        if not named:
            record.fail("$.name: a call needs the name of its tool")
        arguments = item.get("arguments" if kind == "function_call" else "input") or ""
    else:
        arguments = _word(item, "arguments") or {
            key: value
            for key, value in item.items()
            if key not in _THE_PROVIDERS and key not in _ANSWERS and value is not None
        }
    call_id = _word(item, "call_id") or _word(item, "id")
    turn.is_reasoned = turn.is_reasoned or bool(turn.thoughts)
    named_by = {"id": _word(item, "id")} if turn.is_reasoned else {}
    reasoning = reasoning_metadata("openai-responses", turn.thoughts, named_by)
    if reasoning:
        turn.thoughts = []
    draft.call(
        record,
        name,
        arguments,
        call_id,
        turn.said,
        turn_id=turn.joined(record),
        provider_reasoning=reasoning,
    )
    answered = [key for key in _ANSWERS if item.get(key)]
    if answered:
        key = answered[0]
        text, content_type = _answer(item[key], kind, draft)
        failed = True if key == "error" else None
        draft.result(record, text, call_id, content_type=content_type, is_error=failed)
    elif kind in _HOSTED and (status := _word(item, "status") or "completed") in _ENDED:
        failed = True if status == "failed" else None
        draft.result(record, _ENDED[status], call_id, is_error=failed)


def _answer(answer: Any, kind: str, draft: Draft) -> tuple[str, str | None]:
    if kind == "image_generation_call" and isinstance(answer, str):
        block = {"type": "image", "data": answer, "mimeType": "image/png"}
        return block_text(block, draft.left_out) or "", None
    return _output(answer, draft)


def _output(output: Any, draft: Draft) -> tuple[str, str | None]:
    """An output as text, and its type if it is JSON."""
    if output is None or isinstance(output, str):
        return result_text(output, draft.left_out)
    if isinstance(output, list) and all(isinstance(part, dict) for part in output):
        return result_text([_as_text_part(part) for part in output], draft.left_out)
    if isinstance(output, dict):
        placed = block_text(_as_screenshot(output), draft.left_out)
        if placed is not None:
            return placed, None
    return compact(output), "application/json"


def _as_text_part(part: dict[str, Any]) -> dict[str, Any]:
    """`input_text` and `output_text` are called `text` in other formats."""
    if part_kind(part) in ("input_text", "output_text") and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    return part


def _as_screenshot(output: dict[str, Any]) -> dict[str, Any]:
    """A computer's screenshot is an image under another name."""
    known = output.get("type") == "computer_screenshot"
    return {**output, "type": "input_image"} if known else output


def _word(item: dict[str, Any], key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) and value else None


def messages(entries: Sequence[PackEntry]) -> dict[str, Any]:
    """A pack's entries as keyword arguments for `responses.create`: `input`, and `instructions` if
    there is a system prompt.

    Every call is answered at once, parallel calls together. Calls of the current turn are preceded
    by their reasoning; the others have no ids of the provider's, so they need none. Pass your own
    `tools` as well.
    """
    return conversation_messages(conversation(entries))


def conversation_messages(talk: Conversation) -> dict[str, Any]:
    """`messages` for entries that are a conversation already."""
    out: dict[str, Any] = {"instructions": talk.system} if talk.system else {}
    items: list[dict[str, Any]] = []
    for step in steps_with_memory(talk):
        said = bool(items) and items[-1].get("role") == "assistant"
        at = len(items) - (1 if said else 0)
        items[at:at] = before_calls("openai-responses", (call.reasoning for call in step.calls))
        items.extend(_items(step))
    out["input"] = items
    return out


def _items(step: Step) -> Iterator[dict[str, Any]]:
    if not step.calls:
        yield {"role": step.role, "content": step.text}
    for call in step.calls:
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": compact(call.arguments),
            **of_call("openai-responses", call.reasoning),
        }
    for call in step.calls:
        result = f"{FAILED}\n{call.result}" if call.is_error else call.result
        yield {"type": "function_call_output", "call_id": call.id, "output": result}
