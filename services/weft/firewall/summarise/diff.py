"""A diff as its files with counts of added and removed lines, its hunks, and as many changed lines
as fit."""

from __future__ import annotations

import re

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line

_LINE = 160
"""Characters of a line that are shown."""
_TOGETHER = 8
"""How many first lines of a hunk are shown together."""
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_FILE = re.compile(r"(?:diff --git a/(.+) b/.+|\+\+\+ (?:b/)?([^\t]+).*|Index: (.+))\Z")


_FILE_STARTS = ("diff --git ", "+++ ", "Index: ")
_FILE_FIRST = frozenset("d+I")
_CHANGED = frozenset("+-")


class _File(msgspec.Struct):
    name: str
    rank: int
    added: int = 0
    removed: int = 0
    hunks: int = 0


def summarise_diff(text: str, budget: Budget) -> str:
    """Every file with its counts, then unchanged hunks; long ones in parts."""
    lines = text.splitlines()
    files: list[_File] = []
    pieces: list[Piece] = []
    hunk = -1
    for number, line in enumerate(lines):
        first = line[:1]
        match = (
            _FILE.match(line) if first in _FILE_FIRST and line.startswith(_FILE_STARTS) else None
        )
        if match is not None:
            _begin(files, match[match.lastindex or 0])
            hunk = -1
        elif first == "@" and _HUNK.match(line):
            hunk = number
            if files:
                files[-1].hunks += 1
        elif hunk >= 0 and first in _CHANGED:
            _count(files, first)
        if len(pieces) < budget.most:
            _add(pieces, number, line, hunk)
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    told = Piece(-1, 100, f"diff: {len(files)} files, +{added} -{removed}", 0)
    return compose([told, *map(_told, files[: budget.most]), *pieces], budget, "lines", len(lines))


def _add(pieces: list[Piece], number: int, line: str, hunk: int) -> None:
    """A line; the first lines of a hunk stay together, since a change means little without its
    place."""
    shown = cut_line(line, _LINE)
    inside = number - hunk if hunk >= 0 else -1
    if inside == 0:
        pieces.append(Piece(number, 70 - number * 0.001, shown))
    elif 0 < inside < _TOGETHER and pieces[-1].order == hunk:
        start = pieces[-1]
        pieces[-1] = Piece(hunk, start.worth, f"{start.text}\n{shown}", start.units + 1)
    else:
        pieces.append(Piece(number, (50 if hunk >= 0 else 40) - number * 0.001, shown))


def _told(file: _File) -> Piece:
    shown = f"{file.name}: {file.hunks} hunks, +{file.added} -{file.removed}"
    return Piece(-1 + 0.001 * file.rank, 90, shown, 0)


def _begin(files: list[_File], name: str) -> None:
    if not files or files[-1].name != name:
        files.append(_File(name, len(files)))


def _count(files: list[_File], sign: str) -> None:
    if not files:
        files.append(_File("(unnamed)", 0))
    if sign == "+":
        files[-1].added += 1
    else:
        files[-1].removed += 1
