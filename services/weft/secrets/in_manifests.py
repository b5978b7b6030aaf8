"""Values of a Kubernetes Secret: no name says what they are; the object around them does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.secrets.masking import Finding
from weft.secrets.names import is_harmless
from weft.secrets.values import is_placeholder

NAMES = (b"kind: secret", b'"kind": "secret"', b'"kind":"secret"', b"stringdata")
"""A text without any of these contains no such object."""
_KIND = re.compile(rb"(?i)\bkind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?Secret\b")
_NEXT = re.compile(rb"(?m)^---[ \t]*$")
_BLOCK = re.compile(rb"(?m)^([ \t-]{0,40})(data|stringData):[ \t]*\r?$")
_MEMBER = re.compile(
    rb"\r?\n([ \t]{1,60})([\w.-]{1,253}):[ \t]{1,20}[\"']?([^\s\"'|>{\[&*][^\n\r\"']{0,4000})"
)
_OBJECT = re.compile(rb"[\"'](?:data|stringData)[\"'][ \t]{0,4}:\s{0,40}\{([^{}]{1,100000})\}")
_FIELD = re.compile(rb"\"([\w.-]{1,253})\"\s{0,40}:\s{0,40}\"([^\"]{4,100000})\"")
_WHO = re.compile(rb"(?i)user|name|host|port|region|bucket|database|type|issuer")
"""Names of what a Secret holds besides the secret, which a later call may need."""
_SHORT = 4


def values_of_secrets(data: bytes) -> Iterator[Finding]:
    """The values in such objects. Linear in the length of `data`."""
    start = 0
    edges = [one.start() for one in _NEXT.finditer(data)]
    for end in (*edges, len(data)):
        if _KIND.search(data, start, end) is not None or data.find(b"stringData", start, end) >= 0:
            yield from _in_yaml(data, start, end)
            yield from _in_json(data, start, end)
        start = end


def _in_yaml(data: bytes, start: int, end: int) -> Iterator[Finding]:
    for block in _BLOCK.finditer(data, start, end):
        at, indent = block.end(), len(block.group(1))
        while (member := _MEMBER.match(data, at, end)) and len(member.group(1)) > indent:
            at = member.end()
            found = _finding(member.group(2), *member.span(3), data)
            if found is not None:
                yield found


def _in_json(data: bytes, start: int, end: int) -> Iterator[Finding]:
    for block in _OBJECT.finditer(data, start, end):
        for field in _FIELD.finditer(data, *block.span(1)):
            found = _finding(field.group(1), *field.span(2), data)
            if found is not None:
                yield found


def _finding(name: bytes, start: int, end: int, data: bytes) -> Finding | None:
    value = data[start:end].rstrip(b" \t\\")
    if len(value) < _SHORT or is_placeholder(value) or is_harmless(name) or _WHO.search(name):
        return None
    return Finding(start, start + len(value), "secret", "kubernetes_secret")
