"""Source code as an outline: every definition, and the passages of long ones, with their line
numbers, so that a reader can request a slice by number."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line
from weft.firewall.summarise.prose import MAX_TELLING, specificity
from weft.firewall.text_forms import NUMBERED

_LINE = 140
"""Characters of a line that are shown."""
_OWN, _OWN_LINE = 8, 200
"""How many lines of the tool's own words are shown, and how many characters of each."""
_MAX_LINES = 20_000
_FILLING_LINE = 90
_FILLING = 2_000
"""How many lines that are not definitions are chosen."""
DEFINITION = re.compile(
    r"(?P<indent>\s{0,16})(?:(?:export|default|public|private|protected|internal|static|final"
    r"|abstract|async|pub(?:\([a-z]+\))?|unsafe|extern|virtual|override|inline|const|open|sealed"
    r"|partial|data|local)\s+){0,5}"
    r"(?:(?:def|class|function|func|fn|fun|impl|struct|enum|interface|trait|type|module|namespace"
    r"|record|object|protocol|extension|macro_rules!|sub|proc|primitive|actor|new|be|constructor"
    r"|resource|message|service|DEF)\b(?!\s*[=.,;:)])[\s(*\"']{0,3}"
    r"(?P<name>[\w.$:<>-]{1,80})?"
    r"|(?P<bound>[A-Za-z_$][\w$]{0,60})\s{0,2}(?::\s?[\w.<>\[\]|]{1,60}\s?)?[:=]\s{0,2}(?:async )?"
    r"(?:function\b|\([^()\n]{0,80}\)\s{0,2}=>)"
    r"|(?P<c>[A-Za-z_][\w\s*&:<>,~]{0,80}?[\s*&])(?P<cname>[A-Za-z_]\w{0,60})\s{0,2}"
    r"\([^;{}\n]{0,160}\)?\s{0,2}\{?$)"
)
_STATEMENT = """
if elif elsif elseif else unless for foreach while until do loop switch match case when where select
with using try catch except finally return yield await throw raise assert defer go goto new delete
let var val in is as and or not print echo call
"""
_NO_FUNCTION = frozenset(_STATEMENT.split())
"""Words that begin a statement, which may look like the head of a C function."""
_COMMENTED = 10
"""A comment at the head of a passage is worth this many lines."""
_BRACKETS = frozenset("{}[]();, \t")
_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--|\"\"\"|;)")
_INTRODUCES = re.compile(r"\s*(?:#(?!include|define|if|endif|else|pragma)|//|/?\*|--|@\w)")
"""A comment or a decorator; right above a definition it belongs to it."""
_LONG = 30
"""Passages of definitions with at least this many lines are listed too."""
_MAX_LINE_WORTH = 30 + MAX_TELLING + 2.0
"""Worth more than any line that is not a definition."""
_IMPORT = re.compile(r"\s{0,8}(?:import\b|from \S+ import|#include|use |using |require\b|package )")


class Definition(msgspec.Struct):
    """Something that a program defines."""

    name: str
    first: int
    """Number of its first line, as the text itself numbers its lines, otherwise from 1. Comments
    and decorators right above it are part of it."""
    last: int
    """Its last line with content, before the next definition at the same or an outer level."""
    line: str
    indent: int
    at: int
    """Index of its line among the numbered ones."""
    end: int
    """Index of the line after its last one."""


