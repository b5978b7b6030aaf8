"""What a `memory_fact` item gives outright: JSON, `key=value` lines, or a remark under a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from weft.facts.keys import MAX_VALUE, is_secret, key_from, note_key

_MOST_TEXT = 16_000
"""Characters looked at."""
_MOST_FACTS = 50
_PAIR = re.compile(r"\s*(?P<key>[\w][\w .@/-]{0,79}?)\s*(?:=|:\s)\s*+(?P<value>.*)\Z")


def facts_given(metadata: Mapping[str, Any], text: str) -> list[tuple[str, str]]:
    """Keys and values in order; of one key the last. Keys keep their words, in small letters.

    An empty value withdraws what was known: it is given by `null` or by nothing.
    """
    return _facts(_pairs(metadata, text) or [(note_key(text), text)])


def facts_named(metadata: Mapping[str, Any], text: str) -> list[tuple[str, str]]:
    """As `facts_given`, but none of a remark: that another begins with the same words makes it no
    newer value."""
    return _facts(_pairs(metadata, text))


def _pairs(metadata: Mapping[str, Any], text: str) -> list[tuple[str, str]]:
    named = metadata.get("key")
    if isinstance(named, str) and key_from(named):
        return [(named, _plain(metadata.get("value", text)))]
    return _from_json(text) or _from_lines(text)


def _facts(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for name, value in pairs:
        key = key_from(name)
        if key and not is_secret(key):
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
        pairs = [(match["key"], _unless_null(match["value"])) for match in matches if match]
        if pairs and len(pairs) == len(matches) and all(len(key.split()) < 5 for key, _ in pairs):
            return pairs
    return []


def _unless_null(value: str) -> str:
    return "" if value == "null" else value


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
