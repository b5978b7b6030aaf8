"""Reads texts that a program printed as Python values (`{'a': None}`) as JSON, token by token and
without evaluating anything."""

from __future__ import annotations

import re

import msgspec

_START = re.compile(r"[\[{(]\s*(?:['\"{\[(\d-]|None|True|False|\)|\]|\})")
STRING = r"'(?:[^'\\]++|\\.)*+(?:'|\Z)|\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)"
"""A string literal, including one that is cut off by the end of the text."""
_TOKEN = re.compile(
    rf"(?P<string>[bru]?(?:{STRING}))|(?P<word>\b(?:None|True|False|nan|inf)\b)|(?P<open>\()"
    r"|(?P<close>(?:,|(?<!\s))\s*+\))|(?P<comma>,\s*(?=[\]}]))",
    re.DOTALL,
)
_WORDS = {"None": "null", "True": "true", "False": "false", "nan": "null", "inf": "null"}
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\n)|(.))", re.DOTALL
)
_SIMPLE = {
    "'": "'",
    '"': '"',
    "\\": "\\",
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}


def looks_like_repr(text: str) -> bool:
    """Whether `text` may be a Python list, dict or tuple."""
    return _START.match(text) is not None and ("'" in text or "None" in text or "True" in text)


def repr_to_json(text: str) -> str:
    """`text` with Python's literals written as in JSON. Linear; anything that is not a literal is
    kept."""
    return _TOKEN.sub(_as_json, text)


def with_json_strings(text: str) -> str:
    """`text` with its string literals as JSON writes them, and with strings for what JSON has no
    form of: bytes, tuples, and what a class prints, such as `Decimal('1.50')`. All else is kept:
    values stay as they are written. Linear."""
    return _LITERAL.sub(_as_string, text)


def with_json_words(text: str) -> str:
    """What `with_json_strings` returns, with JSON's words, of the same length."""
    return _WORD.sub(lambda match: _SAME_LENGTH.get(match.group(), match.group()), text)


_CLOSED = r"(?:'(?:[^'\\\n]++|\\.)*+'|\"(?:[^\"\\\n]++|\\.)*+\")"
_LITERAL = re.compile(
    rf"(?P<printed>[A-Za-z_][\w.]{{0,80}}\((?:[^'\"()]++|{_CLOSED})*+\)"
    rf"|\((?:[^'\"()\[\]{{}}]++|{_CLOSED})*+\)|b{_CLOSED})|(?P<string>{STRING})",
    re.DOTALL,
)
_WORD = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|\b(?:None|True|False|nan|inf)\b', re.DOTALL)
_SAME_LENGTH = {"None": "null", "True": "true", "False": "false", "nan": "0.0", "inf": "0.0"}


def _as_string(match: re.Match[str]) -> str:
    printed = match["printed"]
    if printed is None and not (len(match.group()) > 1 and match.group()[-1] == match.group()[0]):
        return match.group()  # cut off by the end of the text
    return msgspec.json.encode(printed or unquoted(match.group())).decode()


def unquoted(literal: str) -> str:
    """The value of a Python string literal."""
    body = literal.lstrip("bru")
    inner = body[1:-1] if len(body) > 1 and body[-1] == body[0] else body[1:]
    return _ESCAPE.sub(_character, inner) if "\\" in inner else inner


def _as_json(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "string":
        return msgspec.json.encode(unquoted(match.group())).decode()
    if kind == "word":
        return _WORDS[match.group()]
    if kind == "comma":
        return ""
    return "[" if kind == "open" else "]"


def _character(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2) or match.group(3)
    if code is not None:
        number = int(code, 16)
        valid = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
        return chr(number) if valid else "\ufffd"
    if match.group(4) is not None:
        return ""
    return _SIMPLE.get(match.group(5), match.group())
