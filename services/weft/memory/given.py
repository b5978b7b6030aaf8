"""What a `memory_fact` item gives outright: JSON, `key=value` lines, or a remark under a key."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from weft.memory.keys import MAX_VALUE, is_secret, key_from, note_key
from weft_schemas.items import ContextItem

_MOST_TEXT = 16_000
"""Characters looked at."""
_MOST_FACTS = 50
_PAIR = re.compile(r"\s*(?P<key>[\w][\w .@/-]{0,79}?)\s*(?:=|:\s)\s*+(?P<value>\S.*)\Z")


def facts_given(item: ContextItem, text: str) -> list[tuple[str, str]]:
    """Keys and values in order; of one key the last. Keys keep their words, in small letters."""
    named = item.metadata.get("key")
    if isinstance(named, str) and key_from(named):
        value = item.metadata.get("value", text)
        pairs = [(named, _plain(value))]
    else:
        pairs = _from_json(text) or _from_lines(text) or [(note_key(text), text)]
    found: dict[str, str] = {}
    for name, value in pairs:
        key = key_from(name)
        if key and value.strip() and not is_secret(key):
            found.pop(key, None)
            found[key] = " ".join(value.split())[:MAX_VALUE]
    return list(found.items())[:_MOST_FACTS]


def _from_json(text: str) -> list[tuple[str, str]]:
    if not text.lstrip().startswith("{") or len(text) > _MOST_TEXT:
        return []
    try:
        content = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return []
    if isinstance(content.get("key"), str) and "value" in content:
        return [(content["key"], _plain(content["value"]))]
    return [(key, _plain(value)) for key, value in content.items()]


def _from_lines(text: str) -> list[tuple[str, str]]:
    """All parts between semicolons, or all lines, must be pairs: else it is prose."""
    head = text[:_MOST_TEXT]
    for parts in (head.split(";"), head.splitlines()):
        matches = [_PAIR.match(part.strip()) for part in parts if part.strip()]
        pairs = [(match["key"], match["value"]) for match in matches if match]
        if pairs and len(pairs) == len(matches) and all(len(key.split()) < 5 for key, _ in pairs):
            return pairs
    return []


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
