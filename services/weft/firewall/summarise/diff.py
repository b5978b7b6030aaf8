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


class _File(msgspec.Struct):
    name: str
    order: int
    added: int = 0
    removed: int = 0
    hunks: int = 0


def summarise_diff(text: str, budget: Budget) -> str:
    files: list[_File] = []
    pieces: list[Piece] = []
    in_hunk = False
    for number, line in enumerate(text.splitlines()):
        match = _FILE.match(line) if line.startswith(_FILE_STARTS) else None
        if match is not None:
            _begin(files, next(g for g in match.groups() if g is not None), number)
            in_hunk = False
        elif line.startswith("@@") and _HUNK.match(line):
            in_hunk = True
            if files:
                files[-1].hunks += 1
            pieces.append(Piece(number, 70 - len(pieces) * 0.001, shorten(line, _LINE)))
        elif in_hunk and line[:1] in ("+", "-"):
            _count(files, line)
            pieces.append(Piece(number, 50 - number * 0.001, shorten_line(line)))
        elif not in_hunk and not line.startswith(("---", "index ")) and line.strip():
            pieces.append(Piece(number, 40, shorten(line, _LINE)))
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    pieces.append(Piece(-1, 100, f"diff: {len(files)} files, +{added} -{removed}"))
    for file in files:
        shown = f"{file.name}: {file.hunks} hunks, +{file.added} -{file.removed}"
        pieces.append(Piece(file.order - 0.5, 90, shown))
    return compose(pieces, budget)


def _begin(files: list[_File], name: str, number: int) -> None:
    if not files or files[-1].name != name:
        files.append(_File(name, number))


def _count(files: list[_File], line: str) -> None:
    if not files:
        files.append(_File("(unnamed)", 0))
    if line[0] == "+":
        files[-1].added += 1
    else:
        files[-1].removed += 1


def shorten_line(line: str) -> str:
    """A line with its indentation, at most `_LINE` characters of it."""
    return line if len(line) <= _LINE else f"{line[:_LINE]}…(+{len(line) - _LINE} chars)"
