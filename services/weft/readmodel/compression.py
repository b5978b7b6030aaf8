"""Compression of texts in the read model; equal texts give equal bytes."""

from __future__ import annotations

import zlib

LEVEL = 1
"""The fastest: 200 KB of JSON take 2 ms, and a fifth of their size."""


def compressed(text: str) -> bytes:
    """`text` may hold anything that UTF-8 can."""
    return zlib.compress(text.encode(), LEVEL)


def decompressed(data: bytes) -> str:
    """The inverse of `compressed`."""
    return zlib.decompress(data).decode()
