"""The content of a loop in a provider's form, as items of the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from weft.adapters.drafting import Reading
from weft.adapters.formats import READERS, detect
from weft.adapters.media import count_in_words
from weft.adapters.records import LIST_KEYS, Record, TranscriptSource
from weft.adapters.responses import TYPES as RESPONSE_ITEMS
from weft.messages.history_matching import History, links
from weft.messages.plain_json import as_plain_json
from weft.part_kind import part_kind
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

Format = Literal["auto", "openai", "openai-responses", "anthropic", "gemini"]
FORMATS: tuple[Format, ...] = ("openai", "openai-responses", "anthropic", "gemini")

_ADVICE = f"messages have a `role`; name their form as `format`: {', '.join(FORMATS)}"

Messages = Iterable[Any] | Mapping[str, Any]
"""A list of messages (dicts, or objects of the provider's library), or a whole request: a dict with
the list and the system prompt (`system`, `instructions`, `system_instruction`)."""


class ReadMessages(msgspec.Struct, frozen=True):
    """Messages as items."""

    items: tuple[ContextItem, ...]
    format: str
    places: tuple[int, ...]
    """For each item the index of its message; -1 for the system prompt of a request."""
    left_out: dict[str, int] = {}
    """What no item contains, by kind: `image`, `audio`, `video`, `file` and `part`, which a
    placeholder names each; `reasoning` that led to no call or cannot go back to its provider; and
    `reference` (to data that only the provider has). The last two have no placeholder."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call that a model made, whatever its provider."""

    id: str
    """The provider's id; empty if it gives none (Gemini)."""
    name: str
    arguments: dict[str, Any] | None
    """None if they are not a JSON object; `text` then contains what the model wrote."""
    text: str = ""


def read(messages: Messages, format: Format = "auto") -> ReadMessages:
    """The items of a history, in order: system prompts as policies, what users and agents said,
    calls and their results. The parent of a result is its call; the parent of a call is what was
    said with it.

    Ids are those of a session that contains only this history; see the package. Raises
    `InvalidInput` naming the message and the field.
    """
    drafted = draft(messages, format)
    history = History()
    ids = history.append(links(drafted.items))
    return msgspec.structs.replace(drafted, items=renamed(drafted.items, ids))


def left_out_in_words(left_out: Mapping[str, int]) -> str:
    """What was left out, in words: `3 images and 1 part of reasoning`; empty if nothing was."""
    return count_in_words(left_out)


def tool_calls(message: Any, format: Format = "auto") -> list[ToolCall]:
    """The calls in a model's answer (a message, or the list of items of OpenAI's Responses API)."""
    answer = message if isinstance(message, list | tuple) else [message]
    calls = [item for item in draft(answer, format).items if item.kind is ItemKind.TOOL_CALL]
    return [_tool_call(item) for item in calls]


def tool_call(call: Any) -> ToolCall:
    """One call in the form of any provider's library or API: an entry of OpenAI's `tool_calls`, a
    `function_call` of the Responses API, Anthropic's `tool_use` block, Gemini's `function_call` or
    the part that contains it. Raises `InvalidInput` for anything else."""
    if isinstance(call, ToolCall):
        return call
    made = as_plain_json(call)
    if not isinstance(made, dict):
        raise InvalidInput(
            f"a value of type {type(call).__name__} is no tool call; hand over the provider's own"
        )
    if isinstance(made.get("function") or made.get("custom"), dict):
        return tool_calls({"role": "assistant", "tool_calls": [made]}, "openai")[0]
    if part_kind(made) == "tool_use":
        return tool_calls({"role": "assistant", "content": [made]}, "anthropic")[0]
    if part_kind(made).endswith("_call"):
        return tool_calls([made], "openai-responses")[0]
    part = made if made.get("function_call") or made.get("functionCall") else None
    if part is None and isinstance(made.get("name"), str):
        part = {"function_call": made}
    if part is None:
        keys = ", ".join(sorted(made)[:8]) or "(none)"
        raise InvalidInput(f"no provider's tool call has the keys {keys}; hand over its own")
    return tool_calls({"role": "model", "parts": [part]}, "gemini")[0]


def _tool_call(item: ContextItem) -> ToolCall:
    said = item.reserved
    name, arguments = said.tool_name or "", said.arguments
    if arguments is None:
        arguments = _object(item.text[len(name) + 1 : -1])
    return ToolCall(said.call_id or "", name, arguments, item.text)


def _object(text: str) -> dict[str, Any] | None:
    """Arguments that only the text contains, since they are nested too deep for an item."""
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return made if isinstance(made, dict) else None


def draft(messages: Messages, format: Format = "auto") -> ReadMessages:
    """The same with the readers' own ids, which are places of messages."""
    source = _source(messages)
    if not source.records and not source.around:
        return ReadMessages((), format, ())
    chosen = _chosen(source, format)
    reading: Reading = READERS[chosen](source)
    return ReadMessages(
        reading.items,
        chosen,
        tuple(_place(item.id) for item in reading.items),
        reading.left_out | reading.unread,
    )


def turns_of(messages: Sequence[Any], format: Format = "auto") -> list[list[Any]]:
    """Messages one by one; items of the Responses API in runs, since only together they are a
    message."""
    turns: list[list[Any]] = []
    before = False
    for message in messages:
        made = as_plain_json(message)
        joins = format in ("auto", "openai-responses") and _is_response_item(made)
        if joins and before:
            turns[-1].append(made)
        else:
            turns.append([made])
        before = joins
    return turns


def _is_response_item(made: Any) -> bool:
    return isinstance(made, dict) and part_kind(made) in {"message", *RESPONSE_ITEMS}


def renamed(items: Sequence[ContextItem], ids: Sequence[str]) -> tuple[ContextItem, ...]:
    """The items under other ids; their parents and turns change accordingly."""
    names = {item.id: new for item, new in zip(items, ids, strict=True)}
    return tuple(_renamed(item, names) for item in items)


def _renamed(item: ContextItem, names: Mapping[str, str]) -> ContextItem:
    metadata = item.metadata
    if "turn_id" in metadata:
        metadata = metadata | {"turn_id": names.get(metadata["turn_id"], metadata["turn_id"])}
    return msgspec.structs.replace(
        item,
        id=names[item.id],
        parent_id=names.get(item.parent_id or "", item.parent_id) or None,
        metadata=metadata,
    )


def _source(messages: Messages) -> TranscriptSource:
    around: dict[str, Any] = {}
    if isinstance(messages, Mapping):
        key = next((key for key in LIST_KEYS if _is_list(messages.get(key))), None)
        if key is None:
            raise InvalidInput(
                "a dict is taken for a whole request, and this one has no list of messages; hand "
                "over a list, such as [message]"
            )
        around = {name: as_plain_json(held) for name, held in messages.items() if name != key}
        config = around.get("config")
        if isinstance(config, dict):  # Gemini's library takes the instruction here
            around |= config
        messages = messages[key]
    if isinstance(messages, str | bytes):
        raise InvalidInput(
            "a text is no list of messages; hand over [{'role': 'user', 'content': …}]"
        )
    if not isinstance(messages, Iterable):
        raise InvalidInput(
            f"a {type(messages).__name__} is no list of messages; hand over "
            "[{'role': 'user', 'content': …}]"
        )
    records = [_record(at, message) for at, message in enumerate(messages)]
    return TranscriptSource(tuple(records), around, is_live=True)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _record(index: int, message: Any) -> Record:
    value = as_plain_json(message)
    record = Record(index, 0, value, "messages")
    if not isinstance(value, dict):
        record.fail(f"expected an object, got `{type(value).__name__}`")
    return record


def _chosen(source: TranscriptSource, format: Format) -> str:
    if format == "auto":
        found = detect(source, _ADVICE) if source.records else "openai"
        if found in FORMATS:
            return found
        source.records[0].fail(f"this is {found}; hand over one of {', '.join(FORMATS)}")
    if format not in FORMATS:
        raise InvalidInput(f"format {format!r} is unknown; use auto or {', '.join(FORMATS)}")
    return format


def _place(item_id: str) -> int:
    """The index of a message, from the id that its reader gave: `m3`, `m3.1`, `m-1`."""
    return int(item_id[1:].partition(".")[0])
