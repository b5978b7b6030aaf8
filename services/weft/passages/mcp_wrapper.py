"""Takes the text out of a tool result of the Model Context Protocol if the wrapper adds nothing to
it: one text block, in JSON or as Python prints it, or a list whose elements are repeated as text
blocks. Also takes it out of a list of one text block, which other interfaces write, too. The
wrapper of a short result is longer than what the tool said, and its escapes make the text hard to
read."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import msgspec

DEEPEST = 3
"""Most wrappers within wrappers."""
_PRINTED = re.compile(
    r"(?:CallToolResult\()?(?:meta=None,? )?(?:content=)?\[TextContent\(type='text', text="
    r"('(?:[^'\\]++|\\.)*+'|\"(?:[^\"\\]++|\\.)*+\")(, annotations=None)?(?:, \w+=None)*+\)\]"
    r"(?:,? structuredContent=None)?(?:,? isError=(True|False))?\)?\s*",
    re.DOTALL,
)
"""The classes of the Python SDK as `str` and `repr` write them. A block with the protocol's
`annotations` is of its SDK."""


_PRINTS = ("meta=", "content=", "CallToolResult(", "[TextContent(")
WRAPPERS = (*_PRINTS, "{", "[")
"""How a text with a wrapper begins."""


class Unwrapped(msgspec.Struct, frozen=True):
    """The text of a wrapped result."""

    text: str
    is_error: bool = False
    """Whether a wrapper says so."""
    is_result: bool = True
    """Whether a wrapper is one that the protocol defines."""
    is_list: bool = False
    """Whether a wrapper is a list alone."""
    has_metadata: bool = False
    """Whether a wrapper has the protocol's `_meta`, which is about the message and left out."""

    @property
    def mark(self) -> str:
        """Stands behind the text in place of its wrappers."""
        notes = ["MCP wrapper"] * self.is_result + ["in a list of one text"] * self.is_list
        notes += ["1 field: _meta"] * self.has_metadata
        return f"\u2026 {', '.join(notes)}{', isError: true' * self.is_error} \u2026"

    def around(self, inner: Unwrapped) -> Unwrapped:
        """What this wrapper and the one in it hold."""
        return Unwrapped(
            inner.text,
            self.is_error or inner.is_error,
            self.is_result or inner.is_result,
            self.is_list or inner.is_list,
            self.has_metadata or inner.has_metadata,
        )


class _Block(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text"]
    text: msgspec.Raw
    annotations: None = None
    meta: None = msgspec.field(default=None, name="_meta")


class _Result(msgspec.Struct, forbid_unknown_fields=True):
    content: list[_Block]
    is_error: bool | None = msgspec.field(default=None, name="isError")
    structured: msgspec.Raw = msgspec.field(
        default_factory=lambda: msgspec.Raw(b"null"), name="structuredContent"
    )
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class _List(msgspec.Struct, forbid_unknown_fields=True):
    """`structuredContent` of a result that is no object."""

    result: msgspec.Raw


_result = msgspec.json.Decoder(_Result)
_blocks = msgspec.json.Decoder(list[_Block])
_list = msgspec.json.Decoder(_List)
_elements = msgspec.json.Decoder(list[Any])


def unwrapped(text: str, unescaped: Callable[[str], str], depth: int = DEEPEST) -> Unwrapped | None:
    """What a wrapper holds, and a wrapper in it; None if `text` is none or says more than one text.

    `unescaped` reads the escapes of a string's content. Linear in `text`.
    """
    outer = _unwrapped(text, unescaped) if depth else None
    if outer is None or not outer.text.strip():
        return None
    inner = unwrapped(outer.text, unescaped, depth - 1)
    return outer if inner is None else outer.around(inner)


def _unwrapped(text: str, unescaped: Callable[[str], str]) -> Unwrapped | None:
    if text.startswith(_PRINTS):
        found = _PRINTED.fullmatch(text)
        if found is None:
            return None
        is_list = text[0] == "[" and not found[2]
        return Unwrapped(unescaped(found[1][1:-1]), found[3] == "True", not is_list, is_list)
    if not text.startswith(("{", "[")) or '"text"' not in text:
        return None
    try:
        result = _Result(_blocks.decode(text)) if text[0] == "[" else _result.decode(text)
        is_error = bool(result.is_error)
        elements = _elements_of(result)
        if elements is not None:
            return Unwrapped(elements, is_error, has_metadata=bool(result.meta))
        if len(result.content) != 1 or not _repeats(result.structured, result.content[0].text):
            return None
        written = bytes(result.content[0].text).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    if written[0] != '"':
        return None
    is_list = text[0] == "["
    text = unescaped(written[1:-1])
    return Unwrapped(text, is_error, not is_list, is_list, bool(result.meta))


def _elements_of(result: _Result) -> str | None:
    """The list in `structuredContent`, as it is written, if the text blocks say its elements again,
    one each: so servers give a list."""
    try:
        written = _list.decode(result.structured).result
        elements = _elements.decode(written)
    except msgspec.DecodeError:
        return None
    if not elements or len(elements) != len(result.content):
        return None
    for element, block in zip(elements, result.content, strict=True):
        if _encoded(element) not in _values(block.text):
            return None
    return bytes(written).decode()


def _repeats(structured: msgspec.Raw, text: msgspec.Raw) -> bool:
    """Whether `structuredContent` says what the text says: servers give the same value twice, in a
    field `result` if it is no object."""
    value = msgspec.json.decode(structured)
    if value is None:
        return True
    values = _values(text)
    field = value["result"] if isinstance(value, dict) and list(value) == ["result"] else value
    return _encoded(value) in values or _encoded(field) in values


def _values(text: msgspec.Raw) -> list[bytes]:
    """What a text says: itself, and the JSON that it is. Nothing if it is no text."""
    said = msgspec.json.decode(text)
    if not isinstance(said, str):
        return []
    values = [said]
    with suppress(msgspec.DecodeError):
        values.append(msgspec.json.decode(said))
    return [_encoded(value) for value in values]


def _encoded(value: object) -> bytes:
    """`1`, `1.0` and `true` are equal to Python, and not here."""
    return msgspec.json.encode(value, order="sorted")
