"""Takes the text out of a tool result of the Model Context Protocol if the wrapper adds nothing to
it: one text block, in JSON or as Python prints it, or a list whose elements are repeated as text
blocks. Also takes it out of a list of one text block, which other interfaces write, too, and out of
an object of which one long text is nearly all: servers return a text as `{"result": "…"}`. The
wrapper of a short result is longer than what the tool said, and its escapes make the text hard to
read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
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
LONG = 1_000
"""Least characters, as JSON writes them, of a text that stands for its object."""
NEARLY_ALL = 0.9
"""The share of its object that such a text has at least."""
MAX_BESIDE = 6
"""Fields beside such a text; an object with more of them is a record of something."""
_BESIDE = 80
"""Characters of the value of such a field, so that the mark can tell it."""
_FIELD_NAME = re.compile(r"[A-Za-z_][\w-]{0,31}", re.ASCII)
_BREAK = re.compile(r"\s|\\n")
_MIN_BREAKS = 2
"""Blanks and line breaks; what has fewer is bytes in letters, such as base64."""
_JSON_BEGINS = re.compile(r"\s*[{\[]\s*[\"'{\[\]}]")
"""A line of a log may begin with `[2025-…`."""


class TextField(msgspec.Struct, frozen=True):
    """A long text that is nearly all of the JSON object in which it stands."""

    name: str
    written: str
    """The text as JSON writes it, without its quotes."""
    others: dict[str, str]
    """The other fields, each with its value as it is written."""

    @property
    def mark(self) -> str:
        """Says where the text stands, and what stands beside it."""
        beside = ", ".join(f"{name}: {value}" for name, value in self.others.items())
        return f"in the field {self.name}{', with ' * bool(beside)}{beside}"


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
    fields: tuple[str, ...] = ()
    """In which field the text stands, and what stands beside it; the outermost first."""

    @property
    def mark(self) -> str:
        """Stands behind the text in place of its wrappers."""
        notes = ["MCP wrapper"] * self.is_result + ["in a list of one text"] * self.is_list
        notes += [*["1 field: _meta"] * self.has_metadata, *self.fields]
        return f"\u2026 {', '.join(notes)}{', isError: true' * self.is_error} \u2026"

    def around(self, inner: Unwrapped) -> Unwrapped:
        """What this wrapper and the one in it hold."""
        return Unwrapped(
            inner.text,
            self.is_error or inner.is_error,
            self.is_result or inner.is_result,
            self.is_list or inner.is_list,
            self.has_metadata or inner.has_metadata,
            self.fields + inner.fields,
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
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def unwrapped(text: str, unescaped: Callable[[str], str], depth: int = DEEPEST) -> Unwrapped | None:
    """The content of a wrapper, and of a wrapper in it; None if `text` is no wrapper, or says more
    than one text.

    `unescaped` reads the escapes of a string's content. Linear in `text`.
    """
    outer = _unwrapped(text, unescaped) if depth else None
    if outer is None or not outer.text.strip():
        return None
    inner = unwrapped(outer.text, unescaped, depth - 1)
    if inner is not None:
        return outer.around(inner)
    # JSON in a string is shown as part of the object around it.
    return None if outer.fields and begins_as_json(outer.text) else outer


def begins_as_json(text: str) -> bool:
    """Whether a text begins as JSON does, or what Python prints."""
    return _JSON_BEGINS.match(text) is not None


def text_field(text: str) -> TextField | None:
    """The long text that is nearly all of a JSON object, if every other field is a short value;
    None of any other text. Linear in `text`."""
    if len(text) < LONG or text[0] != "{":
        return None
    try:
        fields = _fields.decode(text)
        if len(fields) > 1 + MAX_BESIDE:
            return None
        written = {name: bytes(held).decode() for name, held in fields.items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    name = max(written, key=lambda one: len(written[one]), default="")
    held = written.pop(name, "")
    if not _is_most_of(held, text):
        return None
    if not _FIELD_NAME.fullmatch(name) or not all(map(_is_short, written, written.values())):
        return None
    return TextField(name, held[1:-1], written)


def _is_most_of(held: str, text: str) -> bool:
    """Whether a value of an object, as it is written, is a long text and nearly all of it."""
    if held[:1] != '"' or len(held) < max(LONG, NEARLY_ALL * len(text)):
        return False
    return sum(1 for _ in islice(_BREAK.finditer(held), _MIN_BREAKS)) == _MIN_BREAKS


def _is_short(name: str, value: str) -> bool:
    """Whether a mark can tell a field: a plain name with a value that is no object or list of
    something, and has nothing that looks like a mark."""
    if not _FIELD_NAME.fullmatch(name) or len(value) > _BESIDE or "\u2026" in value:
        return False
    return value.isprintable() and (value[0] not in "{[" or value in ("{}", "[]"))


def _unwrapped(text: str, unescaped: Callable[[str], str]) -> Unwrapped | None:
    field = text_field(text)
    if field is not None:
        return Unwrapped(unescaped(field.written), is_result=False, fields=(field.mark,))
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
    """The list in `structuredContent`, as it is written, if the text blocks repeat its elements,
    one each, as servers do with a list."""
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


def says_again(structured: bytes, texts: Sequence[str]) -> bool:
    """Whether `structuredContent`, as JSON, only says what the texts say beside it: the text, or
    its value, or one element for each text. Servers write a value that is no object into a field
    `result`."""
    try:
        blocks = [_Block("text", msgspec.Raw(msgspec.json.encode(text))) for text in texts]
        one = len(blocks) == 1 and _repeats(msgspec.Raw(structured), blocks[0].text)
        return one or _elements_of(_Result(blocks, structured=msgspec.Raw(structured))) is not None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False


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
    """The values of a text: itself, and the value that it has as JSON. Empty if it is no text."""
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
