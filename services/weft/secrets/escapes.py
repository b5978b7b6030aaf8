"""A text with its escapes resolved (`\\u0041`, `\\/`), and the original place of each byte:
whatever is hidden behind escapes is found there and masked here."""

from __future__ import annotations

import re
from bisect import bisect_right

import msgspec
import re2

_DEPTH = 4
"""How many times a text whose escapes hide further escapes is resolved. One pass takes runs of
backslashes, which is how quoting nests; more are needed only if a backslash is itself written as a
number."""
_TERMINAL = rb"(?:u00[19][bB]|x[19][bB])\[[0-?]{0,64}[ -/]{0,16}[@-~]"
_DEEP_QUOTE = rb"(?<=\\{5})\""
_PLAIN = rb"(/|" + _DEEP_QUOTE + rb")|(?:u00|x|U000000)([2-6][0-9A-Fa-f]|7[0-9A-Ea-e]|0[9AaDd])"
"""A number that stands for an ASCII character, a slash, or a quote that is quoted at least three
times: the patterns already allow fewer backslashes around a value."""
_UNSEEN = (
    rb"(?:u00|x|U000000)(?:[01][0-9A-Fa-f]|7[fF]|[89][0-9A-Fa-f]|[aA][dD])"
    rb"|u(?:034[fF]|061[cC]|115[fF]|1160|1680|17[bB][45]|180[b-fB-F]|20[06][0-9A-Fa-f]"
    rb"|202[89a-fA-F]|205[fF]|2800|3164|[eE][0-9A-Fa-f]{3}|[fF][0-8][0-9A-Fa-f]{2}"
    rb"|[fF][eE]0[0-9A-Fa-f]|[fF][eE][fF]{2}|[fF]{2}[aA]0|[fF]{3}[9abAB]"
    rb"|[dD][bB]40\\{1,16}u[dD][cdCD][0-9A-Fa-f]{2})"
)
"""Characters that split nothing even if they are not escaped (`weft.secrets.hidden_characters`)."""
_BETWEEN = rb"[A-Za-z0-9_+/=.-]"
_RETURN = rb"(?<=" + _BETWEEN * 4 + rb"\\)\\*+r(?=" + _BETWEEN * 4 + rb")"
_BACK = rb"(?<=" + _BETWEEN * 3 + rb")" + _BETWEEN + rb"\\++(?:b|u0008)(?=" + _BETWEEN + rb"{4})"
"""A lone carriage return, behind its first backslash, and a character that is erased again, inside
something long."""
_RESOLVED = (
    rb"\\(?:(?<!\\\\)\\*+(?:"
    + _PLAIN
    + rb"|"
    + _TERMINAL
    + rb"|"
    + _UNSEEN
    + rb")|"
    + _RETURN
    + rb")"
)
_HIDING, _HIDING_OR_BACK = re.compile(_RESOLVED), re.compile(_RESOLVED + rb"|" + _BACK)
"""The first begins with a backslash, so that a search for it passes over other text fast."""
_BACKS = re2.compile(_BETWEEN + rb"{4}\\+(?:b|u0008)" + _BETWEEN + rb"{4}")
"""Matches wherever `_BACK` matches."""
_SIGN = re2.compile(
    rb"\\(?:"
    + _TERMINAL
    + rb"|"
    + _PLAIN.replace(_DEEP_QUOTE, rb"\\{4}\"")
    + rb"|"
    + _UNSEEN
    + rb")"
)
"""Matches wherever an escape is resolved, except for these two; most texts have none. RE2 is
fast."""
_SPLITS = re2.compile(_BETWEEN + rb"{4}\\{1,16}[rb]" + _BETWEEN + rb"{4}")


def unescaped(data: bytes) -> bytes | None:
    """`data` with escaped ASCII characters resolved and escaped invisible characters left out; None
    if no escape hides anything. Other escapes stay as they are. Linear."""
    passes = 0
    while passes < _DEPTH and b"\\" in data and _hides(data):
        data = _hiding(data).sub(_meaning, data)
        passes += 1
    return data if passes else None


def _hides(data: bytes) -> bool:
    if _SIGN.search(data) is not None:
        return True
    return (b"\\r" in data or b"\\b" in data) and _SPLITS.search(data) is not None


def _hiding(data: bytes) -> re.Pattern[bytes]:
    return _HIDING_OR_BACK if _BACKS.search(data) is not None else _HIDING


def _meaning(match: re.Match[bytes]) -> bytes:
    sign, code = match.groups()
    return bytes((int(code, 16),)) if code is not None else sign or b""


class Origins:
    """The original place in `data` of each byte of `unescaped(data)`."""

    def __init__(self, data: bytes) -> None:
        self._passes: list[_Pass] = []
        while len(self._passes) < _DEPTH and _hides(data):
            one, data = _pass(data)
            self._passes.append(one)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the source that became bytes `start` to `end` (exclusive); it holds every
        escape of theirs whole."""
        for one in reversed(self._passes):
            start, end = one.place(start)[0], one.place(end - 1)[1]
        return start, end


class _Pass(msgspec.Struct, frozen=True):
    at: list[int]
    """Where an escape was resolved, in the text that came of it."""
    spans: list[tuple[int, int]]
    """Where each stood in the text before."""
    lengths: list[int]
    """Bytes that it became: one, or none for what is not seen."""

    def place(self, index: int) -> tuple[int, int]:
        """The span that became one byte."""
        number = bisect_right(self.at, index) - 1
        if number < 0:
            return index, index + 1
        first, last = self.spans[number]
        beyond = index - self.at[number] - self.lengths[number]
        return (first, last) if beyond < 0 else (last + beyond, last + beyond + 1)


def _pass(data: bytes) -> tuple[_Pass, bytes]:
    one = _Pass([], [], [])
    pieces: list[bytes] = []
    position = length = 0
    for match in _hiding(data).finditer(data):
        first, last = match.span()
        plain = _meaning(match)
        pieces += (data[position:first], plain)
        length += first - position
        one.at.append(length)
        one.spans.append((first, last))
        one.lengths.append(len(plain))
        length += len(plain)
        position = last
    return one, b"".join((*pieces, data[position:]))
