"""The content of a chat message as text: parts are joined, and media are named but left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from weft.adapters.drafting import Said, compact
from weft.adapters.media import LeftOut, block_text, read_block, unknown_block
from weft.adapters.records import Record
from weft.part_kind import part_kind

Content = str | list[dict[str, Any]] | None
"""What both chat formats allow: a string, or parts tagged by `type`."""

_TEXT_KEYS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_PLAIN = {"type", "text", "cache_control", "citations", "annotations", "_meta"}
"""Keys of a part that is nothing but text."""


def text_of(record: Record, content: Content, left_out: LeftOut, path: str = "$.content") -> str:
    """All the text of a message, with documents; media become placeholders. They and the model's
    reasoning are counted in `left_out`."""
    return "\n".join(text for text, _ in _parts(record, content, left_out, path))


def said_in(record: Record, content: Content, left_out: LeftOut, path: str = "$.content") -> Said:
    """What a person or an agent said, apart from the documents beside it."""
    parts = _parts(record, content, left_out, path)
    return Said(
        "\n".join(text for text, is_document in parts if not is_document),
        tuple(text for text, is_document in parts if is_document),
    )


def check_content(record: Record, message: Mapping[str, Any], read: Collection[str]) -> None:
    """Raises `InvalidInput` for a message that has none of the keys that are `read` but others: a
    framework of its own form (`blocks`, `items`) would be stored as if nobody had said anything."""
    others = sorted(message.keys() - {"role", "name", "type", "id", "status"})
    if others and message.keys().isdisjoint(read):
        first = next(iter(read))
        record.fail(
            f"$: a message says nothing without `{first}`, and this one has {', '.join(others)}; "
            f"put what is said into `{first}`"
        )


def _parts(
    record: Record, content: Content, left_out: LeftOut, path: str
) -> list[tuple[str, bool]]:
    """The texts of a message's parts, each with whether it is a document."""
    if content is None or isinstance(content, str):
        return [(content or "", False)]
    parts = []
    for at, part in enumerate(content):
        if is_thought(part):
            left_out["reasoning"] += 1
        else:
            parts.append(_part(record, part, left_out, f"{path}[{at}]"))
    return parts


def result_text(content: Content, left_out: LeftOut) -> tuple[str, str | None]:
    """A tool's result and its content type: texts and media joined, media as placeholders. If there
    is anything richer (structured content), the parts as JSON."""
    if content is None or isinstance(content, str):
        return _without_media(content or "", left_out), None
    texts = [part["text"] if _is_plain(part) else block_text(part, left_out) for part in content]
    if all(text is not None for text in texts):
        return "\n".join(text for text in texts if text is not None), None
    parts = [
        part if text is None or _is_plain(part) else {"type": "text", "text": text}
        for part, text in zip(content, texts, strict=True)
    ]
    return compact(parts), "application/json"


def _without_media(text: str, left_out: LeftOut) -> str:
    """A result in MCP's content format as JSON text without inline data; any other unchanged."""
    if '"type"' not in text or not ('"data"' in text or '"blob"' in text):
        return text
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        return text
    blocks = result.get("content") if isinstance(result, dict) else result
    if not isinstance(blocks, list):
        return text
    found: LeftOut = Counter()
    kept = [_block(block, found) for block in blocks]
    left_out.update(found)
    if not found:
        return text
    return compact({**result, "content": kept} if isinstance(result, dict) else kept)


def _block(block: Any, left_out: LeftOut) -> Any:
    before = left_out.total()
    text = block_text(block, left_out) if isinstance(block, dict) else None
    return block if left_out.total() == before else {"type": "text", "text": text}


def is_thought(part: dict[str, Any]) -> bool:
    """Whether a part is the model's own reasoning, which is never read."""
    return part_kind(part) in ("thinking", "redacted_thinking", "reasoning")


def _is_plain(part: dict[str, Any]) -> bool:
    return (
        part.get("type") == "text" and isinstance(part.get("text"), str) and part.keys() <= _PLAIN
    )


def _part(record: Record, part: dict[str, Any], left_out: LeftOut, path: str) -> tuple[str, bool]:
    if not isinstance(part.get("type"), str):
        record.fail(f"{path}.type: a content part needs a type, such as `text`")
    key = _TEXT_KEYS.get(part["type"])
    if key is None:
        return read_block(part, left_out) or (unknown_block(part, left_out), False)
    text = part.get(key)
    if not isinstance(text, str):
        record.fail(f"{path}.{key}: expected `str`, got `{type(text).__name__}`")
    return text, False
