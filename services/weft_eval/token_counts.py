"""Tokens of texts that are counted repeatedly: one session's items at every step."""

from __future__ import annotations

from functools import lru_cache

from weft import tokens


@lru_cache(maxsize=65_536)
def count(text: str) -> int:
    """In the default encoding."""
    return tokens.count(text)
