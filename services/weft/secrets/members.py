"""Values in a member of their own: the member before, after or around it says what the value is,
such as `name: DB_PASSWORD` next to `value: …`, or a declared variable with its default."""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

from weft.secrets.assigned import assignment_rule, is_secret_value
from weft.secrets.harmless import WEFTS, HarmlessValues
from weft.secrets.masking import Finding

_NAMES = """
passw pwd passphrase secret credential _token -token authtoken accesstoken refreshtoken
sessiontoken bearertoken apitoken idtoken api_key api-key apikey access_key private_key _pass _key
"""
NAMES = frozenset(_NAMES.encode().split())
"""A text that has none of these has no such member."""
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_MEMBER = re2.compile(
    rb"(?i)\b(?:(?:default|parameter)?_?value[0-9]{0,2}|default|secretstring)[ \t]?[\"'`]?"
    rb"[ \t]{0,20}(?::|=>|=)[ \t]{0,20}(?:!!?[a-z]{3,8}[ \t]{1,4})?",
    _OPTIONS,
)
_VALUE = re.compile(
    rb"\"([^\"\s]{4,4000})[ \t]?\"|'([^'\s]{4,4000})'"
    rb"|([^\s\"',;)\]}<>({]{4,4000})[ \t]*(?:[\n\r,}]|\Z)"
)
_BARE = 3
"""Group of a value without quotes."""
_AROUND = 240
"""How many bytes before and after a member are searched for its name."""
_NAME = re.compile(
    rb"(?i)\b(?:name|key|id|field|header|option|property|variable|setting|param(?:eter)?(?:_?(?:name|key))?)"
    rb"[0-9]{0,2}[ \t]?[\"'`]?[ \t]{0,20}(?::|=>|=)[ \t]{0,20}[\"'`]?([\w./-]{2,80})"
)
_OPENED = re.compile(rb"([\w./-]{2,80})[ \t]?[\"']?[ \t]{0,4}(?::|=>|=)?[ \t]{0,4}\{[^{}]*\Z")
_HEADING = re.compile(rb"[ \t]*(?:-[ \t]+)?[\"']?([\w./-]{2,80})[\"']?:[ \t\r]*\Z")
_ITEM = re.compile(rb"\n[ \t]*-[ \t]")
_TELLS = re.compile(
    rb"(?i)passw(?:or)?d|passwd|pwd|passphrase|credential|secret|token"
    rb"|(?:api|access|private|account|shared|encryption|signing)[._-]?key"
    rb"|[._-](?:pass|pw)\Z|(?-i:[A-Z0-9]_KEY\Z)"
)


def values_of_members(data: bytes, harmless: HarmlessValues = WEFTS) -> Iterator[Finding]:
    """The values of the members whose name is given next to them. Linear in the length of
    `data`."""
    done = 0
    for member in _MEMBER.finditer(data):
        value = _VALUE.match(data, member.end()) if member.start() >= done else None
        if value is None:
            continue
        start, end = value.span(value.lastindex or 0)
        done = end = start + len(data[start:end].rstrip(b" \\"))
        name = _name_of(
            data[max(0, member.start() - _AROUND) : member.start()], data[end : end + _AROUND]
        )
        quoted = value.lastindex != _BARE
        if name and is_secret_value(name, data[start:end], True, quoted, harmless):
            yield Finding(start, end, "secret", assignment_rule(name))


def _name_of(before: bytes, behind: bytes) -> bytes:
    """The name of the member between both, if it names a secret; otherwise empty."""
    of_item = _ITEM.split(b"\n" + before)[-1]
    for edge in (b"}", b"{", b"<"):
        of_item = of_item.rpartition(edge)[2]
    named = _NAME.findall(of_item)
    if not named:
        rest = _ITEM.split(behind)[0].partition(b"}")[0].partition(b"<")[0]
        named = [*_NAME.findall(rest)[:1], *_opened(before)]
    return next((name for name in reversed(named) if _TELLS.search(name)), b"")


def _opened(before: bytes) -> list[bytes]:
    """What opens the object, or the block of YAML, in which `before` ends."""
    brace = _OPENED.search(before) if b"{" in before else None
    if brace is not None:
        return [brace.group(1)]
    *above, line = before.split(b"\n")
    for other in reversed(above):
        if _indent(other) < _indent(line) and other.strip():
            heading = _HEADING.match(other)
            return [heading.group(1)] if heading else []
    return []


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))
