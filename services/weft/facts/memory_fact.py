"""What a `memory_fact` item states: JSON, `key=value` lines, or a remark under a key; and where in
its text each of these is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from weft.facts.keys import MAX_VALUE, is_secret, key_from, note_key

_MAX_TEXT = 16_000
"""How many characters are read."""
_MAX_FACTS = 50
_PAIR = re.compile(r"\s*(?P<key>[\w][\w .@/-]{0,79}?)\s*(?:=|:\s)\s*+(?P<value>.*)\Z")
_STRETCH = re.compile(r"[^;]+")
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_SIGN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],]')
_NAME = re.compile(r'\s*+("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:')


class StatedFact(NamedTuple):
    """A key with its value, and the stretch of the text that states it, in characters."""

    key: str
    """Empty if it is not a fact."""
    value: str
    """Empty if it withdraws what was known: then the text gives `null` or nothing."""
    start: int
    end: int


def parsed_facts(metadata: Mapping[str, Any], text: str) -> list[tuple[str, str]]:
    """Keys and values in order; of one key only the last. Keys keep their words, in lower case.

    An empty value withdraws what was known: the text gives `null` or nothing.
    """
    found: dict[str, str] = {}
    for one in facts_named(metadata, text) or [remark(text)]:
        if one.key:
            found.pop(one.key, None)
            found[one.key] = one.value[:MAX_VALUE]
    return list(found.items())[:_MAX_FACTS]


def facts_named(metadata: Mapping[str, Any], text: str) -> list[StatedFact]:
    """All facts under keys, in order of the text, including repetitions. A remark is not among
    them: another one that begins with the same words is not a newer value."""
    named = metadata.get("key")
    if isinstance(named, str) and key_from(named):
        return [_stated_fact(named, _value_text(metadata.get("value", text)), 0, len(text))]
    return _from_json(text) or _from_lines(text)


def remark(text: str) -> StatedFact:
    """A text that is a single fact as it is."""
    return _stated_fact(note_key(text), text, 0, len(text))


def _stated_fact(name: str, value: str, start: int, end: int) -> StatedFact:
    key = key_from(name)
    return StatedFact("" if is_secret(key) else key, " ".join(value.split()), start, end)


def _from_json(text: str) -> list[StatedFact]:
    if not text.lstrip().startswith("{") or len(text) > _MAX_TEXT:
        return []
    try:
        content = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return []
    if isinstance(content.get("key"), str) and "value" in content:
        return [_stated_fact(content["key"], _value_text(content["value"]), 0, len(text))]
    return [_field(text, start, end) for start, end in _fields(text) if text[start:end].strip()]


def _fields(text: str) -> Iterator[tuple[int, int]]:
    """Where the fields of a JSON object are."""
    depth = start = 0
    for found in _SIGN.finditer(text):
        sign = found.group()
        if depth == 1 and sign in (",", "}"):
            yield start, found.start()
        if (depth == 0 and sign == "{") or (depth == 1 and sign == ","):
            start = found.end()
        depth += (sign in ("{", "[")) - (sign in ("}", "]"))


def _field(text: str, start: int, end: int) -> StatedFact:
    name = _NAME.match(text, start)
    assert name is not None  # it was decoded as JSON
    value = _value_text(msgspec.json.decode(text[name.end() : end]))
    return _stated_fact(msgspec.json.decode(name[1]), value, *_trimmed(text, start, end))


def _from_lines(text: str) -> list[StatedFact]:
    """All parts between semicolons, or all lines, must be pairs; otherwise it is prose."""
    head = text[:_MAX_TEXT]
    for stretch in (_STRETCH, _LINE):
        places = [_trimmed(head, *found.span()) for found in stretch.finditer(head)]
        places = [(start, end) for start, end in places if start < end]
        pairs = [_PAIR.match(head[start:end]) for start, end in places]
        if pairs and all(pair and len(pair["key"].split()) < 5 for pair in pairs):
            found = [
                _stated_fact(pair["key"], _unless_null(pair["value"]), *place)
                for pair, place in zip(pairs, places, strict=True)
                if pair
            ]
            unread = [StatedFact("", "", len(head), len(text))] if len(text) > len(head) else []
            return [*found, *unread]
    return []


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without the blanks at its ends."""
    stretch = text[start:end]
    start += len(stretch) - len(stretch.lstrip())
    return start, start + len(stretch.strip())


def _unless_null(value: str) -> str:
    return "" if value == "null" else value


def _value_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
