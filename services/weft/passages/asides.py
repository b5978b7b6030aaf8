"""What stands beside what a text says: the footer of a mail, sentences that it has said before, and
the navigation of a page."""

from __future__ import annotations

import re

import msgspec

from weft.passages.always_shown import as_asides
from weft.passages.landmarks import without_landmarks
from weft.passages.page_alerts import with_alerts
from weft.passages.part import Part
from weft.passages.prose import split_stretch

_FOOTER = re.compile(r"^-- ?\r?\n", re.MULTILINE)
"""The line that mail programs write above a footer."""
_QUOTED = re.compile(r"^>", re.MULTILINE)
"""A line of the mail that is answered."""
MIN_QUOTED_LINES = 4
"""Lines of a mail that is quoted as a whole."""
MAX_FOOTER_LENGTH, FOOTER_SHARE = 1_000, 0.5
"""Most characters of a footer, and its largest share of a text."""
MIN_LINE_LENGTH = 40
"""Characters of a line that may repeat another; shorter ones are alike by chance."""
_ITS_NUMBER = re.compile(r"[\s\d.,:)(\[\]*-]*")
"""A number, with its signs, before a line."""
_ASCII_NUMBER = "".join(filter(_ITS_NUMBER.fullmatch, map(chr, range(128))))
"""These characters in ASCII: most lines have no others, and stripping is faster than a pattern."""


def split_with_asides(text: str) -> Part:
    """The parts of a text in lines. Linear in `text`."""
    start, end = _footer(text)
    quoted = _quoted(text, end if start < end else 0)
    parts = _parts(text, 0, min(start, quoted))
    if start < end:
        parts += [*as_asides(_parts(text, start, end)), *_parts(text, end, quoted)]
    parts += as_asides(_parts(text, quoted, len(text)))
    parts = with_alerts(text, without_landmarks(text, _without_repeated(text, parts)))
    return Part(0, len(text), "text", 1, 0, 0, False, tuple(parts))


def _parts(text: str, start: int, end: int) -> list[Part]:
    return split_stretch(text, start, end) if start < end else []


def _footer(text: str) -> tuple[int, int]:
    """Where the footer begins and ends: with the text, or before what the mail quotes. Where more
    lines begin with two dashes, they are a program's comments."""
    is_alone = text.count("\n--") + text.startswith("--") <= 1
    found = _FOOTER.search(text) if is_alone else None
    if found is None:
        return len(text), len(text)
    quoted = _QUOTED.search(text, found.end())
    end = len(text) if quoted is None else quoted.start()
    most = min(MAX_FOOTER_LENGTH, int(len(text) * FOOTER_SHARE))
    return (found.start(), end) if end - found.start() <= most else (len(text), len(text))


def _quoted(text: str, start: int) -> int:
    """Where the mail that is answered begins, if it is quoted as a whole behind the answer; the end
    of the text if it is not. A mail that answers line by line has more text behind its quotes."""
    found = _QUOTED.search(text, start)
    if found is None or not found.start():
        return len(text)
    lines = text[found.start() :].splitlines()
    quotes = sum(line.startswith(">") or not line.strip() for line in lines)
    return found.start() if quotes == len(lines) >= MIN_QUOTED_LINES else len(text)


def _without_repeated(text: str, parts: list[Part]) -> list[Part]:
    """The same parts; those without a line that has not stood before are asides."""
    seen: set[str] = set()

    def marked(part: Part) -> Part:
        if part.children:
            children = tuple(map(marked, part.children))
            return msgspec.structs.replace(part, children=children)
        lines = map(str.strip, text[part.start : part.end].splitlines())
        said = {_without_number(line) for line in lines if line}
        is_repeated = bool(said) and said <= seen and min(map(len, said)) >= MIN_LINE_LENGTH
        seen.update(said)
        return msgspec.structs.replace(part, is_aside=True) if is_repeated else part

    return list(map(marked, parts))


def _without_number(line: str) -> str:
    if line.isascii():
        return line.lstrip(_ASCII_NUMBER)
    return _ITS_NUMBER.sub("", line, count=1)
