"""Shows JSON on one line, without the quotes that it does not need."""

from __future__ import annotations

import re
from functools import lru_cache

_PLAIN = re.compile(r"[^\s\"\\{}\[\],:](?:[^\"\\{}\[\],\n:]|:(?! ))*(?<!\s)\Z")
_LITERAL = re.compile(r"(?:[Tt]rue|[Ff]alse|null|None|-?[0-9.]+(?:[eE][+-]?[0-9]+)?)\Z")
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|(?<![ \t\r])[ \t\r]*\n\s*')
"""A string, or the whitespace that indents JSON. The lookbehind keeps a megabyte of blanks linear.
"""

REMEMBERED = 1_024
"""Texts whose form without quotes is kept: the compiles of a session need the same ones again and
again. It saves an eighth of a compile of sixteen items."""
REMEMBERED_LENGTH = 4_096
"""Characters of the longest one that is kept, so that all together take some megabytes at most."""


def unquoted(json_text: str) -> str:
    """JSON on one line, without the quotes whose removal makes nothing ambiguous:
    `{"a": "b", "n": "1"}` becomes `{a: b, n: "1"}`. Values keep their text and their order; those
    that stand right beside each other get a blank between them."""
    if len(json_text) > REMEMBERED_LENGTH:
        return _STRING.sub(_without_quotes, json_text)
    return _remembered(json_text)


@lru_cache(REMEMBERED)
def _remembered(json_text: str) -> str:
    return _STRING.sub(_without_quotes, json_text)


def _without_quotes(found: re.Match[str]) -> str:
    text, colon = found[1], found[2]
    if text is None:
        start, end = found.span()
        before, after = found.string[max(start - 1, 0) : start], found.string[end : end + 1]
        return "" if before in ("", "{", "[") or after in ("", "}", "]") else " "
    if not _PLAIN.match(text) or (":" in text if colon else _LITERAL.match(text)):
        return found[0]
    # Without a quote, `a,b` and `a:b` would seem to be one value.
    is_beside = found.string[max(found.start() - 1, 0) : found.start()] in (",", ":")
    return f"{' ' * is_beside}{text}{':' if colon else ''}"