def summarise_code(text: str, budget: Budget) -> str:
    """First the definitions, then lines with many names, spread over the whole text; each with its
    number."""
    lines, numbered, found = outlined(text)
    span = f"{numbered[0][0]}..{numbered[-1][0]}" if numbered else "none"
    heading = (
        f"outline of lines {span}: {len(found)} definitions; what it does not list is left out"
    )
    pieces = [Piece(-2, 100, heading)]
    pieces += _own_words(lines, numbered)
    for order, item in enumerate(found):
        shown = f"{item.first}-{item.last}: {cut_line(item.line, _LINE)}{_body(item)}"
        pieces.append(Piece(item.first, 80 - item.indent * 0.5 - order * 0.01, shown))
    for order, item in enumerate(passages(numbered, found)):
        shown = f"{item.first}-{item.last}: {cut_line(item.line, _FILLING_LINE)}{_body(item)}"
        pieces.append(Piece(item.first, 60 - order * 0.01, shown))

    def lines_that_tell() -> list[Piece]:
        return [
            Piece(number, 30 + worth, f"{number}: {cut_line(line, _FILLING_LINE)}")
            for worth, number, line in _telling_lines(numbered, found)
        ]

    if min(piece.worth for piece in pieces) > _MAX_LINE_WORTH:
        return compose(pieces, budget, later=lines_that_tell)
    return compose([*pieces, *lines_that_tell()], budget)


def _own_words(lines: list[str], numbered: list[tuple[int, str]]) -> list[Piece]:
    """The tool's text around the numbered lines: its first and last lines."""
    if len(numbered) == len(lines):
        return []
    before = True
    own: list[tuple[float, str]] = []
    for index, line in enumerate(lines):
        if NUMBERED.match(line):
            before = False
        elif line.strip():
            own.append(((-1.0 if before else numbered[-1][0] + 0.5) + index * 1e-6, line))
    left = len(own) - _OWN
    if left > 0:
        half = _OWN // 2
        own = [*own[:half], (own[half][0], f"… {left} lines of the tool's …"), *own[-half:]]
    return [Piece(order, 99, cut_line(line, _OWN_LINE)) for order, line in own]


def _body(item: Definition) -> str:
    """The mark for whatever follows the listed lines."""
    return " …" if item.last > item.first else ""


def _telling_lines(
    numbered: list[tuple[int, str]], found: list[Definition]
) -> list[tuple[float, int, str]]:
    """Value, number and text of lines that are not definitions: those with the most names first,
    and spread over the whole text."""
    defined = {item.at for item in found}
    lines = [
        (_line_worth(line) + 0.5 * _spread(index), number, line)
        for index, (number, line) in enumerate(numbered[:_FILLING])
        if index not in defined and line.strip()
    ]
    return sorted(lines, key=lambda entry: -entry[0])


def _line_worth(line: str) -> float:
    start = line[:300]
    if _IMPORT.match(start) or _COMMENT.match(start):
        return -1.0
    return specificity(start) + (1.0 if "(" in start else 0.0)


def _spread(index: int) -> float:
    """A number in 0..1 such that any first few lines lie far from each other: the bits of `index`
    reversed."""
    return 1.0 - int(f"{index & 0xFFF:012b}"[::-1], 2) / 4096


@lru_cache(maxsize=1)
def outlined(text: str) -> tuple[list[str], list[tuple[int, str]], list[Definition]]:
    """Lines, numbered lines and definitions; cached for the next step with the same text."""
    lines = text.splitlines()[:_MAX_LINES]
    numbered = numbered_lines(lines)
    return lines, numbered, outline(numbered)


def numbered_lines(lines: list[str]) -> list[tuple[int, str]]:
    """Lines with their numbers: those that a tool wrote before them, otherwise from 1. If a tool
    numbered the lines, lines without a number are the tool's own words and are left out."""
    sample = [line for line in lines[:40] if line.strip()]
    if len(sample) < 4 or sum(1 for x in sample if NUMBERED.match(x)) <= 0.7 * len(sample):
        return list(enumerate(lines, 1))
    return [
        (int(match.group(1)), line[match.end() :])
        for line in lines
        if (match := NUMBERED.match(line)) is not None
    ]


def outline(numbered: list[tuple[int, str]]) -> list[Definition]:
    """Definitions in order."""
    commented = _commented([line for _, line in numbered])
    every = (
        _definition(line[:300], at, number)
        for at, (number, line) in enumerate(numbered)
        if at not in commented
    )
    found = [item for item in every if item is not None]
    _close(found, numbered)
    return found


