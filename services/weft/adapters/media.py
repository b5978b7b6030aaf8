"""Images, recordings and files in chats: the text of a text file is kept; for anything else a
placeholder says what was left out. Inline data never reaches an item.

Reads the blocks of OpenAI (`image_url`, `input_image`, `input_audio`, `file`, `input_file`, …),
Anthropic (`image`, `document`, `search_result`, `container_upload`) and MCP (`image`, `audio`,
`resource`, `resource_link`).
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

import msgspec

from weft.adapters.image_dimensions import dimensions

Block = Mapping[str, Any]

LeftOut = Counter[str]
"""How many of each kind were left out: `image`, `audio`, `video`, `file`, `part`, which have a
placeholder each; and those in `UNREAD`, which have none."""

UNREAD = ("reasoning", "reference")
"""A model's reasoning, and data that only the provider has."""

MAX_NAME_LENGTH = 120
"""How many characters of a file's name or address a placeholder shows; the middle is cut out."""
HANDLE_DIGITS = 10
"""Hex digits of a handle: 40 bits, so that two media of a session do not get the same one by
chance."""

_PLURALS = {
    "image": "images",
    "audio": "recordings",
    "video": "videos",
    "file": "files",
    "part": "other parts",
    "reasoning": "parts of reasoning",
    "reference": "references",
}
_SINGULARS = {"audio": "recording", "part": "other part", "reasoning": "part of reasoning"}

_UNSAFE = re.compile(r"[\[\]\s\x00-\x1f\x7f]+")
"""Characters that could end a placeholder, or begin a line of their own."""
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")
_IS_TEXT = re.compile(r"text/|application/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|javascript)\Z")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.IGNORECASE)


class Media(msgspec.Struct, frozen=True):
    """One block as the provider described it; fields that it does not give are empty."""

    kind: str
    media_type: str = ""
    name: str = ""
    url: str = ""
    file_id: str = ""
    data: str = ""
    """Base64, or a `data:` URL."""
    text: str | None = None
    size: int | None = None
    """Size in bytes, if the block gives it."""


class BlockText(NamedTuple):
    """The text for a block in an item."""

    text: str
    is_document: bool
    """It is what a file or a search result says, and not weft's own placeholder."""


def block_text(block: Block, left_out: LeftOut) -> str | None:
    """The text for a block in an item: a text file whole under its name, anything else as a
    placeholder, counted in `left_out`. None for a block that is not media."""
    found = read_block(block, left_out)
    return None if found is None else found.text


def read_block(block: Block, left_out: LeftOut) -> BlockText | None:
    """The same, with whether others wrote the text."""
    if block.get("type") == "search_result":
        return _document(_search_result(block, left_out))
    inner = _object(block, "source").get("content")
    if block.get("type") == "document" and isinstance(inner, str | list):
        return _document(_titled(_words(block, "title"), _texts(inner, left_out)))
    media = _media(block)
    if media is None:
        return None
    content, media_type = _content(media)
    text = media.text if media.text is not None else _as_text(content, media_type)
    if text is not None:
        return _document(_titled(", ".join(filter(None, [_name(media), media_type])), text))
    left_out[media.kind] += 1
    return BlockText(_placeholder(media, content, media_type), False)


def _document(text: str | None) -> BlockText | None:
    return None if text is None else BlockText(text, True)


def unknown_block(block: Block, left_out: LeftOut) -> str:
    """The placeholder for a block of unknown type."""
    kind = _safe_name(_words(block, "type"))
    held = block.get(kind)
    url = held if isinstance(held, str) else _words(_object(block, kind), "url")
    left_out["part"] += 1
    return f"[{', '.join(filter(None, [f'{kind} left out', _address(url)]))}]"


def placeholders_in(texts: Iterable[str]) -> LeftOut:
    """How many of each kind the texts have a placeholder for."""
    return Counter(kind or "part" for text in texts for kind in _PLACEHOLDER.findall(text))


_PLACEHOLDER = re.compile(
    r"\[(?:(image|audio|video|file) left out: [^\[\]\n]+|[^\[\]\n,]+ left out(?:, [^\[\]\n]+)?)\]"
)


def count_in_words(left_out: Mapping[str, int]) -> str:
    """`3 images and 1 file`; empty if nothing was left out."""
    named = [
        f"{left_out[kind]} {_SINGULARS.get(kind, kind) if left_out[kind] == 1 else plural}"
        for kind, plural in _PLURALS.items()
        if left_out.get(kind)
    ]
    return " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))


def _media(block: Block) -> Media | None:
    """A block of any of the three, if it has content or says where it is."""
    match block.get("type"):
        case "image_url" | "input_image" | "audio_url" | "video_url" as kind:
            media = _linked(block, kind)
        case "input_audio":
            held = _object(block, "input_audio")
            format = _words(held, "format")
            media = Media("audio", f"audio/{format}" if format else "", data=_words(held, "data"))
        case "file" | "input_file" | "container_upload":
            media = _file(_object(block, "file") or block)
        case "image" | "audio" | "document" as kind:
            media = _sourced(block, "file" if kind == "document" else kind)
        case "resource":
            media = _resource(_object(block, "resource"))
        case "resource_link":
            media = _resource(block)
        case _:
            return None
    known = media.url or media.file_id or media.data or media.text is not None
    return media if known else None


