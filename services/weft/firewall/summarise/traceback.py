"""A traceback as its exceptions with their messages and the innermost frames of the user's own
code; frames of libraries only if tokens are left."""

from __future__ import annotations

import re
from collections import Counter

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line

_LINE = 240
"""Characters of a line that are shown."""
_FIRST, _LAST = 1_000, 3_000
"""How many lines are examined from the start and from the end of a long one."""
_AGAIN = 60.0
"""Deducted from a line that is repeated further down."""
_FRAME = re.compile(
    r"^\s*(?:File \"[^\"]+\", line \d+|at \S.{0,200}[(:]|\d+: +\S+::"
    r"|#\d+ +\S|\S+\.go:\d+|from \S+:\d+)"
)
_THEIRS = re.compile(
    r"site-packages|dist-packages|lib/python\d|<frozen|node_modules|node:internal|\(internal/"
    r"|java\.base/|\bat (?:java|javax|sun|jdk|org\.junit|org\.springframework|kotlin|scala)\."
    r"|/usr/(?:lib|local/go)|/rustc/|\bcore::|\bstd::|/gems/|runtime/"
)
_PACKAGE = re.compile(r"\s*at (?:[\w.@]{1,60}/)?([a-z]\w{0,40}\.[a-z]\w{0,40})\.")
"""The first two names of a frame's package, as Java, Kotlin and Scala write it."""
_EXCEPTION = re.compile(
    r"^\s{0,8}(?:(?:Caused by|Suppressed|Unhandled exception|Uncaught)\W{1,3}.{0,40}"
    r"|Exception in thread .{0,80}|panic: |thread '[^']{1,80}' panicked|goroutine \d+ \[running)"
    r"|^\s{0,4}(?:[\w$]{1,60}\.){0,8}\w{0,60}(?:Error|Exception|Warning|Interrupt|Exit|Fault)\b(?::|\s*$)"
)


def summarise_traceback(text: str, budget: Budget) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    total = len(lines)
    skipped = max(0, total - _FIRST - _LAST)
    lines = lines[:_FIRST] + lines[_FIRST:][-_LAST:]
    frames = [number for number, line in enumerate(lines) if _FRAME.match(line[:400])]
    own = [number for number in frames if not _THEIRS.search(lines[number][:400])]
    innermost_last = "Traceback (most recent call last)" in text
    depth = _depths(list(reversed(own)) if innermost_last else own, lines)
    pieces = [Piece(-1, 100, f"traceback: {len(frames)} frames, {len(own)} in own code", 0)]
    last = {line: number for number, line in enumerate(lines)}
    for number, line in enumerate(lines):
        worth = _worth(number, line, depth, lines)
        if last[line] != number:
            worth -= _AGAIN
        place = number if number < _FIRST else number + skipped
        pieces.append(Piece(place, worth, cut_line(line, _LINE)))
    return compose(pieces, budget, "lines", total)


def _depths(own: list[int], lines: list[str]) -> dict[int, float]:
    """How far each frame is from the innermost one. After the first few frames of a package, its
    others count as farther away: a framework has many in a row, the program that uses it a few."""
    seen: Counter[str] = Counter()
    found: dict[int, float] = {}
    for rank, number in enumerate(own):
        package = _PACKAGE.match(lines[number][:400])
        held = package[1] if package else ""
        found[number] = min(rank * 0.01 + (4.0 * seen[held] if held else 0.99 * rank), 45.0)
        seen[held] += 1
    return found


def _worth(number: int, line: str, depth: dict[int, float], lines: list[str]) -> float:
    if _EXCEPTION.match(line[:400]):
        return 99.0
    if number in depth:
        return 90.0 - depth[number]
    if number - 1 in depth and not _FRAME.match(line[:400]):
        return 89.5 - depth[number - 1]
    if number == len(lines) - 1:
        return 95.0
    return 30.0 if _FRAME.match(line[:400]) else 40.0 - number / len(lines)
