"""A diff as its files with their added and removed lines counted, its hunks, and the changed lines
that fit."""

from __future__ import annotations

import re

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, shorten

_LINE = 160
"""Characters of a line that are shown."""
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_FILE = re.compile(r"(?:diff --git a/(.+) b/.+|\+\+\+ (?:b/)?([^\t]+).*|Index: (.+))\Z")


_FILE_STARTS = ("diff --git ", "+++ ", "Index: ")
_FILE_FIRST = frozenset("d+I")
_CHANGED = frozenset("+-")


class _File(msgspec.Struct):
    name: str
    order: int
    added: int = 0
    removed: int = 0
    hunks: int = 0


def summarise_diff(text: str, budget: Budget) -> str:
    files: list[_File] = []
    hunks: list[Piece] = []
    changes: list[Piece] = []
    others: list[Piece] = []
    in_hunk, most = False, budget.most
    for number, line in enumerate(text.splitlines()):
        first = line[:1]
        if in_hunk and first == " ":
            continue
        match = (
            _FILE.match(line) if first in _FILE_FIRST and line.startswith(_FILE_STARTS) else None
        )
        if match is not None:
            _begin(files, match[match.lastindex or 0], number)
            in_hunk = False
        elif first == "@" and _HUNK.match(line):
            in_hunk = True
            if files:
                files[-1].hunks += 1
            if len(hunks) < most:
                hunks.append(Piece(number, 70 - len(hunks) * 0.001, shorten(line, _LINE)))
        elif in_hunk and first in _CHANGED:
            _count(files, first)
            if len(changes) < most:
                changes.append(Piece(number, 50 - number * 0.001, shorten_line(line)))
        elif in_hunk or len(others) >= most or line.startswith(("---", "index ")):
            continue
        elif line.strip():
            others.append(Piece(number, 40, shorten(line, _LINE)))
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    told = Piece(-1, 100, f"diff: {len(files)} files, +{added} -{removed}")
    return compose([told, *map(_told, files[:most]), *hunks, *changes, *others], budget)


def _told(file: _File) -> Piece:
    shown = f"{file.name}: {file.hunks} hunks, +{file.added} -{file.removed}"
    return Piece(file.order - 0.5, 90, shown)


def _begin(files: list[_File], name: str, number: int) -> None:
    if not files or files[-1].name != name:
        files.append(_File(name, number))


def _count(files: list[_File], sign: str) -> None:
    if not files:
        files.append(_File("(unnamed)", 0))
    if sign == "+":
        files[-1].added += 1
    else:
        files[-1].removed += 1


def shorten_line(line: str) -> str:
    """A line with its indentation, at most `_LINE` characters of it."""
    return line if len(line) <= _LINE else f"{line[:_LINE]}…(+{len(line) - _LINE} chars)"
