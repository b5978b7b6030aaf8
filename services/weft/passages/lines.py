"""The lines of a text: how far each is indented, what heads others, what begins an item of a list.
Line breaks may be real or escaped (`\\n` inside a quoted text)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_BREAK = re.compile(r"\r?\n|(?:\\r)?(?<!\\)\\++n")
_HEADING = re.compile(r"[ \t]{0,3}(#{1,6})[ \t]+\S")


class IndentedLine(msgspec.Struct, frozen=True, gc=False):
    """Where a line is, in characters of its text, and how it is written."""

    start: int
    end: int
    """After its line break."""
    is_blank: bool
    indent: int
    level: int
    """Level of a heading; 0 for other lines."""
    opens_list: bool = False
    """It ends with a colon, as the line above a list does."""
    is_item: bool = False
    """It begins with the dash of a list."""
    closes: bool = False
    """It begins with the end tag of an element."""


def is_object(text: str, line: IndentedLine) -> bool:
    """Whether a line begins an object of JSON, as each line of JSON Lines does."""
    return text.startswith('{"', line.start)


def lines_of(text: str, start: int, end: int) -> list[IndentedLine]:
    """All lines; escaped line breaks count if there are few real ones."""
    found: list[IndentedLine] = []
    for held, following in _lines_with_ends(text, start, end):
        found.append(_line(text, start, held, following))
        start = following
    return found


def _lines_with_ends(text: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """Each line without its break, and where the next one begins."""
    if text.count("\\n", start, end) > 4 * text.count("\n", start, end):
        for match in _BREAK.finditer(text, start, end):
            yield text[start : match.start()], match.end()
            start = match.end()
        if start < end:
            yield text[start:end], end
        return
    *whole, last = text[start:end].split("\n")
    for held in whole:
        start += len(held) + 1
        yield held, start
    if last:
        yield last, end


def _line(text: str, start: int, held: str, end: int) -> IndentedLine:
    bare = held.lstrip()
    first = bare[:1]
    if first in _MARKS or first.isdecimal():
        return _marked_line(text, start, held, end)
    opens_list, closes = bare.rstrip()[-1:] == ":", first == "<" and bare[1:2] == "/"
    return IndentedLine(start, end, not bare, len(held) - len(bare), 0, opens_list, False, closes)


def _marked_line(text: str, start: int, held: str, end: int) -> IndentedLine:
    """A line that may be a heading, be numbered, or begin an item."""
    bare = held.lstrip()
    first = bare[:1]
    heading = _HEADING.match(held) if first == "#" else None
    level = len(heading[1]) if heading else 0
    if first in _LEVELS:
        level = _level_in_file(text, start, end, held)
    numbered = _NUMBER.match(held) if first.isdecimal() else None
    indent = numbered.end() - numbered.start(1) if numbered else len(held) - len(bare)
    content = held[numbered.end() :] if numbered else bare
    opens_list = content.rstrip()[-1:] == ":"
    is_item, closes = content.startswith("- "), content.startswith("</")
    return IndentedLine(start, end, not content, indent, level, opens_list, is_item, closes)


_LEVELS = frozenset("d-@[")
"""How the lines begin that head others in a diff or an INI file."""
_MARKS = _LEVELS | {"#"}
"""A line that begins with any other sign, except a digit, is text."""


def _level_in_file(text: str, start: int, end: int, line: str) -> int:
    """The level of a line that heads others in a diff or an INI file, 0 for other lines."""
    if line.startswith("diff --git "):
        return 1
    if line.startswith("--- ") and text.startswith("+++ ", end):
        return 0 if "diff --git " in text[max(start - DIFF_HEADER, 0) : start] else 1
    if line.startswith("@@ -"):
        return 2
    return 1 if line.startswith("[") and _INI_SECTION.match(line) else 0


DIFF_HEADER = 240
"""Characters between the first line about a file in a diff of git and its `---` line."""
_INI_SECTION = re.compile(r"\[[A-Za-z][\w .:/\"'-]{0,80}\]\s*\Z")


_NUMBER = re.compile(r"[ \t]{0,8}\d{1,7}(?:[:|\t\u2192]| {1,2}\|)([ \t]*)")
"""The number that editors, `cat -n` and `grep -n` write before a line, and its indentation."""
