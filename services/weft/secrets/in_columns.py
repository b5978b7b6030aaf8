"""Credentials in the columns of a table: the head of the column says what they are. A table is a
run of lines with the same number of fields, or the rows of an INSERT."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
import re2

from weft.secrets.assigned import assignment_rule, is_secret_value
from weft.secrets.harmless import WEFTS, HarmlessValues
from weft.secrets.masking import Finding
from weft.secrets.names import names_password
from weft.secrets.values import is_mixed, is_place, looks_random

_WORDS = "passw pwd passphrase secret token credential apikey api_key api-key accesskey access_key"
NAMES = (*_WORDS.encode().split(), b"api key", b"access key", b"private_key")
"""A text without any of these has no such column."""
_TELLS = (
    rb"(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|credential"
    rb"|(?:api|access|private)[ _-]?key)\w{0,20}"
)
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_HEAD = re2.compile(
    rb"(?i)" + _TELLS + rb" ?[\"'`*]{0,3}[ \t]{0,60}[|\t,\r\n]"
    rb"|\binsert\s{1,8}into\s[^()\n]{1,200}\(([^()]{1,900})\)\s{1,8}values\s{0,8}\(",
    _OPTIONS,
)
"""The end of a name in the head of a table; or an INSERT up to its first row."""
_TELLING = re.compile(rb"(?i)" + _TELLS + rb"\Z")
_CUTS = {
    b"|": re.compile(rb"(\|)"),
    b"\t": re.compile(rb"(\t)"),
    b",": re.compile(rb"\"[^\"\n]*\"|(,)"),
}
"""What parts the fields of a line, the surest first; not what is quoted."""
_CUTS_OF_ROW = re.compile(rb"'(?:[^'\\\n]|\\.)*'?|(,)|[()]")
_MAX_LINE = 4_000
"""Most bytes of a line that is read as one of a table, and of a row that is inserted."""
_MAX_DEPTH = 4
"""Brackets in each other in a row that is inserted."""
_NAME = re.compile(rb"[A-Za-z_#][\w .#/*-]{0,60}\Z")
_AROUND = b" \t\r\"'`*\\"
"""What stands around the text of a field."""
_RULE = re.compile(rb"[\s|+:=-]*\Z")
_STRING = re.compile(rb"[:\[,]\s?\"(?=[ \w|])")
"""Where a string of JSON begins, whose first line may be a head."""

_Fields = list[tuple[int, int]]
"""The spans of a row's fields."""


class _Table(msgspec.Struct, frozen=True):
    names: Sequence[bytes]
    rows: Sequence[_Fields]
    end: int


def values_of_columns(data: bytes, harmless: HarmlessValues = WEFTS) -> Iterator[Finding]:
    """The values in columns that are named like credentials. Linear in the length of `data`."""
    done = 0
    for head in _HEAD.finditer(data):
        if head.start() < done:
            continue
        table = _of_lines(data, head.start()) if head.group(1) is None else _inserted(data, head)
        done = table.end
        for column, name in enumerate(table.names):
            if _TELLING.search(name) is not None:
                yield from _of_column(data, name, [row[column] for row in table.rows], harmless)


def _of_column(
    data: bytes, name: bytes, fields: _Fields, harmless: HarmlessValues
) -> Iterator[Finding]:
    for start, end in fields:
        text = data[start:end]
        start += len(text) - len(text.lstrip(_AROUND))
        value = text.strip(_AROUND).partition(b'"')[0]
        if _is_secret(name, value, harmless):
            yield Finding(start, start + len(value), "secret", assignment_rule(name))


def _is_secret(name: bytes, value: bytes, harmless: HarmlessValues) -> bool:
    """Words stay: in a table they say something about passwords."""
    if b" " in value or not is_secret_value(name, value, True, False, harmless):
        return False
    return looks_random(value) or (names_password(name) and is_mixed(value) and not is_place(value))


def _of_lines(data: bytes, at: int) -> _Table:
    """The table in whose head `at` is; empty if that is no head."""
    start, end = _line(data, at)
    for opened in _STRING.finditer(data, start, at):
        start = opened.end()
    line = data[start:end]
    separator = next((one for one in _CUTS if one in line), b"")
    names = _names(data[start:end], separator) if separator else []
    if not names:
        return _Table((), (), end)
    rows = []
    while end < len(data):
        start, after = end + 1, _line_end(data, end + 1)
        is_rule = _RULE.match(data, start, after) is not None and after > start
        fields = [] if is_rule else _between(_CUTS[separator], data, start, after)
        if not is_rule and len(fields) != len(names):
            break
        rows += [fields] if fields else []
        end = after
    return _Table(names, rows, end)


def _names(line: bytes, separator: bytes) -> list[bytes]:
    """The names in a head; empty if it is none. A list in prose or in code has a blank or nothing
    behind its commas."""
    fields = [line[start:end] for start, end in _between(_CUTS[separator], line, 0, len(line))]
    names = [field.strip(_AROUND) for field in fields]
    if separator == b"," and any(field[:1] in (b"", b" ", b"\t", b"\r") for field in fields):
        return []
    told = names[1:-1] if separator == b"|" and names[0] == names[-1] == b"" else names
    return names if len(told) > 1 and all(map(_NAME.match, told)) else []


def _line(data: bytes, at: int) -> tuple[int, int]:
    """The line around `at`, or what there is of it within the bound."""
    first = max(0, at - _MAX_LINE)
    return max(data.rfind(b"\n", first, at) + 1, first), _line_end(data, at)


def _line_end(data: bytes, at: int) -> int:
    found = data.find(b"\n", at, at + _MAX_LINE)
    return found if found >= 0 else min(len(data), at + _MAX_LINE)


def _between(cuts: re.Pattern[bytes], data: bytes, start: int, end: int) -> _Fields:
    places = [cut.start() for cut in cuts.finditer(data, start, end) if cut.group(1)]
    return list(zip([start, *(place + 1 for place in places)], [*places, end], strict=True))


def _inserted(data: bytes, head: re.Match[bytes]) -> _Table:
    names = [name.strip(_AROUND) for name in head.group(1).split(b",")]
    rows, at = [], head.end()
    while (end := _row_end(data, at)) > at:
        fields = _between(_CUTS_OF_ROW, data, at, end)
        if len(fields) == len(names):
            rows.append(fields)
        following = _NEXT_ROW.match(data, end)
        if following is None:
            break
        at = following.end()
    return _Table(names, rows, at)


_NEXT_ROW = re.compile(rb"\)\s{0,40},\s{0,40}\(")


def _row_end(data: bytes, at: int) -> int:
    """Where the bracket closes that opens before `at`; `at` if it does not, or if it holds more
    brackets in each other than a row does."""
    depth = 1
    for part in _CUTS_OF_ROW.finditer(data, at, at + _MAX_LINE):
        depth += {b"(": 1, b")": -1}.get(part.group(), 0)
        if depth == 0:
            return part.start()
        if depth > _MAX_DEPTH:
            break
    return at