def _linked(block: Block, kind: str) -> Media:
    """OpenAI's links, which may be `data:` URLs: a string, or an object with `url`."""
    key = "image_url" if kind == "input_image" else kind
    held = block.get(key)
    url = held if isinstance(held, str) else _words(_object(block, key), "url")
    return _addressed(Media(key.removesuffix("_url"), file_id=_words(block, "file_id")), url)


def _file(held: Block) -> Media:
    media = Media(
        "file",
        name=_words(held, "filename"),
        file_id=_words(held, "file_id"),
        data=_words(held, "file_data"),
    )
    return media if media.data else _addressed(media, _words(held, "file_url"))


def _sourced(block: Block, kind: str) -> Media:
    """Anthropic's `source`, MCP's `data` with `mimeType`, or LangChain's keys in the block."""
    source = _object(block, "source")
    media = Media(
        kind,
        _words(source, "media_type") or _words(block, "mimeType") or _words(block, "mime_type"),
        name=_words(block, "title"),
        file_id=_words(source, "file_id") or _words(block, "file_id"),
        data=_words(source, "data") or _words(block, "data") or _words(block, "base64"),
    )
    if source.get("type") == "text":
        return msgspec.structs.replace(media, data="", text=media.data)
    url = _words(source, "url") or _words(block, "url")
    return _addressed(media, url) if not media.data else media


def _resource(held: Block) -> Media:
    """MCP's embedded resource, or a link to one. Its kind is that of its media type."""
    media_type = _words(held, "mimeType")
    kind = media_type.partition("/")[0]
    size, text = held.get("size"), held.get("text")
    return Media(
        kind if kind in _PLURALS else "file",
        media_type,
        name=_words(held, "name"),
        url=_words(held, "uri"),
        data=_words(held, "blob"),
        text=text if isinstance(text, str) else None,
        size=size if isinstance(size, int) else None,
    )


def _addressed(media: Media, url: str) -> Media:
    if url[:5].casefold() == "data:":
        return msgspec.structs.replace(media, data=url)
    return msgspec.structs.replace(media, url=url)


def _content(media: Media) -> tuple[bytes | None, str]:
    """The bytes, if they are inline and can be decoded, and the media type."""
    media_type, data = media.media_type, media.data
    head = _DATA_URL.match(data)
    if head is not None:
        media_type, data = media_type or head[1], data[head.end() :]
        if ";base64" not in head[2].casefold():
            return unquote_to_bytes(data), _type(media_type)
    return _decoded(data) if data else None, _type(media_type)


def _decoded(data: str) -> bytes | None:
    """Base64 of either alphabet, padded or not."""
    plain = "".join(data.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        return None


def _type(media_type: str) -> str:
    """The media type without parameters; empty if it is not one."""
    found = _MEDIA_TYPE.match(media_type.strip().lower())
    return found[0] if found else ""


def _as_text(content: bytes | None, media_type: str) -> str | None:
    if content is None or not _IS_TEXT.match(media_type):
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _placeholder(media: Media, content: bytes | None, media_type: str) -> str:
    """`[image left out: image/png, 640x480, 12345 bytes, cat.png, media:1a2b3c4d5e]`."""
    size = len(content) if content is not None else media.size
    wide = dimensions(content) if content is not None and media.kind == "image" else None
    details = [
        media_type,
        f"{wide[0]}x{wide[1]}" if wide else "",
        f"{size} bytes" if size is not None else "",
        _name(media),
        _handle(media, content),
    ]
    return f"[{media.kind} left out: {', '.join(filter(None, details))}]"


def _handle(media: Media, content: bytes | None) -> str:
    """The provider's own id, or a hash of the content: the same media get the same handle."""
    if media.file_id:
        return _safe_name(media.file_id)
    held = content or (media.data or media.url).encode("utf-8", "surrogatepass")
    return f"media:{hashlib.sha256(held).hexdigest()[:HANDLE_DIGITS]}"


def _name(media: Media) -> str:
    return _safe_name(media.name) or _address(media.url)


def _address(url: str) -> str:
    """An address without user, password, query and fragment, any of which may be a credential."""
    if url[:5].casefold() == "data:":
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    slashes = "//" if url[len(scheme) :].startswith("//") else ""
    return _safe_name(f"{scheme}{slashes}{host}{parts.path}{'?…' if parts.query else ''}")


def _safe_name(name: str) -> str:
    """A name that cannot break out of its placeholder."""
    name = _UNSAFE.sub(" ", name).strip()
    half = MAX_NAME_LENGTH // 2
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[:half]}…{name[-half:]}"


def _search_result(block: Block, left_out: LeftOut) -> str | None:
    content = block.get("content")
    if not isinstance(content, list):
        return None
    head = ", ".join(filter(None, [_words(block, "title"), _address(_words(block, "source"))]))
    return _titled(head, _texts(content, left_out))


def _texts(content: str | list[Any], left_out: LeftOut) -> str:
    """The text of inner blocks, with media as placeholders."""
    if isinstance(content, str):
        return content
    found = []
    for block in content:
        if isinstance(block, dict):
            text = (
                _words(block, "text")
                if block.get("type") == "text"
                else block_text(block, left_out)
            )
            found.append(unknown_block(block, left_out) if text is None else text)
    return "\n".join(found)


def _titled(title: str, text: str) -> str:
    return f"[file: {_safe_name(title)}]\n{text}" if title else text


def _words(held: Block, key: str) -> str:
    value = held.get(key)
    return value if isinstance(value, str) else ""


def _object(held: Block, key: str) -> Block:
    value = held.get(key)
    return value if isinstance(value, dict) else {}
