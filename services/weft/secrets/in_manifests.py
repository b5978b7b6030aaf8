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
_LINE = re.compile(
    rb"(?m)^([ \t]{0,60})(- +)?(?:(kind):[ \t]*[\"']?Secret\b|(data|stringData):[ \t]*\r?$|[^\s#])"
)
"""A line of YAML with content: how far it is indented, whether it begins an element of a list, and
whether it says what an object is or holds."""
_MEMBER = re.compile(
    rb"\r?\n([ \t]{1,60})([\w.-]{1,253}):[ \t]{1,20}[\"']?([^\s\"'|>{\[&*][^\n\r\"']{0,4000})"
)
_PART = re.compile(
    rb"[\"'](kind)[\"'][ \t]{0,4}:\s{0,40}[\"']Secret[\"']"
    rb"|[\"'](data|stringData)[\"'][ \t]{0,4}:\s{0,40}(?=\{)|([{}])"
)
"""What JSON consists of, as far as it matters here."""
_OBJECT = re.compile(rb"\{([^{}]{1,100000})\}")
_FIELD = re.compile(rb"\"([\w.-]{1,253})\"\s{0,40}:\s{0,40}\"([^\"]{4,100000})\"")
_WHO = re.compile(rb"(?i)user|name|host|port|region|bucket|database|type|issuer")
"""Names of what a Secret holds besides the secret, which a later call may need."""
_SHORT = 4


class _Holder:
    """An object that may be a Secret, and where what it holds begins."""

    def __init__(self) -> None:
        self.is_secret = False
        self.held: list[tuple[int, int]] = []
        """For each: where it begins, and how far its name is indented."""


def values_of_secrets(data: bytes) -> Iterator[Finding]:
    """The values of objects that say of themselves that they are Secrets. Linear in the length of
    `data`."""
    start = 0
    edges = [one.start() for one in _NEXT.finditer(data)]
    for end in (*edges, len(data)):
        if _KIND.search(data, start, end) is not None or data.find(b"stringData", start, end) >= 0:
            for at, indent in _held_by_secrets(_in_lines(data, start, end)):
                yield from _of_block(data, at, end, indent)
            for at, _ in _held_by_secrets(_in_braces(data, start, end)):
                yield from _of_object(data, at, end)
        start = end


def _held_by_secrets(holders: list[_Holder]) -> list[tuple[int, int]]:
    return [held for holder in holders if holder.is_secret for held in holder.held]


def _in_lines(data: bytes, start: int, end: int) -> list[_Holder]:
    """The objects of a document of YAML: lines that are indented alike, without one between them
    that is indented less."""
    found: list[_Holder] = []
    open_ones: dict[int, _Holder] = {}
    for line in _LINE.finditer(data, start, end):
        outer, element = len(line.group(1)), line.group(2)
        indent = outer + len(element or b"")
        for other in [one for one in open_ones if one > outer or (element and one == indent)]:
            del open_ones[other]
        if indent not in open_ones:
            found.append(open_ones.setdefault(indent, _Holder()))
        _note(open_ones[indent], line.group(3), line.group(4), line.end(), indent)
    return found


def _in_braces(data: bytes, start: int, end: int) -> list[_Holder]:
    """The objects of JSON."""
    found = [_Holder()]
    open_ones = [found[0]]
    for part in _PART.finditer(data, start, end):
        if part.group(3) == b"{":
            found.append(_Holder())
            open_ones.append(found[-1])
        elif part.group(3) and len(open_ones) > 1:
            open_ones.pop()
        else:
            _note(open_ones[-1], part.group(1), part.group(2), part.end(), 0)
    return found


def _note(holder: _Holder, kind: bytes | None, name: bytes | None, at: int, indent: int) -> None:
    if kind is not None or name == b"stringData":
        holder.is_secret = True
    if name is not None:
        holder.held.append((at, indent))


def _of_block(data: bytes, at: int, end: int, indent: int) -> Iterator[Finding]:
    while (member := _MEMBER.match(data, at, end)) and len(member.group(1)) > indent:
        at = member.end()
        found = _finding(member.group(2), *member.span(3), data)
        if found is not None:
            yield found


def _of_object(data: bytes, at: int, end: int) -> Iterator[Finding]:
    held = _OBJECT.match(data, at, end)
    for field in _FIELD.finditer(data, *held.span(1)) if held is not None else ():
        found = _finding(field.group(1), *field.span(2), data)
        if found is not None:
            yield found


def _finding(name: bytes, start: int, end: int, data: bytes) -> Finding | None:
    value = data[start:end].rstrip(b" \t\\")
    if len(value) < _SHORT or is_placeholder(value) or is_harmless(name) or _WHO.search(name):
        return None
    return Finding(start, start + len(value), "secret", "kubernetes_secret")
