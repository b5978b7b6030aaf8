"""Values next to a telling name: the whole value of a setting, a field, a declaration or an
argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import re2

from weft.secrets.masking import Finding
from weft.secrets.names import (
    ends_in_key,
    is_harmless,
    is_weak,
    names_key,
    names_password,
    names_phrase,
)
from weft.secrets.published import SERVICES
from weft.secrets.rule import WORD_START
from weft.secrets.values import (
    is_basic,
    is_code,
    is_key_like,
    is_mixed,
    is_passphrase,
    is_place,
    is_placeholder,
    is_plain,
    is_well_known,
    is_word_of_secrecy,
    looks_random,
)

NAMES = (
    b"passw", b"pwd", b"passphrase", b"secret", b"token", b"credential", b"apikey", b"api_key",
    b"api-key", b"accesskey", b"access_key", b"access-key", b"auth", b"private_key", b"privatekey",
    b"encryption_key", b"signing_key", b"account_key", b"pass", b"x-api-key", b"pw", b"p/w",
    b"api key", b"access key", b"private key", b"api.key", b"key=", b"key:", b'key"', b"key'",
    b"key ", b"key[", b"key]", b"crumb", b"_pat",
)  # fmt: skip
_DECLARED = (
    rb"(?::[ \t]{0,4}(?:&(?:'static )?)?(?:str|string|bytes|secretstr|text|any|optional\[str\])\??"
    rb"[ \t]{0,4})?"
)
"""The type between a name and its value: `password: str = "…"`."""
_MADE = (
    rb"(?:(?:new[ \t]{1,4})?(?:string|securestring|secretstr)(?:::from)?\([ \t]{0,4}"
    rb"|[\[({][ \t]{0,4}(?:[0-9]{1,4},[ \t]{0,4})?|[0-9]{1,4},[ \t]{0,4}|!!?[a-z]{3,8}[ \t]{1,4}"
    rb"|[\w.:]{0,40}(?:env|environ\.get|config|setting|property|\.get|fetch)\w{0,12}\([ \t]{0,4}"
    rb"[\"'][\w.-]{1,60}[\"'],[ \t]{0,4}(?:default[ \t]{0,2}=[ \t]{0,2})?"
    rb"|(?:try|coalesce|lookup|sensitive|optional)\([^\"'\n]{0,80})?"
)
"""What a value may be wrapped in: `new String("…")`, `{0, "…"}`, `!!binary "…"`, the default of
`getenv("NAME", "…")`."""
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.max_mem = 32 << 20
_ASSIGNED = re2.compile(
    rb"(?i)((?:passw(?:or)?d|passwd|pwd|passphrase|secret(?: key)?|token|credentials?"
    rb"|(?:user|db|root|admin|mysql|ftp|smtp|store)_?pass|" + SERVICES.encode() + rb"[._ -]?key"
    rb"|api[ ._-]?key|access[ _-]?key|account[_-]?key|private[ _-]?key|encryption[_-]?key"
    rb"|signing[_-]?key|shared[_-]?key|auth(?:entication key)?|crumb|_pat\b|(?-i:[A-Z0-9]_KEY\b)|"
    + WORD_START.encode()
    + rb"(?:pass|pw|p/w)|[_-](?:pass|pw))[\w.-]{0,20})"
    rb"[ \t\\]{0,40}[\"'\]]{0,2}(?:\[\])?[ \t]{0,40}"
    + _DECLARED
    + rb"(?::=|=>|[!=]={1,2}|\+?=|:)[ \t\\]{0,20}"
    rb"(?:" + _MADE + rb"[bfrul@$]?([\"'`])|(?:!!?[a-z]{3,8}[ \t]{1,4})?([^\s\"',;)\]}<>(]))",
    _OPTIONS,
)
"""Starts at the telling part of a name: a pattern that began with what may precede it would be far
slower."""
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_LONGEST_NAME = 40
"""How many bytes before the telling part belong to the name."""
_QUOTE = 2
"""Group of the quote that opens a value, and group of the first character of a bare value."""
_QUOTED = re.compile(rb"\"([^\"\n]{4,4000})\"|'([^'\n]{4,4000})'|`([^`\n]{4,4000})`")
_BARE = re.compile(rb"[^\s\"',;)\]}<>(]{4,4000}")
_REST = re.compile(rb"[^\s\"'`<>]{0,200}(?=[ \t]*(?:[\r\n]|\Z))")
"""How the value of a setting continues if it is the rest of its line."""
_SHORT = 6
"""Shortest value that is not quoted or is not a password, in characters."""
_LONG_NUMBER = 16
"""Digits that are not a count, next to the name of a key."""
_LONGER_NUMBER = 24
"""The same next to the name of a token, which is as often a count."""


def assigned_secrets(data: bytes) -> Iterator[Finding]:
    """The values next to the names of passwords and keys. Linear in the length of `data`."""
    done = 0
    for match in _ASSIGNED.finditer(data):
        begin = name_begins(data, match.start())
        if match.start() < done or data[max(0, begin - 2) : begin] == b"::":
            continue  # inside a value, or the name of a type
        name, quoted = data[begin : match.end(1)], match.group(_QUOTE) is not None
        span = _quoted(data, match) if quoted else _bare(data, match, begin)
        if span is None:
            continue
        start, end = span
        done = end
        alone = quoted or _is_field(data, begin, end)
        if is_secret_value(name, data[start:end].lstrip(b" "), alone, quoted):
            # A backslash before a bare value is its first character.
            while data[start - 1 : start] == b"\\" and not quoted:
                start -= 1
            yield Finding(start, end, "secret", assignment_rule(name))


def _quoted(data: bytes, match: Any) -> tuple[int, int] | None:
    value = _QUOTED.match(data, match.end() - 1)
    if value is None or _is_key_of_object(data, value.start() + 1, value.end()):
        return None
    return value.start() + 1, _without_escape(data, value.start() + 1, value.end() - 1)


def _bare(data: bytes, match: Any, begin: int) -> tuple[int, int] | None:
    value = _BARE.match(data, match.end() - 1)
    if value is None:
        return None
    start, end = value.span()
    if _NESTED_NUMBER.match(data, start, end):
        start += len(data[start:end]) - len(data[start:end].lstrip(b"["))
    if data[begin - 1 : begin] in (b"?", b"&"):
        end = start + len(data[start:end].partition(b"&")[0])
    elif _is_line(data, begin):
        rest = _REST.match(data, end)
        end = rest.end() if rest and not is_code(data[start : rest.end()], False) else end
    if data[end : end + 1] in (b"(", b"["):
        return None  # code that does something with a password
    return start, _without_escape(data, start, end)


_NESTED_NUMBER = re.compile(rb"\[+-?[0-9][0-9.eE+-]*\Z")
"""In lists of lists of JSON: `[[12345678]]`."""


def _without_escape(data: bytes, start: int, end: int) -> int:
    """The rest of an escaped quote at the end belongs to the text around the value."""
    return start + len(data[start:end].rstrip(b" \\"))


_OPENS = re.compile(rb"[\[({][ \t]{0,4}[\"'`]\Z")
_NAMES = re.compile(rb"[ \t]{0,4}(?::|=>)")


def _is_key_of_object(data: bytes, start: int, end: int) -> bool:
    """Whether the quoted text in brackets is not a value but the name of one."""
    return (
        _OPENS.search(data[max(0, start - 6) : start]) is not None
        and _NAMES.match(data[end : end + 6]) is not None
    )


def name_begins(data: bytes, tells: int) -> int:
    before = data[max(0, tells - _LONGEST_NAME) : tells]
    return tells - len(before) + len(before.rstrip(_NAME_BYTES))


def assignment_rule(name: bytes) -> str:
    """The rule for a value next to `name`."""
    return "password" if names_password(name) else "assigned_secret"


_LINE_BEGINS = re.compile(rb"(?:\A|\n)(?:export |set |\$env:)?\Z")


def _is_line(data: bytes, begin: int) -> bool:
    """Whether a name begins its line, as in a file of settings."""
    return _LINE_BEGINS.search(data[max(0, begin - 8) : begin]) is not None


_FIELD_BEGINS = re.compile(rb"(?:\A|[\n;&?])[ \t-]{0,40}(?:export |set |\$env:|\$)?\Z")
_FIELD_ENDS = re.compile(rb"[ \t]{0,8}(?:\Z|\\?[\r\n;&]|,?[ \t]*\\?[\r\n]|[ \t](?:#|//))")
_AROUND = 64
"""Bytes around a value that are examined."""


def _is_field(data: bytes, start: int, end: int) -> bool:
    """Whether a name and its bare value are a whole line, or a whole field of a connection string:
    then it is a setting, while in running text a sentence goes on."""
    before = data[max(0, start - _AROUND) : start]
    if before[-1:] in (b"?", b"&", b";"):
        return True
    behind = data[end : end + _AROUND]
    return _FIELD_ENDS.match(behind) is not None and _FIELD_BEGINS.search(before) is not None


def is_secret_value(name: bytes, value: bytes, alone: bool, quoted: bool) -> bool:
    """Whether the value next to `name` is a secret. `alone`: it is quoted, or is a whole field; a
    bare value may be a variable."""
    shown = value if quoted else value.rstrip(b":.")
    if (
        shown.lower() == name.lower()
        or is_placeholder(shown)
        or is_harmless(name)
        or is_code(value, quoted)
    ):
        return False
    if b" " in value:
        return quoted and names_phrase(name) and is_passphrase(value)
    if is_weak(name):
        return is_key_like(value)
    if names_password(name):
        return _is_password(value, alone, quoted)
    if looks_random(value) or is_basic(value):
        return True
    if not alone or len(value) < 8 or not names_key(name):
        return False
    if len(value) >= _LONG_NUMBER and value.isdigit():
        return ends_in_key(name) or len(value) >= _LONGER_NUMBER
    if is_plain(value):
        return ends_in_key(name) and is_word_of_secrecy(value, quoted)
    return is_mixed(value) and not is_place(value)


def _is_password(value: bytes, alone: bool, quoted: bool) -> bool:
    """A sentence about passwords is prose; a password with a digit or a sign is not."""
    if alone and is_well_known(value):
        return True
    if is_plain(value):
        return alone and is_word_of_secrecy(value, quoted)
    return len(value) >= _SHORT or (alone and quoted and is_mixed(value))
