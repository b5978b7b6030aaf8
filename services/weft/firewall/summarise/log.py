"""A log as its levels with counts, the first and the last line, every distinct error once with the
number of similar lines, and one of the other lines for each template."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap

_LINE = 220
"""Characters of a line that are shown."""
_ERROR_LINE = 600
"""Characters of an error that are shown."""
_ERRORS = frozenset(("ERROR", "FATAL", "CRITICAL", "SEVERE", "PANIC"))
_LEVEL = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC)\b", re.I
)
ERROR = re.compile(
    r"\b(?:error|err|fatal|critical|severe|panic|exception|failed|failure|traceback|denied|refused"
    r"|timed? ?out|not found|cannot|unable)\b|\b(?:[A-Z]\w+(?:Error|Exception))\b",
    re.IGNORECASE,
)
_VARIABLE = re.compile(
    r"\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,}){0,5}\b|\d+(?:[.:,\-/TZ]\d+)*|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\""
)


_NO_DIGITS = str.maketrans("", "", "0123456789")
_TEMPLATES = 3_000
"""With more templates than this, a log repeats nothing, and folding is given up."""


class Fold(msgspec.Struct):
    """Lines that differ only in numbers and quoted parts."""

    first: int
    count: int
    line: str
    level: str


def summarise_log(text: str, budget: Budget) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    folds = fold(lines)
    levels: Counter[str] = Counter()
    for entry in folds:
        levels[entry.level] += entry.count
    counts = ", ".join(f"{level} {n}" for level, n in sorted(levels.items()) if level)
    cap = line_cap(len(folds), budget, _LINE)
    pieces = [Piece(-1, 100, f"log: {len(lines)} lines" + (f"; {counts}" if counts else ""), 0)]
    last = len(lines) - 1
    for entry in folds:
        if entry.first < last or entry.level in _ERRORS:
            pieces.append(Piece(entry.first, _worth(entry, last), _shown(entry, cap)))
    if lines and pieces[-1].order != last:
        pieces.append(Piece(last, 92, cut_line(lines[-1], cap)))
    return compose(pieces, budget, "lines", len(lines))


def fold(lines: list[str]) -> list[Fold]:
    """Lines by template, in order of first appearance."""
    alike: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(lines):
        # Most lines differ only in digits, which is far cheaper to detect than a template.
        key = line[:400].translate(_NO_DIGITS)
        first, count = alike.get(key, (number, 0))
        alike[key] = (first, count + 1)
    folds: dict[str, Fold] = {}
    for number, count in alike.values():
        line = lines[number]
        key = _VARIABLE.sub("#", line[:400]) if len(folds) < _TEMPLATES else line[:400]
        known = folds.get(key)
        if known is None:
            folds[key] = Fold(number, count, line, _level(line))
        else:
            known.count += count
    return list(folds.values())


def _level(line: str) -> str:
    match = _LEVEL.search(line[:200])
    if match is None:
        return "ERROR" if ERROR.search(line[:200]) else ""
    level = match.group(1).upper()
    return {"WARNING": "WARN", "ERR": "ERROR"}.get(level, level)


def _worth(entry: Fold, last: int) -> float:
    if entry.level in _ERRORS:
        return 90 - entry.first / (last + 1)
    if entry.first == 0:
        return 88
    if entry.level == "WARN":
        return 70 - entry.first / (last + 1)
    # Unique lines are worth more than repeated ones, late lines more than early ones.
    return 40 + 10 * entry.first / (last + 1) - min(entry.count, 20) * 0.5


def _shown(entry: Fold, cap: int) -> str:
    line = cut_line(entry.line, max(cap, _ERROR_LINE) if entry.level in _ERRORS else cap)
    return line if entry.count == 1 else f"{line}  [{entry.count} lines like this]"
