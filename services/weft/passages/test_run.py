"""Tells the lines of a test run apart, whatever the runner: what failed and why, the totals, and
what passed. A failure and its reason are shown with any part of the run, and passed tests stand
beside what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

from weft.passages.always_shown import split_around
from weft.passages.error_details import details_below
from weft.passages.line_prefix import bare_lines
from weft.passages.log import first_errors
from weft.passages.part import Part

TEST_RUN = "text/x-test-run"
_COMPARED = 400
"""Characters of a line that are looked at."""
_NEAR = 30
"""How many lines after a failure may tell of it."""
_REASONS = 3
"""How many first reasons after a failure are shown with any part of the run."""
_ROOM, _MAX_LENGTH = 640, 240
"""Characters of all these lines, and of one of them."""
_TOTALS = re.compile(
    r"^=+ .{0,200}\b(?:passed|failed|errors?|skipped|no tests)\b.{0,200}=+$"
    r"|^\s*Tests?:\s+\d|^Test Suites:"
    r"|^test result:|^Ran \d+ tests?|^(?:OK|FAILED)\b(?: \(|$)"
    r"|^\d+ (?:passing|failing|pending)"
    r"|^\s{0,4}\d+ (?:passing|failing)|^(?:ok|FAIL|PASS)\s*(?:\t.*)?$"
    r"|^# (?:tests|pass|fail) \d"
    r"|^\d+ (?:passed|failed|examples)|^(?:FAIL|ok  )\t|^\s*Executed \d+ tests?, with"
)
_TOTALS_INSIDE = re.compile(r"Tests run: \d+|BUILD (?:FAILURE|SUCCESS)")
_FAILURE = re.compile(
    r"^(?:FAILED|ERROR|FAIL:?)\s+\S|^--- FAIL|^not ok \d|^\s*[\u2715\u2717\u00d7\u2716]\s"
    r"|^\s+\d+\) \S|^\s*● \S"
    r"|^\S+::\S.{0,200} (?:FAILED|ERROR)\b|^test \S+ \.\.\. FAILED|<<< (?:FAILURE|ERROR)!"
    r"|^\S+\.\w{1,5}:\d+: error: -\["
    r"|^_{3,} .{1,200} _{3,}$|^(?:FAIL|ERROR): |^\S.{0,200} > .{1,200} FAILED$"
)
_REASON = re.compile(
    r"^E\s{1,8}\S|^\s*(?:\w+\.)*\w*(?:Error|Exception)\b|^thread '.{1,80}' panicked"
    r"|^\s*(?:expected|actual|received|left|right|got|want)\b|^\s*(?:Expected|Received|assert)"
    r"|^\s*\S+\.\w{1,5}:\d+: |panicked at|^\s*AssertionError\b",
    re.IGNORECASE,
)
_FAILS = ("E  ", "FAILED", "ERROR", "not ok ")
"""How lines begin that tell of a failure, whatever else they say."""
_INITIALS = frozenset(sign[0] for sign in _FAILS)
_PASSED = re.compile(
    r"\s*(?:✓|√|PASS\b|ok \d|--- PASS|test \S+ \.\.\. ok|=== RUN"
    r"|Test Case '.{1,200}' (?:started\.|passed \())|\S+\.py [.sxF]+"
)
_SIGNS = ("✓", "√", "--- PASS", "=== RUN")
"""How lines of passed tests begin in most runners."""
_PROGRESS = len(" PASSED [100%]")
_PASSED_INSIDE = re.compile(r"\bPASSED\b")


class Line(Enum):
    """What a line of a test run says."""

    PASSED = auto()
    TOTAL = auto()
    FAILURE = auto()
    HEADING = auto()
    """Of a failure that other lines name with its file."""
    REASON = auto()
    NEAR = auto()
    """Something else after a failure."""
    OTHER = auto()


def kinds_of(lines: Sequence[str]) -> list[Line]:
    """What each line says; what follows a failure tells of it until the next test. Lines have no
    blanks at their ends."""
    found: list[Line] = []
    near = 0
    passed = Line.PASSED  # looked up once: there are many lines
    for line in lines:
        if line.endswith("PASSED") or (
            line.endswith("%]")
            and " PASSED " in line[-_PROGRESS:]
            and " FAILED" not in line
            and " ERROR" not in line
        ):
            passes = line[0] not in _INITIALS or not line.startswith(_FAILS)
        else:
            passes = _clearly_passes(line)
        if passes:
            near = 0
            found.append(passed)
            continue
        kind = _kind(line[:_COMPARED])
        if kind is Line.FAILURE or kind is Line.HEADING:
            near = _NEAR
        elif kind is Line.PASSED or kind is Line.TOTAL:
            near = 0
        elif near > 0:
            near -= 1
            kind = Line.NEAR if kind is Line.OTHER and line.strip() else kind
        found.append(kind)
    return found


def _clearly_passes(line: str) -> bool:
    """Whether a line says that one test passed, told without a pattern: most lines do."""
    # With one of these it may say something else, however it begins.
    return (
        line.lstrip().startswith(_SIGNS)
        and "FAIL" not in line
        and "ERROR" not in line
        and "Tests run" not in line
        and "BUILD " not in line
        and not line.endswith("=")
    )


def _kind(line: str) -> Line:
    if _FAILURE.match(line):
        return Line.HEADING if line.startswith("___") else Line.FAILURE
    # It may quote what a line of a passed test says.
    if line.startswith(_FAILS) and not _is_total(line):
        return Line.REASON if _REASON.match(line) else Line.OTHER
    if _is_pass(line):
        return Line.PASSED
    if _is_total(line):
        return Line.TOTAL
    return Line.REASON if _REASON.match(line) else Line.OTHER


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


def split_test_run(text: str, content_type: str) -> Part | None:
    """The parts of a test run, None if the text is none. The totals, and as many failures with
    their first reasons as there is room for, are shown with any other part."""
    if content_type != TEST_RUN:
        return None
    lines = text.splitlines(keepends=True)
    bare = bare_lines(lines)
    kinds = kinds_of([line.rstrip() for line in bare])
    telling = _telling(bare, kinds)
    if Line.FAILURE not in kinds:  # what failed, if anything, is no test
        others = (number for number, kind in enumerate(kinds) if kind is not Line.PASSED)
        telling |= first_errors(text, lines, bare).intersection(others)
    return split_around(text, lines, telling, _passed(bare, kinds))


def _passed(lines: Sequence[str], kinds: Sequence[Line]) -> frozenset[int]:
    """The numbers of the lines that only tell of tests which passed: not of one that begins, and of
    which the next lines tell something else."""
    following = [*kinds[1:], Line.PASSED]
    return frozenset(
        number
        for number, (kind, after) in enumerate(zip(kinds, following, strict=True))
        if kind is Line.PASSED and (after is Line.PASSED or not lines[number].startswith(_BEGINS))
    )


_BEGINS = "=== RUN"


def _telling(lines: Sequence[str], kinds: Sequence[Line]) -> frozenset[int]:
    """The numbers of the lines that are shown with any other."""
    totals = [number for number, kind in enumerate(kinds) if kind is Line.TOTAL]
    failures = [number for number, kind in enumerate(kinds) if kind is Line.FAILURE]
    reasons: list[int] = []
    since = 0
    for number, kind in enumerate(kinds):
        since = 0 if kind in (Line.FAILURE, Line.HEADING, Line.PASSED) else since
        if kind is Line.REASON:
            since += 1
            reasons += [number, *details_below(lines, number)] if since <= _REASONS else []
    room = _ROOM
    taken: set[int] = set()
    for of_kind, share in ((totals[-_REASONS:], 3), (failures[::-1], 2), (reasons, 1)):
        left = room // share
        for number in of_kind:
            size = len(lines[number])
            if number not in taken and size <= min(left, _MAX_LENGTH):
                left -= size
                room -= size
                taken.add(number)
    return frozenset(taken)
