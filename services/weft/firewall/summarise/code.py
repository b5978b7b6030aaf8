"""Source code as an outline: every definition with the lines it spans, so that a slice can be asked
for by number."""

from __future__ import annotations

import re

import msgspec

from weft.firewall.detect import NUMBERED
from weft.firewall.summarise.budget import Budget, Piece, compose, shorten
from weft.firewall.summarise.prose import telling

_LINE = 140
"""Characters of a line that are shown."""
_MAX_LINES = 20_000
_FILLING_LINE = 90
_FILLING = 2_000
"""Lines among which those are chosen that are no definitions."""
DEFINITION = re.compile(
    r"(?P<indent>\s{0,16})(?:(?:export|default|public|private|protected|internal|static|final"
    r"|abstract|async|pub(?:\([a-z]+\))?|unsafe|extern|virtual|override|inline|const|open|sealed"
    r"|partial|data|local)\s+){0,5}"
    r"(?:(?:def|class|function|func|fn|fun|impl|struct|enum|interface|trait|type|module|namespace"
    r"|record|object|protocol|extension|macro_rules!|sub|proc|primitive|actor|new|be|constructor"
    r"|resource|message|service|DEF)\b(?!\s*[=.,;:)])[\s(*\"']{0,3}"
    r"(?P<name>[\w.$:<>-]{1,80})?"
    r"|(?P<bound>[A-Za-z_$][\w$]{0,60})\s{0,2}[:=]\s{0,2}(?:async )?"
    r"(?:function\b|\([^()\n]{0,80}\)\s{0,2}=>)"
    r"|(?P<c>[A-Za-z_][\w\s*&:<>,~]{0,80}?[\s*&])(?P<cname>[A-Za-z_]\w{0,60})\s{0,2}"
    r"\([^;{}\n]{0,160}\)?\s{0,2}\{?$)"
)
_NO_FUNCTION = frozenset(("if", "for", "while", "switch", "return", "else", "catch", "new", "do"))
_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--|\"\"\"|;)")
_IMPORT = re.compile(r"\s{0,8}(?:import\b|from \S+ import|#include|use |using |require\b|package )")


class Definition(msgspec.Struct):
    """Something that a program defines."""

    name: str
    first: int
    """Number of its first line, as the text itself numbers its lines, else from 1."""
    last: int
    """Its last line: the one before the next definition that stands no deeper."""
    line: str
    indent: int


def summarise_code(text: str, budget: Budget) -> str:
    """First the definitions, then lines that name much, spread over the whole text; each with its
    number."""
    lines = text.splitlines()[:_MAX_LINES]
    numbered = numbered_lines(lines)
    found = outline(numbered)
    span = f"{numbered[0][0]}..{numbered[-1][0]}" if numbered else "none"
    pieces = [Piece(-2, 100, f"source: lines {span}, {len(found)} definitions")]
    if numbered and numbered[0][1] != lines[0]:
        pieces.append(Piece(-1, 99, shorten(lines[0], 200)))
    for order, item in enumerate(found):
        shown = f"{item.first}-{item.last}: {shorten(item.line.strip(), _LINE)}"
        pieces.append(Piece(item.first, 80 - item.indent * 0.5 - order * 0.01, shown))
    for worth, number, line in _telling_lines(numbered, found):
        pieces.append(Piece(number, 30 + worth, f"{number}: {shorten(line, _FILLING_LINE)}"))
    return compose(pieces, budget, gap="")


def _telling_lines(
    numbered: list[tuple[int, str]], found: list[Definition]
) -> list[tuple[float, int, str]]:
    """Worth, number and text of lines that are no definitions, the ones that name much first and
    spread over the whole text."""
    defined = {item.first for item in found}
    lines = [
        (_line_worth(line) + 0.5 * _spread(index), number, line.strip())
        for index, (number, line) in enumerate(numbered[:_FILLING])
        if number not in defined and line.strip()
    ]
    return sorted(lines, key=lambda entry: -entry[0])


def _line_worth(line: str) -> float:
    start = line[:300]
    if _IMPORT.match(start) or _COMMENT.match(start):
        return -1.0
    return telling(start) + (1.0 if "(" in start else 0.0)


def _spread(index: int) -> float:
    """A number in 0..1 by which the first of many lines taken lie far from each other: the bits of
    `index` reversed."""
    return 1.0 - int(f"{index & 0xFFF:012b}"[::-1], 2) / 4096


def numbered_lines(lines: list[str]) -> list[tuple[int, str]]:
    """Lines with their numbers: the ones that a tool wrote before them, else from 1. Where a tool
    numbered the lines, those without a number are its own words and are left out."""
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
    every = (_definition(line[:300], number) for number, line in numbered)
    found = [item for item in every if item is not None]
    if numbered:
        _close(found, numbered[-1][0])
    return found


def _definition(line: str, number: int) -> Definition | None:
    match = DEFINITION.match(line)
    if match is None:
        return None
    name = match.group("name") or match.group("bound") or match.group("cname") or line.strip()[:60]
    words = (match.group("c") or "").split()
    if match.group("cname") and (name in _NO_FUNCTION or not words or words[0] in _NO_FUNCTION):
        return None
    return Definition(name, number, number, line, len(match.group("indent")))


def _close(found: list[Definition], last: int) -> None:
    open_ones: list[Definition] = []
    for item in found:
        while open_ones and open_ones[-1].indent >= item.indent:
            open_ones.pop().last = item.first - 1
        open_ones.append(item)
    for item in open_ones:
        item.last = last
    for item in found:
        item.last = max(item.first, item.last)
