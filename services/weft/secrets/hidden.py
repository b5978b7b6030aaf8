"""Secrets that hidden characters stand in (colours, zero width, soft hyphens, tags): found in the
clean text, and masked where their characters stood in the raw one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from weft.bodies.clean import clean
from weft.secrets.finding import Finding


def spans_in_source(data: bytes, find: Callable[[bytes], list[Finding]]) -> list[Finding]:
    """What `find` sees in the clean text of `data`, where it stands in `data`; nothing where no
    character of `data` is hidden."""
    cleaned = clean(data)
    plain = cleaned.text
    if not data.isascii() and _SELECTORS.search(plain):
        plain = _WITHIN.sub("", plain)
    elif not cleaned.changed:
        return []
    source = _text_of(data)
    if len(plain) == len(source):
        return []
    behind = find(plain.encode())
    if not behind:
        return []
    in_plain, in_source = _Offsets(plain.encode()), _Offsets(data)
    first, last = _leftmost(source, plain), _leftmost(source[::-1], plain[::-1])
    spans = []
    for one in behind:
        start, end = in_plain.character(one.start), in_plain.character(one.end - 1)
        begins = in_source.byte(first[start])
        ends = in_source.byte(len(source) - last[len(plain) - 1 - end])
        spans.append(Finding(begins, ends, one.kind, one.name, b""))
    return spans


_SELECTORS = re.compile(
    "[\u200c\u200d\ufe00-\ufe0f\ufff0-\ufff8\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"
)
_WITHIN = re.compile(f"(?<=[!-~]){_SELECTORS.pattern}+(?=[!-~])")
"""Joiners and selectors that a text may need elsewhere, and hide something between ASCII's
characters, where they change nothing that is seen."""


def _text_of(data: bytes) -> str:
    """The text with a mark for each byte that is not of UTF-8."""
    return _LONE.sub("\N{REPLACEMENT CHARACTER}", data.decode("utf-8", "surrogateescape"))


_LONE = re.compile("[\udc80-\udcff]")


def _leftmost(source: str, plain: str) -> list[int]:
    """Of each character of `plain`, which is `source` with some left out, the first place in
    `source` where it can stand: at or before where it does."""
    places, at = [], -1
    for character in plain:
        at = source.index(character, at + 1)
        places.append(at)
    return places


class _Offsets:
    """Characters of UTF-8 bytes and where each begins; a byte that is none counts as one."""

    def __init__(self, data: bytes) -> None:
        self._starts = [0]
        for character in data.decode("utf-8", "surrogateescape"):
            size = len(character.encode("utf-8", "surrogateescape"))
            self._starts.append(self._starts[-1] + size)

    def byte(self, character: int) -> int:
        return self._starts[min(character, len(self._starts) - 1)]

    def character(self, byte: int) -> int:
        return bisect_right(self._starts, byte) - 1
