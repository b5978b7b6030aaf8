"""A test run as its totals and each failure with its message; tests that passed are only
counted."""

from __future__ import annotations

import re

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line
from weft.passages.test_run import Line, kinds_of

_LINE = 220
"""Characters of a line that are shown."""
_NAME = re.compile(
    r"^(?:FAILED|ERROR) (\S+::\S+)|^--- FAIL: (\S+)|^not ok \d+ (?:- )?(.{1,100})|^\s*● (.{1,100})"
    r"|^\s*[\u2715\u2717\u00d7\u2716]\s(.{1,100})|^test (\S+) \.\.\. FAILED"
    r"|^(?:FAIL|ERROR): (\S.{0,100})|^(?:\[ERROR\]\s+)?(\S+)(?:  Time elapsed| .*<<<)"
)
"""A failure as its runner names it; headings of single failures name it again."""
_MANY, _NAMES = 6, 0.3
"""From this many failures on, their names come first, and take at most this share of the tokens."""

_WORTH = {
    Line.TOTAL: 97.0,
    Line.FAILURE: 90.0,
    Line.REASON: 80.0,
    # It says less than the line that names file, test and reason.
    Line.HEADING: 60.0,
    Line.NEAR: 75.0,
    Line.OTHER: 40.0,
}


def summarise_tests(text: str, budget: Budget) -> str:
    lines = [bare for line in text.splitlines() if (bare := line.rstrip())]
    kinds, passed = kinds_of(lines), Line.PASSED
    failures = since = 0
    pieces: list[Piece] = []
    names: list[str] = []
    for number in [at for at, kind in enumerate(kinds) if kind is not passed]:
        line, kind = lines[number], kinds[number]
        if kind in (Line.FAILURE, Line.HEADING):
            failures += 1
            since = 0
            if (name := _NAME.search(line[:400])) is not None:
                names.append(next(filter(None, name.groups())))
        worth = _WORTH[kind]
        if kind in (Line.TOTAL, Line.OTHER):
            worth += number / len(lines)
        elif kind in (Line.REASON, Line.NEAR):
            # The first reason after a failure says most of what the others repeat.
            worth -= since + number / len(lines)
            since += 1
        else:
            worth -= failures * 0.01
        pieces.append(Piece(number, worth, cut_line(line, _LINE)))
    heading = (
        f"test run: {len(lines)} lines, {failures} failure lines, "
        f"{kinds.count(passed)} passing lines left out"
    )
    failed = _named(list(dict.fromkeys(names)), budget)
    about = [Piece(-1, 100, heading, 0), *([Piece(-0.5, 99, failed, 0)] if failed else [])]
    return compose([*about, *pieces], budget, "lines", len(lines))


def _named(names: list[str], budget: Budget) -> str:
    """All failures in one line, or as many as their share allows and how many more there are."""
    if len(names) < _MANY:
        return ""
    named, count, file = "", 0, ""
    for name in names:
        before, sign, test = name.partition("::")
        shown = f"::{test}" if sign and before == file else name
        file = before
        longer = f"{named}, {shown}" if named else f"failed: {shown}"
        if budget.count(longer) > budget.limit * _NAMES:
            break
        named, count = longer, count + 1
    return named if count == len(names) or not named else f"{named} +{len(names) - count}"