def _commented(lines: list[str]) -> set[int]:
    """The lines inside comments and texts of several lines, whose words define nothing. If the last
    one does not end, the text may have begun within one, and none is known."""
    found: set[int] = set()
    for opens, closes in _COMMENTS:
        inside: set[int] = set()
        is_open = False
        for at, line in enumerate(lines):
            if is_open:
                inside.add(at)
                is_open = closes not in line
            else:
                start = line.lstrip()
                is_open = start.startswith(opens) and closes not in start[len(opens) :]
        if not is_open:
            found |= inside
    return found


_COMMENTS = (("/*", "*/"), ('"""', '"""'), ("'''", "'''"))


def passages(numbered: list[tuple[int, str]], found: list[Definition]) -> list[Definition]:
    """The passages between blank lines in the bodies of long definitions, or in a text without
    definitions. Long ones, and those that begin with a comment, which says what follows, come
    first. A passage is named by its first line."""
    defined = {item.at for item in found}
    bodies = [(item.at + 1, item.end) for item in found if item.end - item.at > _LONG]
    if not found:
        bodies = [(0, len(numbered))]
    parts = [part for start, end in bodies for part in _passages(numbered, start, end)]
    apart = {part.at: part for part in parts if part.at not in defined and part.end > part.at + 1}
    return sorted(apart.values(), key=lambda part: (-_weight(part), part.at))


def _weight(part: Definition) -> int:
    return part.end - part.at + (_COMMENTED if _INTRODUCES.match(part.line[:100]) else 0)


def _passages(numbered: list[tuple[int, str]], start: int, end: int) -> list[Definition]:
    """The passages between blank lines at the outermost level of a body; deeper ones belong to the
    passage before them."""
    filled = [at for at in range(start, end) if not _BRACKETS.issuperset(numbered[at][1].strip())]
    indent = _indent(numbered[filled[0]][1]) if filled else 0
    begins = [
        at
        for at in filled
        if _indent(numbered[at][1]) == indent
        and (at == filled[0] or not numbered[at - 1][1].strip())
    ]
    parts = []
    for at, following in pairwise([*begins, end]):
        inside = [x for x in range(at, following) if _reaches(numbered[x][1], indent)]
        last = inside[-1]
        number, line = numbered[at]
        parts.append(
            Definition(line.strip(), number, numbered[last][0], line, indent, at, last + 1)
        )
    return parts


def _reaches(line: str, indent: int) -> bool:
    return bool(line.strip()) and _indent(line) >= indent


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _definition(line: str, at: int, number: int) -> Definition | None:
    match = DEFINITION.match(line)
    if match is None:
        return None
    name = match.group("name") or match.group("bound") or match.group("cname") or line.strip()[:60]
    words = (match.group("c") or "").split()
    if match.group("cname") and (name in _NO_FUNCTION or not words or words[0] in _NO_FUNCTION):
        return None
    return Definition(name, number, number, line, len(match.group("indent")), at, at + 1)


def _close(found: list[Definition], numbered: list[tuple[int, str]]) -> None:
    """Set the first and the last line of each."""
    ends = [len(numbered)] * len(found)
    open_ones: list[int] = []
    for index, item in enumerate(found):
        while open_ones and found[open_ones[-1]].indent >= item.indent:
            ends[open_ones.pop()] = item.at
        open_ones.append(index)
    for item, end in zip(found, ends, strict=True):
        item.end = _last_line(numbered, item.at, end) + 1
        item.last = numbered[item.end - 1][0]
        first = item.at
        while first > 0 and _INTRODUCES.match(numbered[first - 1][1][:100]):
            first -= 1
        item.first = numbered[first][0]


def _last_line(numbered: list[tuple[int, str]], at: int, end: int) -> int:
    """Index of the last line before `end`, without blank lines and without whatever introduces the
    next definition."""
    last = end - 1
    while last > at and end < len(numbered) and _INTRODUCES.match(numbered[last][1][:100]):
        last -= 1
    while last > at and not numbered[last][1].strip():
        last -= 1
    return last
