"""Secrets that are split by an invisible character, or by one that erases another (colours, zero
width, blank letters, a lone carriage return, a backspace): they are found in the text without it,
and masked at their original place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

import re2

from weft.bodies.clean import ANSI, clean
from weft.secrets.masking import Finding

JOINERS = "\u200c\u200d\ufe00-\ufe0f\ufff0-\ufff8\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
"""Joiners and selectors that a text may need elsewhere. Between ASCII characters they change
nothing visible and hide something. Together with the characters that `clean` removes they are
Unicode's Default_Ignorable_Code_Point."""
_INKLESS = (
    "\u2028\u2029"  # ends of lines other than line feed
    "\u1680\u2000-\u200a\u202f\u205f"  # spaces other than the usual U+0020, U+00A0, U+3000
    "\u2800\U0001d159\U00016fe4"  # letters and signs without ink
    "\U00013430-\U00013440"  # format characters that are not ignorable
    "\ue000-\uf8ff\U000f0000-\U0010ffff\ufdd0-\ufdef"  # private use and non-characters
    + "".join(f"{chr(end - 1)}{chr(end)}" for end in range(0xFFFF, 0xFFFFF, 0x10000))
)
"""Characters without ink that may separate two others."""
_UNSEEN = re2.compile(f"[{JOINERS}{_INKLESS}]".encode())
BLANKS = "\r" + _INKLESS
"""Also a carriage return that does not end a line."""
_SHOWN = bytes((*b"\t\n", *range(32, 127)))
"""Most texts have no other bytes, and then nothing is hidden in them."""
_MAY_SPLIT, _JOINS = re.compile(f"[{JOINERS}{BLANKS}]"), re.compile(f"[{JOINERS}]")
_BACK_OR_ESCAPE = re.compile(f"\b+|(?:\x1b\\[|\x9b)([0-9]{{0,3}})D|(?P<other>{ANSI.pattern})")
"""Backspaces, the terminal's escape for going back, and its other escapes."""


def spans_in_source(
    data: bytes, find: Callable[[bytes], list[Finding]], raw: bytes = b""
) -> list[Finding]:
    """What `find` finds in `data` as it reads without invisible characters, at its place in `data`;
    nothing if no character is hidden. `raw` is the text before it was cleaned to `data`, if it was:
    backspaces are left only there."""
    plain = _as_read(data, raw)
    if plain is None:
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
        spans.append(Finding(begins, max(begins, ends), one.kind, one.name, b""))
    return spans


def _as_read(data: bytes, raw: bytes) -> str | None:
    """The text without invisible and erased characters; None if `data` has none. Linear."""
    if not (raw or data).translate(None, _SHOWN):
        return None
    cleaned = None if raw else clean(data)
    if (cleaned is None or cleaned.changed) and _takes_back(raw or data):
        cleaned = clean(_taken_back((raw or data).decode("utf-8", "replace")).encode())
        return without_splitting_characters(cleaned.text)
    plain = cleaned.text if cleaned is not None and cleaned.changed else None
    if not _has_unseen(data):
        return plain
    return without_splitting_characters(data.decode("utf-8", "replace") if plain is None else plain)


def without_splitting_characters(text: str) -> str:
    """The text without the characters that split something. Linear."""
    signs = "".join(sorted(_MAY_SPLIT.findall("".join(set(text)))))
    if not signs:
        return text
    # A class of the few that the text has is searched for faster than one of all.
    few = f"[{re.escape(signs)}]++" if len(signs) <= _FEW else f"{_MAY_SPLIT.pattern}++"
    return re.sub(few, _between, text)


_FEW = 8
"""Most characters of a class that is made for one text."""


def _between(run: re.Match[str]) -> str:
    """Nothing, if the run stands between two ASCII characters, or if it is blank and stands between
    two others; else the run."""
    text, (start, end) = run.string, run.span()
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    if "!" <= before <= "~" and "!" <= after <= "~":
        return ""
    is_within = bool(before and after) and not before.isspace() and not after.isspace()
    return "" if is_within and _JOINS.search(run[0]) is None else run[0]


def _has_unseen(data: bytes) -> bool:
    is_alone = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
    return is_alone or (not data.isascii() and _UNSEEN.search(data) is not None)


def _takes_back(data: bytes) -> bool:
    return b"\b" in data or (
        (b"\x1b[" in data or b"\xc2\x9b" in data) and _GOES_BACK.search(data) is not None
    )


_GOES_BACK = re.compile(rb"(?:\x1b\[|\xc2\x9b)[0-9]{0,3}D")


def _taken_back(text: str) -> str:
    """The text without the characters that later ones overwrite after a backspace, or after going
    back on a terminal; never beyond the line."""
    kept: list[str] = []
    at = 0
    for match in _BACK_OR_ESCAPE.finditer(text):
        kept.extend(text[at : match.start()])
        at = match.end()
        if match["other"] is not None:
            continue
        steps = len(match[0]) if match[1] is None else int(match[1] or 1)
        while steps and kept and kept[-1] != "\n":
            kept.pop()
            steps -= 1
    kept.extend(text[at:])
    return "".join(kept)


def _text_of(data: bytes) -> str:
    """The text with a mark for each byte that is not UTF-8."""
    return _LONE.sub("\N{REPLACEMENT CHARACTER}", data.decode("utf-8", "surrogateescape"))


_LONE = re.compile("[\udc80-\udcff]")


def _leftmost(source: str, plain: str) -> list[int]:
    """For each character of `plain`, which is `source` with some characters left out, the first
    place in `source` where it can be: at or before its true one. If a character is not there (a
    joiner with another neighbour in `plain`), it and all later ones get the place of the one
    before."""
    places = list[int]()
    rest = iter(enumerate(source))
    for wanted in plain:
        for place, character in rest:
            if character == wanted:
                places.append(place)
                break
        else:
            break
    return places + (places[-1:] or [0]) * (len(plain) - len(places))


class _Sizes(dict[str, int]):
    """How many bytes of UTF-8 each character has, once it was looked up."""

    def __missing__(self, character: str) -> int:
        size = self[character] = len(character.encode("utf-8", "surrogateescape"))
        return size


class _Offsets:
    """The characters of UTF-8 bytes and where each begins; an invalid byte counts as one."""

    def __init__(self, data: bytes) -> None:
        sizes = map(_Sizes().__getitem__, data.decode("utf-8", "surrogateescape"))
        self._starts = list(accumulate(sizes, initial=0))

    def byte(self, character: int) -> int:
        return self._starts[min(character, len(self._starts) - 1)]

    def character(self, byte: int) -> int:
        return bisect_right(self._starts, byte) - 1
