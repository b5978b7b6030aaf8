"""The content of a chat message as text: parts joined, media named but not carried along."""

from __future__ import annotations

from typing import Any

from weft.adapters.drafting import compact
from weft.adapters.records import Record

Content = str | list[dict[str, Any]] | None
"""What both chat formats allow: a string, or parts tagged by `type`."""

_TEXT_KEYS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_PLAIN = {"type", "text", "cache_control", "citations"}
"""Keys of a part that is nothing but text."""


def text_of(record: Record, content: Content, path: str = "$.content") -> str:
    """What a person or an agent said; an image or file becomes a short mark."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_part(record, part, f"{path}[{at}]") for at, part in enumerate(content))


def result_text(content: Content | dict[str, Any]) -> tuple[str, str | None]:
    """A tool's result and its content type: text parts joined, anything richer (MCP content
    blocks, images, structured content) whole, as JSON."""
    if content is None or isinstance(content, str):
        return content or "", None
    if isinstance(content, list) and all(_is_plain(part) for part in content):
        return "\n".join(part["text"] for part in content), None
    return compact(content), "application/json"


def _is_plain(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
        and part.keys() <= _PLAIN
    )


def _part(record: Record, part: dict[str, Any], path: str) -> str:
    kind = part.get("type")
    if not isinstance(kind, str):
        record.fail(f"{path}.type: a content part needs a type, such as `text`")
    key = _TEXT_KEYS.get(kind)
    if key is None:
        return f"[{kind}{_address(part.get(kind) or part.get('source'))}]"
    text = part.get(key)
    if not isinstance(text, str):
        record.fail(f"{path}.{key}: expected `str`, got `{type(text).__name__}`")
    return text


def _address(media: Any) -> str:
    """A link is worth showing; inline data is not."""
    url = media.get("url") or media.get("filename") if isinstance(media, dict) else media
    return f" {url}" if isinstance(url, str) and not url.startswith("data:") else ""
