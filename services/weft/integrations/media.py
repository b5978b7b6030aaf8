"""Pictures, recordings and files of a framework's history in the prompt that weft compiled.

No item contains them: the log and the prompt have a placeholder, which names each by a hash of its
content. The framework still has the media itself, so its request gets them in the placeholders'
places. Weft has not scanned them, and counts no tokens for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from weft.messages import Format
from weft.messages.reading import draft
from weft.part_kind import part_kind
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ItemKind

MAX_EARLIER_MEDIA = 8
"""Media from before the user's latest message are included up to this many in all: each costs about
a thousand tokens."""
_KINDS = frozenset({"image", "audio", "video", "file"})
_RESULTS = frozenset({"tool_result", "function_call_output"})

_WITH_BLOCKS = _RESULTS | {"search_result"}
"""Parts that contain parts; those of a document are in its `source`."""

Media = Mapping[str, Any]
"""By placeholder, what the framework has in its place."""


def media_in(history: Sequence[Any], format: Format) -> dict[str, Any]:
    """The media of a history in a provider's form: all since the user's latest words, and of
    earlier ones the newest."""
    found: dict[str, Any] = {}
    is_open = True
    for message in reversed(history):
        for block in _blocks(message):
            if is_open or len(found) < MAX_EARLIER_MEDIA:
                name = placeholder_of(block, format)
                if name is not None:
                    found.setdefault(name, block)
        is_open = is_open and not _is_users(message)
    return found


def placeholder_of(block: Mapping[str, Any], format: Format) -> str | None:
    """What an item contains in place of a part of a message; None if it is not media."""
    key = "parts" if format == "gemini" else "content"
    try:
        read = draft([{"role": "user", key: [block]}], format)
    except InvalidInput:
        return None
    if len(read.items) != 1 or read.items[0].kind is not ItemKind.USER_TURN:
        return None  # a document with pictures goes to the model as weft has scanned it
    return read.items[0].text if _KINDS & read.left_out.keys() else None


def with_media(text: Any, media: Media, as_part: Callable[[str], Any]) -> Any:
    """The text unchanged, or as parts, if it contains placeholders of these media. Those in JSON
    stay placeholders."""
    if not media or not isinstance(text, str):
        return text
    names = "|".join(map(re.escape, media))
    pieces = re.split(rf'(?<!["\\])({names})(?!["\\])', text)
    if len(pieces) == 1:
        return text
    return [
        media[piece] if at % 2 else as_part(piece)
        for at, piece in enumerate(pieces)
        if at % 2 or piece.strip()
    ]


def _blocks(message: Any) -> Iterator[Mapping[str, Any]]:
    """The parts of a message that are not plain text, with those in results and documents,
    the last ones first."""
    if not isinstance(message, Mapping):
        return
    held = next((message[key] for key in ("content", "parts", "output") if message.get(key)), None)
    for block in reversed(held) if isinstance(held, list) else ():
        if not isinstance(block, Mapping) or isinstance(block.get("text"), str):
            continue
        inner = block if part_kind(block) in _WITH_BLOCKS else block.get("source")
        yield from _blocks(inner)
        if inner is not block:
            yield block


def _is_users(message: Any) -> bool:
    """Whether these are a user's words, and no result."""
    if not isinstance(message, Mapping) or message.get("role") != "user":
        return False
    held = message.get("content") or message.get("parts")
    if not isinstance(held, list):
        return True
    return not any(
        isinstance(one, Mapping) and (part_kind(one) in _RESULTS or "function_response" in one)
        for one in held
    )
