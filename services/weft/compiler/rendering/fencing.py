"""Keeps text from passing for anything else in a prompt, by a fence that it cannot forge."""

from __future__ import annotations

import hashlib
import re

from weft.adapters.speaker_names import is_reserved

_COLONS = ":\uff1a\ufe55\ufe13\u2236\ua789\u02d0\u0589\u05c3"
"""The colon and similar characters."""
_LINE = re.compile(
    "[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
    "[ \t\xa0\xad\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff]{0,40}"
    "(?:(?:#{1,6}|[*_]{1,3})[ \t]{0,8})?"
    "([^\n\r" + _COLONS + "]{1,60})[" + _COLONS + "]"
)
"""A line that begins like a section or a turn, after any kind of line end, and its name."""

_DIGITS = 3
"""Digits per step of a fence: three are one token in the encodings that we count with."""


DATA, MESSAGE = "data", "message"
"""Fences of text without authority, and of messages of several lines from a user or policy."""


def fence(text: str, item_id: str, key: bytes, name: str = DATA) -> str:
    """`<data:482>…</data:482>`: the number is a keyed hash of the item's id, lengthened until the
    text does not contain it, so no content can close its own fence. The same on every replica and
    replay."""
    state = fence_digits(item_id, key)
    length = _DIGITS
    while f":{state[:length]}>" in text:
        length += _DIGITS
        if length > len(state):
            state += fence_digits(state, key)
    mark = state[:length]
    gap = "\n" if "\n" in text else ""
    return f"<{name}:{mark}>{gap}{text}{gap}</{name}:{mark}>"


def has_data(text: str) -> bool:
    """Whether an entry's text has a fence of data or something like it."""
    return f"<{DATA}:" in text


def is_message(text: str) -> bool:
    """Whether an entry's text is in the fence of a message or something like it."""
    return text.startswith(f"<{MESSAGE}:")


def fence_digits(name: str, key: bytes) -> str:
    """Some seventy decimal digits that cannot be computed without the key."""
    raw = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key[:64]).digest()
    return f"{int.from_bytes(raw[:30], 'big'):072d}"


def looks_like_labels(text: str) -> bool:
    """Whether a line of a text, except the first, could be taken for the next block."""
    return any(is_reserved(found[1]) for found in _LINE.finditer(text))
