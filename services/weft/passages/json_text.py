"""JSON by its own structure: an array by its elements, an object by its fields. Only the places of
values are looked for; nothing is decoded, so that what is shown is what was written."""

from __future__ import annotations

import re

import msgspec

from weft.passages.part import Part
from weft.passages.prose import split_stretch

LEAF = 160
"""Characters up to which fields, and elements that are no records, stand together."""
RECORD = 480
"""Characters up to which a record, or a field's value, is not taken apart."""
TEXT = 640
"""Characters above which a string is taken apart by its lines."""
IDENTIFIER = 80
"""Most characters of a field that identifies its record."""
MOST_IDENTIFIERS = 3
"""Of one object."""
DEEPEST = 40
"""Levels of nesting that are taken apart."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]')
_KEY = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*')
_NAMES = re.compile(
    r"(?:^|[_.\- ]|(?<=[a-z]))(?:id|uuid|name|number|no|key|date|title|path|url|code|sku|email)$",
    re.IGNORECASE,
)
"""Names of the fields that identify a record in most programs' data."""
_BLANK = " \t\n\r"


class _Value(msgspec.Struct):
    """An element of an array or a field of an object while it is read."""

    start: int
    end: int = -1
    members: list[_Value] | None = None
    """Of a container; None for scalars and for containers that are not taken apart."""
    bracket: int = 0
    """Where the container's opening bracket stands."""
    is_object: bool = False


def split_json(text: str) -> Part | None:
    """The parts of a JSON text, None where it is short, not JSON, or no container."""
    root = _read(text) if is_json(text) else None
    if root is None or root.members is None:
        return None
    return _container(text, root, "element")


def split_call(text: str) -> Part | None:
    """The parts of a call written as `name({…})`: its arguments."""
    start = text.find("({") + 1
    if not start or not text.endswith("})"):
        return None
    inner = split_json(text[start:-1])
    if inner is None:
        return None
    moved = _moved(inner, start)
    return Part(0, len(text), "call", 1, start + inner.opening, inner.closing + 1,
                False, moved.children)  # fmt: skip


def _moved(part: Part, by: int) -> Part:
    children = tuple(_moved(child, by) for child in part.children)
    return msgspec.structs.replace(
        part, start=part.start + by, end=part.end + by, children=children
    )


def is_json(text: str) -> bool:
    """Whether a text is one whole JSON object or array."""
    if text[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return False
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return True


def _read(text: str) -> _Value:
    root = _Value(0)
    open_values = [root]
    for found in _TOKEN.finditer(text):
        sign = text[found.start()]
        if sign == '"':
            continue
        at = found.start()
        holder = open_values[-1]
        if sign in "{[":
            holder.bracket = at
            holder.is_object = sign == "{"
            holder.members = [_Value(at + 1)]
            open_values.append(holder.members[0])
        elif sign == ",":
            holder.end = at
            more = _Value(at + 1)
            open_values[-2].members.append(more)  # type: ignore[union-attr]
            open_values[-1] = more
        else:
            holder.end = at
            open_values.pop()
            closed = open_values[-1]
            if (
                at + 1 - closed.bracket <= (RECORD if len(open_values) > 1 else LEAF)
                or len(open_values) > DEEPEST
            ):
                closed.members = None
    root.end = len(text)
    return root


def _trimmed(text: str, value: _Value) -> tuple[int, int]:
    start, end = value.start, value.end
    while start < end and text[start] in _BLANK:
        start += 1
    while end > start and text[end - 1] in _BLANK:
        end -= 1
    return start, end


def _container(text: str, value: _Value, unit: str) -> Part:
    """A container with its members as children; its opening goes up to its bracket."""
    start, end = _trimmed(text, value)
    opening = value.bracket + 1 - start
    members = value.members or []
    children = _fields(text, members) if value.is_object else _elements(text, members)
    return Part(start, end, unit, 1, opening, 1, False, tuple(children))


def _elements(text: str, members: list[_Value]) -> list[Part]:
    records = sum(text[_trimmed(text, one)[0] : one.end][:1] in "{[" for one in members)
    unit = "record" if 2 * records >= len(members) else "element"
    return _grouped(text, members, unit, RECORD if unit == "record" else LEAF)


def _fields(text: str, members: list[_Value]) -> list[Part]:
    return _grouped(text, members, "field", LEAF)


def _grouped(text: str, members: list[_Value], unit: str, limit: int) -> list[Part]:
    """Each container that is taken apart by itself; small neighbours together."""
    parts: list[Part] = []
    names = 0
    has_any = unit == "field" and any(_is_identifier(text, one) for one in members)
    is_open = False
    for number, one in enumerate(members):
        start, end = _trimmed(text, one)
        if start == end:
            continue
        if one.members is not None or end - start > TEXT:
            parts.append(
                _container(text, one, unit) if one.members else _long(text, start, end, unit)
            )
            is_open = False
            continue
        identifies = unit == "field" and names < MOST_IDENTIFIERS
        identifies = identifies and (_is_identifier(text, one) if has_any else number == 0)
        identifies = identifies and end - start <= IDENTIFIER
        names += identifies
        last = parts[-1] if parts and is_open else None
        small = unit != "record" or end - start <= LEAF // 2
        if last and small and last.identifies == identifies and end - last.start <= limit:
            parts[-1] = Part(last.start, end, unit, last.count + 1, identifies=identifies)
        else:
            parts.append(Part(start, end, unit, identifies=identifies))
        is_open = small
    return parts


def _long(text: str, start: int, end: int, unit: str) -> Part:
    """A long string by its lines and sentences, with its key and its quotes around them."""
    key = _KEY.match(text, start, end) if unit == "field" else None
    inner = key.end() if key else start
    if text[inner] != '"':
        return Part(start, end, unit)
    children = split_stretch(text, inner + 1, end - 1)
    return Part(start, end, unit, 1, inner + 1 - start, 1, False, tuple(children))


def _is_identifier(text: str, field: _Value) -> bool:
    """Whether a field's name says that its value tells its record from others."""
    if field.members is not None or field.end - field.start > IDENTIFIER:
        return False
    start, _ = _trimmed(text, field)
    key = _KEY.match(text, start, field.end)
    if key is None or _NAMES.search(key[1]) is None:
        return False
    return text[key.end()] not in "{["


_PLAIN = re.compile(r"[^\s\"\\{}\[\],:](?:[^\"\\{}\[\],\n:]|:(?! ))*(?<!\s)\Z")
_LITERAL = re.compile(r"(?:true|false|null|-?[0-9.]+(?:[eE][+-]?[0-9]+)?)\Z")
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?')


def unquoted(json_text: str) -> str:
    """JSON with the quotes left out where nothing becomes ambiguous: `{"a": "b", "n": "1"}` is
    `{a: b, n: "1"}`. Every value stays as it was written, and where it was."""
    return _STRING.sub(_without_quotes, json_text)


def _without_quotes(found: re.Match[str]) -> str:
    text, colon = found[1], found[2]
    if colon:
        return f"{text}:" if _PLAIN.match(text) and ":" not in text else found[0]
    return found[0] if not _PLAIN.match(text) or _LITERAL.match(text) else text
