"""Completes a JSON text that was cut off: the unfinished part is removed, and what is open is
closed."""

from __future__ import annotations

import re

MAX_CHARS = 512 << 10
"""How many characters of a broken text are read; a longer one is first cut here."""
_TOKEN = re.compile(
    r"\"(?:[^\"\\]++|\\.)*+(?P<closed>\")?|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)|(?P<colon>:)",
    re.DOTALL,
)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


def repaired(text: str, most: int = MAX_CHARS) -> str | None:
    """A complete JSON text made from a prefix of `text`, of at most so many characters; None if its
    brackets do not match or contain nothing. Linear."""
    text = text[:most]
    stack: list[str] = []
    safe, after_colon = 0, False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            stack.append("]" if match.group() == "[" else "}")
            safe = match.end()
        elif kind == "close":
            if not stack or stack.pop() != match.group():
                return None
            safe = match.end()
            if not stack:
                return text[:safe]
        elif kind == "comma":
            safe = match.start()
        elif kind is None:
            return _closed_string(text, stack, safe, after_colon)
        after_colon = kind == "colon"
    return text[:safe] + "".join(reversed(stack)) if stack else None


def _closed_string(text: str, stack: list[str], safe: int, is_value: bool) -> str | None:
    """The text ends inside a string: a value keeps its beginning, a key is removed."""
    if not stack:
        return None
    closers = "".join(reversed(stack))
    if is_value or stack[-1] == "]":
        return f'{_CUT_ESCAPE.sub("", text)}"{closers}'
    return text[:safe] + closers
