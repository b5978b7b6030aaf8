"""What stands beside what a text says: the footer of a mail, sentences that it has said before, and
the navigation of a page."""

from __future__ import annotations

import re

import msgspec

from weft.passages.always_shown import beside
from weft.passages.landmarks import without_landmarks
from weft.passages.part import Part
from weft.passages.prose import split_stretch

_FOOTER = re.compile(r"^-- ?\r?\n", re.MULTILINE)
"""The line that mail programs write above a footer."""
LONGEST_FOOTER, FOOTER_SHARE = 1_000, 0.5
"""Most characters behind that line, and the most of a text that they are."""
LEAST_LINE = 40
"""Characters of a line that may repeat another; shorter ones are alike by chance."""
_ITS_NUMBER = re.compile(r"[\s\d.,:)(\[\]*-]*")
"""What may number a line."""
_ASCII_NUMBER = "".join(filter(_ITS_NUMBER.fullmatch, map(chr, range(128))))
"""These characters in ASCII: most lines have no others, and stripping is faster than a pattern."""


def split_with_asides(text: str) -> Part:
    """The parts of a text in lines. Linear in `text`."""
    end = _footer(text)
    parts = without_landmarks(text, _without_repeated(text, split_stretch(text, 0, end)))
    if end < len(text):
        parts += beside(split_stretch(text, end, len(text)))
    return Part(0, len(text), "text", 1, 0, 0, False, tuple(parts))


def _footer(text: str) -> int:
    """Where the footer begins, the end of the text if it has none. Where more lines begin with two
    dashes, they are a program's comments."""
    start = len(text) - min(LONGEST_FOOTER, int(len(text) * FOOTER_SHARE))
    is_alone = text.count("\n--") + text.startswith("--") <= 1
    found = _FOOTER.search(text, start) if is_alone else None
    return found.start() if found is not None else len(text)


def _without_repeated(text: str, parts: list[Part]) -> list[Part]:
    """The same parts; those without a line that has not stood before are asides."""
    seen: set[str] = set()

    def marked(part: Part) -> Part:
        if part.children:
            children = tuple(map(marked, part.children))
            return msgspec.structs.replace(part, children=children)
        lines = map(str.strip, text[part.start : part.end].splitlines())
        said = {_without_number(line) for line in lines if line}
        is_repeated = bool(said) and said <= seen and min(map(len, said)) >= LEAST_LINE
        seen.update(said)
        return msgspec.structs.replace(part, is_aside=True) if is_repeated else part

    return list(map(marked, parts))


def _without_number(line: str) -> str:
    if line.isascii():
        return line.lstrip(_ASCII_NUMBER)
    return _ITS_NUMBER.sub("", line, count=1)
