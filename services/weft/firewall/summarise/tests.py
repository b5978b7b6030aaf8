"""A test run as its totals and each failure with its message; tests that passed are only
counted."""

from __future__ import annotations

import re

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line

_LINE = 220
"""Characters of a line that are shown."""
_TOTALS = re.compile(
    r"^=+ .{0,200}\b(?:passed|failed|errors?|skipped|no tests)\b.{0,200}=+$"
    r"|^\s*Tests?:\s+\d|^Test Suites:"
    r"|^test result:|^Ran \d+ tests?|^(?:OK|FAILED)\b(?: \(|$)"
    r"|^\d+ (?:passing|failing|pending)"
    r"|^\s{0,4}\d+ (?:passing|failing)|^(?:ok|FAIL|PASS)\s*(?:\t.*)?$"
    r"|^# (?:tests|pass|fail) \d"
    r"|^\d+ (?:passed|failed|examples)|^(?:FAIL|ok  )\t"
)
_TOTALS_INSIDE = re.compile(r"Tests run: \d+|BUILD (?:FAILURE|SUCCESS)")
_FAILURE = re.compile(
    r"^(?:FAILED|ERROR|FAIL:?)\s+\S|^--- FAIL|^not ok \d|^\s*[\u2715\u2717\u00d7\u2716]\s"
    r"|^\s+\d+\) \S|^\s*● \S"
    r"|^test \S+ \.\.\. FAILED|<<< (?:FAILURE|ERROR)!|^_{3,} .{1,200} _{3,}$|^(?:FAIL|ERROR): "
)
_NAME = re.compile(
    r"^(?:FAILED|ERROR) (\S+::\S+)|^--- FAIL: (\S+)|^not ok \d+ (?:- )?(.{1,100})|^\s*● (.{1,100})"
    r"|^\s*[\u2715\u2717\u00d7\u2716]\s(.{1,100})|^test (\S+) \.\.\. FAILED"
    r"|^(?:FAIL|ERROR): (\S.{0,100})|^(?:\[ERROR\]\s+)?(\S+)(?:  Time elapsed| .*<<<)"
)
"""A failure as its runner names it; headings of single failures name it again."""
_MANY, _NAMES = 6, 0.3
"""From this many failures on, their names come first, and take at most this share of the tokens."""
_REASON = re.compile(
    r"^E\s{1,8}\S|^\s*(?:\w+\.)*\w*(?:Error|Exception)\b|^thread '.{1,80}' panicked"
    r"|^\s*(?:expected|actual|received|left|right|got|want)\b|^\s*(?:Expected|Received|assert)"
    r"|^\S+\.\w{1,5}:\d+: |panicked at",
    re.IGNORECASE,
)
_PASSED = re.compile(r"\s*(?:✓|√|PASS\b|ok \d|--- PASS|test \S+ \.\.\. ok|=== RUN)|\S+\.py [.sxF]+")
_PASSED_INSIDE = re.compile(r"\bPASSED\b")


def summarise_tests(text: str, budget: Budget) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    failures = passed = reasons = 0
    pieces: list[Piece] = []
    names: list[str] = []
    for number, line in enumerate(lines):
        start = line[:400]
        if _is_pass(start):
            passed += 1
            continue
        if _FAILURE.match(start):
            failures += 1
            reasons = 0
            if (name := _NAME.search(start)) is not None:
                names.append(next(filter(None, name.groups())))
            # A heading says less than the line that names file, test and reason.
            worth = (60.0 if start.startswith("___") else 90.0) - failures * 0.01
        elif _is_total(start):
            worth = 97.0 + number / len(lines)
        elif _REASON.match(start):
            # The first reason after a failure says most of what the others repeat.
            worth = 80.0 - reasons - number / len(lines)
            reasons += 1
        else:
            worth = 40.0 + number / len(lines)
        pieces.append(Piece(number, worth, cut_line(line, _LINE)))
    told = (
        f"test run: {len(lines)} lines, {failures} failure lines, {passed} passing lines left out"
    )
    failed = _named(list(dict.fromkeys(names)), budget)
    about = [Piece(-1, 100, told, 0), *([Piece(-0.5, 99, failed, 0)] if failed else [])]
    return compose([*about, *pieces], budget, "lines", len(lines))


def _named(names: list[str], budget: Budget) -> str:
    """All failures in one line, or as many as their share allows and how many more there are."""
    if len(names) < _MANY:
        return ""
    told, count, file = "", 0, ""
    for name in names:
        before, sign, test = name.partition("::")
        shown = f"::{test}" if sign and before == file else name
        file = before
        longer = f"{told}, {shown}" if told else f"failed: {shown}"
        if budget.count(longer) > budget.limit * _NAMES:
            break
        told, count = longer, count + 1
    return told if count == len(names) or not told else f"{told} +{len(names) - count}"


def _is_pass(line: str) -> bool:
    """Whether a line only says that one test passed; the totals say so too."""
    if line.endswith("PASSED") or "PASSED  [" in line or " PASSED [" in line:
        return True
    passed = _PASSED.match(line) or ("PASSED" in line and _PASSED_INSIDE.search(line))
    return bool(passed) and not _is_total(line)


def _is_total(line: str) -> bool:
    if _TOTALS.match(line):
        return True
    return ("Tests run" in line or "BUILD " in line) and bool(_TOTALS_INSIDE.search(line))
