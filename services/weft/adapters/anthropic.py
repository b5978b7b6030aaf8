"""Anthropic messages to items and back: content blocks, tool_use, tool_result, system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from weft.adapters.content import Content, result_text, said_in, text_of
from weft.adapters.conversation import Conversation, conversation, steps_between_users
from weft.adapters.drafting import Draft, Reading, Said, compact
from weft.adapters.media import LeftOut, block_text
from weft.adapters.reasoning import before_calls, reasoning_metadata
from weft.adapters.records import Record, TranscriptSource
from weft.adapters.steps import AnsweredCall, Step
from weft.part_kind import part_kind
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind


class _Message(msgspec.Struct, frozen=True):
    role: Literal["user", "assistant"]
    content: Content
    name: str | None = None
    """Who speaks, if several do. The API has no such field; frameworks' messages have one."""


class _ToolUse(msgspec.Struct, frozen=True):
    id: str
    name: str
    input: dict[str, Any] = {}


class _ToolResult(msgspec.Struct, frozen=True):
    tool_use_id: str
    content: Content = None
    is_error: bool | None = None


CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
"""Blocks that call a tool: the agent's own, one of the provider's, one of an MCP server that the
provider asks."""
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
"""Blocks that are the model's reasoning."""
SYSTEM_INDEX = -1
"""Place of the system prompt, which is outside the messages: its item is `m-1`."""


def read(source: TranscriptSource) -> Reading:
    """The items of a conversation; `system` becomes the first, a policy item.

    In a live loop, thinking blocks are kept with the call after them; others are left out and
    counted. Raises `InvalidInput` with file, line and field.
    """
    draft = Draft(source.is_live)
    system = source.around.get("system")
    if system:
        file = source.records[0].file if source.records else "-"
        record = Record(SYSTEM_INDEX, 1, {"role": "user", "content": system}, file)
        text = text_of(record, record.to(_Message).content, draft.left_out, "$.system")
        draft.add(record, ItemKind.POLICY, text)
    for record in source.records:
        _read(draft, record, record.to(_Message))
    return draft.reading()


def _read(draft: Draft, record: Record, message: _Message) -> None:
    kind = ItemKind.USER_TURN if message.role == "user" else ItemKind.AGENT_MSG
    blocks = message.content or ()
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    kinds = [part_kind(block) for block in blocks]
    said_at = _said_at(draft, record, blocks, kinds)
    is_users = message.role == "user"
    has_documents = is_users and any(one.documents for one in said_at.values())
    is_shared = has_documents or bool(CALLS.intersection(kinds))
    turn_id = draft.message_id(record) if is_shared else None
    # The provider's tools answered within the message. What it says then was not said beforehand,
    # but it stays one turn if the message ends with calls: thinking has to precede all of them.
    is_finished = "tool_use" not in kinds and kinds[-1:] == ["text"]
    said: str | None = None
    thoughts: list[dict[str, Any]] = []
    for at in _documents_first(said_at, len(blocks)) if has_documents else range(len(blocks)):
        block, path = blocks[at], f"$.content[{at}]"
        match kinds[at]:
            case used if used in CALLS:
                use = record.to(_ToolUse, block, path)
                reasoning = reasoning_metadata("anthropic", thoughts)
                thoughts = [] if reasoning else thoughts
                draft.call(
                    record,
                    use.name,
                    use.input,
                    use.id,
                    said,
                    turn_id=turn_id,
                    provider_reasoning=reasoning,
                )
            case thought if thought in THOUGHTS and draft.keeps_reasoning:
                thoughts.append(block)
            case "tool_result":
                _result(draft, record, record.to(_ToolResult, block, path))
            case ran if ran.endswith("_tool_result"):
                _result_of_provider(draft, record, block)
                if is_finished:
                    said, turn_id = None, draft.next_id(record)
            case _:
                spoken_by = {"author": message.name, "turn_id": turn_id}
                said = draft.say(record, kind, said_at[at], **spoken_by) or said
    if thoughts:
        draft.left_out["reasoning"] += len(thoughts)


