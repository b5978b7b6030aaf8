"""What a guard found, and how it is masked: spans of bytes with a name, never with their content
once they have left this module."""

from __future__ import annotations

import hmac
import re

import msgspec

from weft_schemas.envelope import Mask


class Finding(msgspec.Struct, frozen=True, order=True):
    """A span of the scanned bytes, `start` inclusive, `end` exclusive."""

    start: int
    end: int
    kind: str
    """`secret` or `pii`."""
    name: str
    """The rule."""
    value: bytes = b""
    """The value, if escapes hide it from a reader of the span; otherwise empty."""

    def moved(self, by: int) -> Finding:
        """The same span after `-by` bytes before it were cut off."""
        return Finding(self.start + by, self.end + by, self.kind, self.name, self.value)


def fingerprint(key: bytes, value: bytes) -> str:
    """Eight hex digits that are the same for the same value under one key, and reveal nothing about
    the value to anyone without the key."""
    return hmac.digest(key, value, "sha256").hex()[:8]


def without_overlaps(findings: list[Finding]) -> list[Finding]:
    """In order of position. Of two that overlap, the earlier one, then the longer one, stays,
    widened to cover both."""
    if len(findings) < 2:
        return findings
    kept: list[Finding] = []
    for found in sorted(findings, key=lambda f: (f.start, -f.end)):
        if kept and found.start < kept[-1].end:
            last = kept[-1]
            if found.end > last.end:
                kept[-1] = Finding(last.start, found.end, last.kind, last.name)
            continue
        kept.append(found)
    return kept


def masked(data: bytes, findings: list[Finding], key: bytes) -> bytes:
    """`data` with a mark in place of each finding. `findings` do not overlap and are in order."""
    pieces: list[bytes] = []
    position = 0
    for found in findings:
        pieces += (data[position : found.start], _mark(data, found, key))
        position = found.end
    pieces.append(data[position:])
    return b"".join(pieces)


def masks_of(data: bytes, findings: list[Finding], key: bytes) -> tuple[Mask, ...]:
    """The findings in `data`, which is UTF-8, as masks over its characters. `findings` do not
    overlap and are in order; one that cuts through a character covers all of it."""
    masks: list[Mask] = []
    position = characters = 0
    for found in findings:
        start, end = _whole_characters(data, found.start, found.end)
        start = max(start, position)
        first = characters + len(data[position:start].decode())
        characters = first + len(data[start:end].decode())
        position = end
        masks.append(Mask(first, characters, _mark(data, found, key).decode()))
    return tuple(masks)


def _whole_characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _mark(data: bytes, found: Finding, key: bytes) -> bytes:
    """`[kind:name:fingerprint]`, without the fingerprint if there is no key, and in quotes if it
    replaces a bare number of JSON."""
    value = found.value or data[found.start : found.end]
    quote = _quote_of_bare(data, found)
    name = f"{found.name}:{fingerprint(key, value)}" if key else found.name
    return quote + f"[{found.kind}:{name}]".encode() + quote


_AFTER_KEY = re.compile(rb"(\\*[\"'])\s*:\s*\Z")
_IN_ARRAY = re.compile(rb"[\[,](?:\s|\\{1,8}[nrt])*\Z")
_BLANKS = re.compile(rb"(?:\s|\\{1,8}[nrt])*")
_FAR = 400
"""How many bytes before a number of an array are searched for a quote."""
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")


def _quote_of_bare(data: bytes, found: Finding) -> bytes:
    """The quote around the key of a JSON member, with its escapes, if the value has none."""
    if data[found.end : found.end + 1] not in (b",", b"}", b"]", b" ", b"\n", b"\r", b"\t", b"\\"):
        return b""
    before = data[max(0, found.start - 24) : found.start]
    key = _AFTER_KEY.search(before)
    if key is not None:
        return key.group(1)
    if _NUMBER.match(data[found.start : found.end]) and _IN_ARRAY.search(before):
        return _quote_in_array(data[max(0, found.start - _FAR) : found.start])
    return b""


def _quote_in_array(before: bytes) -> bytes:
    """The quote of strings in the array in which `before` ends: that of the text before, or if that
    one opens a string of JSON, the quote with which strings are quoted in there."""
    head, quote, behind = before.rpartition(b'"')
    if not quote:
        return b'"'
    level, behind = _level(len(head) - len(head.rstrip(b"\\"))), _BLANKS.sub(b"", behind, count=1)
    if behind[:1] in (b",", b":", b"]", b"}"):
        return b"\\" * level + b'"'
    return b"\\" * (2 * level + 1) + b'"' if behind[:1] in (b"[", b"{") else b""


def _level(backslashes: int) -> int:
    """How many of the backslashes before a quote belong to it: 0, 1, 3, 7 by how deep it is quoted.
    The others are pairs, which stand for backslashes of the text."""
    return (backslashes ^ (backslashes + 1)) >> 1
