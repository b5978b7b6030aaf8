"""Source code as an outline: every definition with the lines it spans, so that a slice can be asked
for by number."""

from __future__ import annotations

import re

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, shorten

_LINE = 140
"""Characters of a line that are shown."""
_MAX_LINES = 20_000
_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:\t|\||: |:(?=\s)|→) ?")
DEFINITION = re.compile(
    r"(?P<indent>\s{0,16})(?:(?:export|default|public|private|protected|internal|static|final|abstract"
    r"|async|pub(?:\([a-z]+\))?|unsafe|extern|virtual|override|inline|const|open|sealed|partial|data"
    r"|local|actor|be|new)\s+){0,5}"
    r"(?:(?:def|class|function|func|fn|fun|impl|struct|enum|interface|trait|type|module|namespace"
    r"|record|object|protocol|extension|macro_rules!|sub|proc|primitive|DEF\()\b[\s(*]{0,3}(?P<name>[\w.$:<>-]{1,80})?"
    r"|(?P<bound>[A-Za-z_$][\w$]{0,60})\s{0,2}[:=]\s{0,2}(?:async )?(?:function\b|\([^()\n]{0,80}\)\s{0,2}=>)"
    r"|(?P<c>[A-Za-z_][\w\s*&:<>,~]{0,80}?[\s*&])(?P<cname>[A-Za-z_]\w{0,60})\s{0,2}\([^;{}\n]{0,160}\)?\s{0,2}\{?$)"
)
_NO_FUNCTION = frozenset(("if", "for", "while", "switch", "return", "else", "catch", "new", "do"))
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
    lines = text.splitlines()[:_MAX_LINES]
    found, first_number, last_number = outline(lines)
    preface = [line for line in lines[:3] if _NUMBERED.match(line) is None and line.strip()]
    head = f"source: lines {first_number}..{last_number}, {len(found)} definitions"
    pieces = [Piece(-2, 100, head)]
    if _is_numbered(lines):
        pieces += [Piece(-1, 99, shorten(line, 200)) for line in preface[:2]]
    for order, item in enumerate(found):
        worth = 80 - item.indent * 0.5 - order * 0.01
        shown = f"{item.first}-{item.last}: {shorten(item.line.strip(), _LINE)}"
        pieces.append(Piece(item.first, worth, shown))
    for number, line in enumerate(plain(lines), first_number):
        if line.strip():
            rest = 30 if _IMPORT.match(line) else 35 - min(number - first_number, 400) * 0.02
            pieces.append(Piece(number + 0.5, rest, shorten(line, _LINE)))
            if number - first_number > 400:
                break
    return compose(pieces, budget, gap="")


def outline(lines: list[str]) -> tuple[list[Definition], int, int]:
    """Definitions in order, and the numbers of the first and the last line."""
    numbered = _is_numbered(lines)
    found: list[Definition] = []
    number = 0
    first = 0
    for line in lines:
        number += 1
        if numbered:
            match = _NUMBERED.match(line)
            if match is None:
                number -= 1
                continue
            number = int(match.group(1))
            line = line[match.end() :]
        first = first or number
        item = _definition(line[:300], number)
        if item is not None:
            found.append(item)
    _close(found, number)
    return found, first, number


def plain(lines: list[str]) -> list[str]:
    """The lines without the numbers that a tool put before them."""
    if not _is_numbered(lines):
        return lines
    return [line[m.end() :] for line in lines if (m := _NUMBERED.match(line)) is not None]


def _is_numbered(lines: list[str]) -> bool:
    sample = [line for line in lines[:40] if line.strip()]
    return len(sample) > 3 and sum(1 for x in sample if _NUMBERED.match(x)) > 0.7 * len(sample)


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
