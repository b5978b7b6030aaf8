"""Width and height of an image, from its first bytes: PNG, GIF and JPEG."""

from __future__ import annotations

from itertools import chain

_PNG = b"\x89PNG\r\n\x1a\n"
_FRAMES = frozenset(
    chain(range(0xC0, 0xC4), range(0xC5, 0xC8), range(0xC9, 0xCC), range(0xCD, 0xD0))
)
"""Markers of JPEG's frame headers (ITU T.81, table B.1), which contain the size."""


def dimensions(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None if the bytes do not tell."""
    if content.startswith(_PNG) and len(content) >= 24:
        return _number(content, 16, 4), _number(content, 20, 4)
    if content[:6] in (b"GIF87a", b"GIF89a") and len(content) >= 10:
        return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
    return _jpeg(content) if content.startswith(b"\xff\xd8") else None


def _jpeg(content: bytes) -> tuple[int, int] | None:
    """Walks from segment to segment up to a frame header."""
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        if content[at + 1] in _FRAMES:
            return _number(content, at + 7, 2), _number(content, at + 5, 2)
        at += 2 + max(_number(content, at + 2, 2), 2)
    return None


def _number(content: bytes, at: int, size: int) -> int:
    return int.from_bytes(content[at : at + size], "big")
