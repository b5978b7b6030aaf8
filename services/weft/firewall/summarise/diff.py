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
_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")
_NAMES = re.compile(
    r"diff --git \w/.+ \w/(.+)\Z|diff --git .+ (.+)\Z|(?:Index:|diff --(?:cc|combined)) (.+)\Z"
)
_HEADS = ("diff --", "Index: ")
_PATH = re.compile(r"(?:\+\+\+|---) (?:[ab]/)?([^\t]+)")
_NOTES = (("deleted file mode ", "deleted"), ("new file mode ", "new"), ("Binary files ", "binary"))
_NOTHING = "/dev/null"


class _File(msgspec.Struct):
    name: str
    rank: int
    note: str = ""
    """`new`, `deleted`, `binary`, or what it was renamed or copied from."""
    added: int = 0
    removed: int = 0
    hunks: int = 0


class _Diff:
    """What was read of a diff so far."""

    def __init__(self) -> None:
        self.files: list[_File] = []
        self.hunk = -1
        """The number of the first line of the hunk that a line belongs to; -1 outside of any."""
        self._left = [0, 0]
        """How many old and new lines this hunk still has."""
        self._has_head = False
        """Whether the file was named and its first hunk is still to come."""

    def read(self, lines: list[str], number: int) -> None:
        line = lines[number]
        first = line[:1]
        if self.hunk >= 0 and first in _IN_HUNK and line[:4] != "--- ":
            if self._left[0] > 0 or self._left[1] > 0:
                self._count(first)
            return
        names_files = first == "-" and self._names_files(lines, number)
        if not names_files and self.hunk >= 0 and first in _IN_HUNK and any(self._left):
            self._count(first)
        elif first == "@" and (match := _HUNK.match(line)):
            self.hunk = number
            self._left = [int(count or 1) for count in match.groups()]
            self._has_head = False
            if self.files:
                self.files[-1].hunks += 1
        elif names_files:
            self._named_in_pair(line, lines[number + 1])
        elif first in "dInrcB":
            self._head(line)
        elif first not in _IN_HUNK:
            self.hunk = -1

    def _names_files(self, lines: list[str], number: int) -> bool:
        """Whether this is the first line of the pair `--- a/x`, `+++ b/x`. Inside a hunk they may
        be a removed and an added line; there the next hunk must follow."""
        pair = lines[number : number + 3]
        if len(pair) < 2 or not (pair[0].startswith("--- ") and pair[1].startswith("+++ ")):
            return False
        return not any(self._left) or (len(pair) == 3 and _HUNK.match(pair[2]) is not None)

    def _named_in_pair(self, old: str, new: str) -> None:
        self.hunk = -1
        before, after = (
            match[1] if (match := _PATH.match(line)) else "(unnamed)" for line in (old, new)
        )
        if not self._has_head:
            self._begin(before if after == _NOTHING else after)
        if not self.files[-1].note and _NOTHING in (before, after):
            self.files[-1].note = "deleted" if after == _NOTHING else "new"

    def _head(self, line: str) -> None:
        """A line above the hunks of a file."""
        if line.startswith(_HEADS) and (match := _NAMES.match(line)):
            self._begin(match[1] or match[2] or match[3])
        elif self._has_head:
            note = next((note for start, note in _NOTES if line.startswith(start)), "")
            if line.startswith(("rename from ", "copy from ")):
                note = f"{'renamed' if line[0] == 'r' else 'copied'} {line.partition(' ')[2]}"
            self.files[-1].note = note or self.files[-1].note

    def _begin(self, name: str) -> None:
        self.hunk = -1
        self._left = [0, 0]
        self._has_head = True
        self.files.append(_File(name, len(self.files)))

    def _count(self, sign: str) -> None:
        if not self.files:
            self.files.append(_File("(unnamed)", 0))
        if sign == "+":
            self.files[-1].added += 1
        elif sign == "-":
            self.files[-1].removed += 1
        self._left[0] -= sign in " -"
        self._left[1] -= sign in " +"


_IN_HUNK = frozenset(("+", "-", " ", "\\", ""))


def summarise_diff(text: str, budget: Budget) -> str:
    """Every file with its counts, then unchanged hunks; long ones in parts."""
    lines = text.splitlines()
    pieces: list[Piece] = []
    diff = _Diff()
    for number, line in enumerate(lines):
        diff.read(lines, number)
        if len(pieces) < budget.most:
            _add(pieces, number, line, diff.hunk)
    files = diff.files
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    heading = Piece(-1, 100, f"diff: {len(files)} files, +{added} -{removed}", 0)
    return compose(
        [heading, *map(_file_line, files[: budget.most]), *pieces], budget, "lines", len(lines)
    )


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


def _file_line(file: _File) -> Piece:
    note = f" ({file.note})" if file.note else ""
    shown = f"{file.name}{note}: {file.hunks} hunks, +{file.added} -{file.removed}"
    return Piece(-1 + 0.001 * file.rank, 90, shown, 0)
