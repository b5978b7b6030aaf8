"""Takes tool results out of their container (MCP content blocks, as JSON or printed by Python), so
that the summary is about the tool's output and not about the wrapping."""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from weft.firewall.verbatim_json import fraction
from weft.part_kind import part_kind
from weft.passages.json_repair import repaired
from weft.passages.mcp_wrapper import says_again
from weft.passages.python_repr import STRING, unquoted

_BLOCK_TYPES = frozenset(("text", "image", "audio", "resource", "resource_link"))
_PRINTED = re.compile(r"\A(?:CallToolResult\()?(?:meta=|content=\[|\[?TextContent\()")
_PRINTED_TEXT = re.compile(rf"\btext=({STRING})", re.DOTALL)
_PRINTED_ERROR = re.compile(r"isError=(True|False)\)?\s*\Z")


class UnwrappedResult(msgspec.Struct, frozen=True):
    """The content of the container."""

    texts: tuple[str, ...]
    """Each text block or embedded text resource, in order."""
    value: object = None
    """`structuredContent`, if there was any; None if it is the one text in a field."""
    other: tuple[str, ...] = ()
    """One line per block that is not text: type, size, dimensions."""
    is_error: bool | None = None
    repeats: bool = False
    """Whether the structured content only says again what the texts say."""

    @property
    def structured(self) -> dict[str, object] | list[object] | None:
        """The structured content that a summary is made of: None if there is none, or an empty
        one."""
        return self.value if isinstance(self.value, dict | list) and self.value else None


class _Result(msgspec.Struct):
    content: list[dict[str, object]]
    isError: bool | None = None
    structuredContent: msgspec.Raw = msgspec.Raw(b"null")


_NONE = msgspec.Raw(b"null")
_as_value = msgspec.json.Decoder(float_hook=fraction)
_as_result = msgspec.json.Decoder(_Result, float_hook=fraction)
_as_blocks = msgspec.json.Decoder(list[dict[str, object]])


def unwrap(text: str, depth: int) -> UnwrappedResult | None:
    """The content of an MCP result, including containers within containers up to `depth`; None if
    `text` is not a container."""
    outer = _container(text.strip())
    if outer is None or depth <= 0:
        return outer
    if len(outer.texts) == 1 and not outer.other:
        inner = unwrap(outer.texts[0], depth - 1)
        if inner is not None:
            said = [held.is_error for held in (outer, inner) if held.is_error is not None]
            wrong = any(said) if said else None
            # The one that repeats its text has nothing to add to what the text holds.
            own = None if outer.repeats else outer.value
            value = inner.value if inner.value is not None else own
            repeats = inner.repeats or outer.repeats if value is None else inner.repeats
            return UnwrappedResult(inner.texts, value, inner.other, wrong, repeats)
    return outer


def _container(text: str) -> UnwrappedResult | None:
    if _PRINTED.match(text):
        texts = [unquoted(literal) for literal in _PRINTED_TEXT.findall(text)]
        error = _PRINTED_ERROR.search(text)
        return UnwrappedResult(tuple(texts), is_error=error.group(1) == "True" if error else None)
    if not (text.startswith("{") and '"content"' in text[:4_000] + text[-4_000:]) and not (
        text.startswith("[") and '"type"' in text[:400]
    ):
        return None
    found = _decoded(text)
    if found is None and (completed := repaired(text)) is not None:
        found = _decoded(completed)
    return found


def _decoded(text: str) -> UnwrappedResult | None:
    try:
        if text[0] == "[":
            return _from_blocks(_as_blocks.decode(text), _NONE, None)
        result = _as_result.decode(text)
        return _from_blocks(result.content, result.structuredContent, result.isError)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def _from_blocks(
    blocks: list[dict[str, object]], structured: msgspec.Raw, is_error: bool | None
) -> UnwrappedResult | None:
    if not all(part_kind(block) in _BLOCK_TYPES for block in blocks):
        return None
    value = _as_value.decode(structured)
    if not blocks and value is None and is_error is None:
        return None
    texts: list[str] = []
    other: list[str] = []
    for block in blocks:
        resource = block.get("resource")
        held = resource if isinstance(resource, dict) else block
        body = held.get("text")
        if isinstance(body, str):
            texts.append(body)
        else:
            other.append(_described(block, held))
    repeats = value is not None and not other and says_again(bytes(structured), texts)
    if repeats and value == {"result": texts[0]}:
        value = None
    return UnwrappedResult(tuple(texts), value, tuple(other), is_error, repeats)


def _described(block: dict[str, object], held: dict[str, object]) -> str:
    """One line about a block that cannot be shown, never its bytes."""
    kind = part_kind(block)
    mime = str(held.get("mimeType", ""))[:80]
    place = str(held.get("uri", ""))[:200]
    data = held.get("data", held.get("blob"))
    size = f"{len(data) * 3 // 4} bytes" if isinstance(data, str) else ""
    shape = dimensions(_decoded_start(data)) if isinstance(data, str) else ""
    return " ".join(part for part in (f"[{kind}", mime, shape, size, place) if part) + "]"


def _decoded_start(data: str) -> bytes:
    start = data[:4_096]
    try:
        return base64.b64decode(start[: len(start) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def dimensions(data: bytes) -> str:
    """`WIDTHxHEIGHT` of a PNG, GIF, BMP or JPEG that starts with `data`; empty if unknown."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return f"{int.from_bytes(data[16:20])}x{int.from_bytes(data[20:24])}"
    if data[:4] == b"GIF8" and len(data) >= 10:
        return f"{int.from_bytes(data[6:8], 'little')}x{int.from_bytes(data[8:10], 'little')}"
    if data[:2] == b"BM" and len(data) >= 26:
        return f"{int.from_bytes(data[18:22], 'little')}x{int.from_bytes(data[22:26], 'little')}"
    if data[:2] == b"\xff\xd8":
        return _jpeg(data)
    return ""


def _jpeg(data: bytes) -> str:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            height, width = data[at + 5 : at + 7], data[at + 7 : at + 9]
            return f"{int.from_bytes(width)}x{int.from_bytes(height)}"
        at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4]))
    return ""
