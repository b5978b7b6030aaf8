"""What a provider's messages show of each item, taken from the messages themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from weft.adapters import anthropic, openai
from weft.adapters.drafting import compact
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind

PROVIDERS = {"openai": openai.messages, "anthropic": anthropic.messages}


class _Messages(msgspec.Struct):
    """What any provider's messages contain."""

    texts: list[str] = []
    """Texts of both roles and of the system prompt."""
    calls: dict[str, str] = {}
    """Arguments as JSON, by call id."""
    results: dict[str, str] = {}
    """By call id."""


def shown_by(provider: str, entries: Sequence[PackEntry]) -> dict[str, str]:
    """By item id, the text of the item in the messages made from these entries. An item whose text
    differs from its entry is left out."""
    held = _read(PROVIDERS[provider](entries))
    call_ids = {entry.item_id: entry.call_id or "" for entry in entries}
    shown: dict[str, str] = {}
    for entry in entries:
        result = held.results.get(call_ids.get(entry.parent_id or "", ""), "")
        if entry.kind is ItemKind.TOOL_CALL and entry.call_id in held.calls:
            shown[entry.item_id] = held.calls[entry.call_id]
        elif any(entry.text in text for text in (result, *held.texts)):
            shown[entry.item_id] = entry.text
    return shown


def _read(request: dict[str, Any]) -> _Messages:
    held = _Messages()
    system = request.get("system")
    if system:
        held.texts.append(system)
    for message in request["messages"]:
        if message["role"] == "tool":
            held.results[message["tool_call_id"]] = message["content"]
            continue
        for block in _blocks(message.get("content")):
            _take(held, block)
        for call in message.get("tool_calls") or ():
            held.calls[call["id"]] = call["function"]["arguments"]
    return held


def _blocks(content: str | Iterable[dict[str, Any]] | None) -> Iterator[dict[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from content or ()


def _take(held: _Messages, block: dict[str, Any]) -> None:
    match block["type"]:
        case "tool_use":
            held.calls[block["id"]] = compact(block["input"])
        case "tool_result":
            held.results[block["tool_use_id"]] = block["content"]
        case _:
            held.texts.append(block["text"])
