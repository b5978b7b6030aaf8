"""Lone surrogates: halves of characters, which JSON may contain (`"\\ud800"`) and UTF-8 may not.
Python's decoders of JSON and YAML let them pass."""

from __future__ import annotations

import re
from typing import Any


def is_encodable(text: str) -> bool:
    """Whether the text is valid Unicode (no lone surrogates)."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def lone_surrogate_in(value: Any) -> str:
    """Path of the first text in a decoded value that has a lone surrogate, or of the object whose
    key has one; empty if there is none. Keys that are no plain words are written `[...]`, as
    msgspec does."""
    waiting = [("$", value)]
    while waiting:
        path, held = waiting.pop()
        if isinstance(held, str):
            if not is_encodable(held):
                return path
        elif isinstance(held, dict):
            if any(isinstance(key, str) and not is_encodable(key) for key in held):
                return path
            waiting += [(path + _step(key), inner) for key, inner in reversed(held.items())]
        elif isinstance(held, list | tuple):
            waiting += [(f"{path}[{at}]", held[at]) for at in reversed(range(len(held)))]
    return ""


def _step(key: Any) -> str:
    return f".{key}" if isinstance(key, str) and re.fullmatch(r"\w+", key) else "[...]"