def _said_at(
    draft: Draft, record: Record, blocks: Sequence[dict[str, Any]], kinds: Sequence[str]
) -> dict[int, Said]:
    """What is said in blocks that are no calls, results or kept reasoning, by place."""
    others = {*CALLS, *(THOUGHTS if draft.keeps_reasoning else ())}
    return {
        at: said_in(record, [block], draft.left_out)
        for at, block in enumerate(blocks)
        if kinds[at] not in others and not kinds[at].endswith("tool_result")
    }


def _documents_first(said_at: Mapping[int, Said], count: int) -> list[int]:
    """The places of a user's blocks, with documents before the first words: the question is last,
    wherever the user put it."""
    documents = [at for at, one in said_at.items() if one.documents]
    others = [at for at in range(count) if at not in documents]
    words = (place for place, at in enumerate(others) if at in said_at)
    first = next(words, len(others))
    return [*others[:first], *documents, *others[first:]]


def _result(draft: Draft, record: Record, result: _ToolResult) -> None:
    text, content_type = result_text(result.content, draft.left_out)
    failed = result.is_error or None  # false is what clients fill in, also above an error
    draft.result(record, text, result.tool_use_id, content_type=content_type, is_error=failed)


def _result_of_provider(draft: Draft, record: Record, block: dict[str, Any]) -> None:
    """The result of a tool that ran at the provider, without what only the provider can read."""
    content = block.get("content")
    call_id = block.get("tool_use_id")
    failed = bool(block.get("is_error")) or (isinstance(content, dict) and "error_code" in content)
    if isinstance(content, str) or _is_text(content):
        text, content_type = result_text(content, draft.left_out)
    else:
        text, content_type = compact(readable(content, draft.left_out)), "application/json"
    draft.result(
        record,
        text,
        call_id if isinstance(call_id, str) else None,
        content_type=content_type,
        is_error=failed or None,
    )


def _is_text(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "text" for part in content
    )


def readable(value: Any, left_out: LeftOut) -> Any:
    """What a provider's tool returned, with placeholders for media and without what is
    encrypted."""
    if isinstance(value, list):
        return [readable(one, left_out) for one in value]
    if not isinstance(value, dict):
        return value
    text = block_text(value, left_out) if part_kind(value) in ("document", "image") else None
    if text is not None:
        return text
    return {
        key: readable(held, left_out)
        for key, held in value.items()
        if not key.startswith("encrypted_") and held is not None
    }


def messages(entries: Sequence[PackEntry]) -> dict[str, Any]:
    """A pack's entries as keyword arguments for `messages.create`.

    Roles alternate, beginning with the user; all results follow right after the tool_use blocks of
    their turn. Pass your own `tools` as well: the API requires them if there are tool blocks.
    """
    return conversation_messages(conversation(entries))


def conversation_messages(talk: Conversation) -> dict[str, Any]:
    """`messages` for entries that are a conversation already."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for step in steps_between_users(talk):
        thoughts = before_calls("anthropic", (call.reasoning for call in step.calls))
        for role, blocks in _blocks(step):
            if turns and turns[-1][0] == role and role == "assistant":
                turns[-1][1][:0] = thoughts  # the API wants them first in a message with calls
                turns[-1][1].extend(blocks)
            elif role == "assistant":
                turns.append((role, [*thoughts, *blocks]))
            elif turns and turns[-1][0] == role:
                turns[-1][1].extend(blocks)
            else:
                turns.append((role, blocks))
    out: dict[str, Any] = {"system": talk.system} if talk.system else {}
    out["messages"] = [{"role": role, "content": _content(blocks)} for role, blocks in turns]
    return out


def _blocks(step: Step) -> list[tuple[str, list[dict[str, Any]]]]:
    if not step.calls:
        return [(step.role, [_text(step.text)])]
    uses = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in step.calls
    ]
    return [("assistant", uses), ("user", [_answer(call) for call in step.calls])]


def _answer(call: AnsweredCall) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id, "content": call.result}
    if call.is_error:
        block["is_error"] = True
    return block


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _content(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """A single text is written as a string, which costs fewer tokens."""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        text: str = blocks[0]["text"]
        return text
    return blocks
