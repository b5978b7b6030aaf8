"""Finds the lines that tell the outcome of a call in the text that it returned, whatever the tool:
the verdict at the end of a build, and what was raised at the end of a traceback."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

NEAR_END = 12
"""Last lines with something in them among which a verdict is looked for."""
MAX_VERDICTS = 2
"""Verdicts that are shown."""
MAX_LENGTH = 240
"""Characters of a line that tells an outcome; a longer one is shown like any other."""
_VERDICT = re.compile(
    r"\W{0,6}(?:[A-Z]+[\]:]? ){1,4}(?:FAILED|FAILURE|SUCCEEDED|SUCCESSFUL|SUCCESS)\b.{0,60}"
    r"|\s{0,8}Executed \d+ tests?\b.*"
    r"|[\W_]{0,80}(?:\w{1,20}:\s{1,8})?\d+ (?:passed|failed|failures?|errors?)\b.{0,80}"
    r"|(?:ERROR|[Ee]rror|FATAL|fatal): .*"
    r"|.{0,160}\b[Ss]uccessfully\b.{0,80}|\W{0,6}(?:\w{1,12} ){1,2}complete!.{0,80}"
    r"|\W{0,6}Plan: \d+ to .*"
    r"|\W{0,6}(?:\w{1,12} ){0,2}(?i:exit(?:ed)?(?: with)?(?: status| code)|exit_code)"
    r"\W{1,4}-?\d{1,3}\W{0,3}"
)
"""A line near the end of what a program printed that says how it ended."""
_RAISED = re.compile(
    r"^([ \t]{0,16})Traceback \(most recent call last\):[ \t]*\n"
    r"(?:\1[ \t]+.*\n|[ \t]*\n){1,400}\1(?=\S)",
    re.MULTILINE,
)
"""A traceback of Python, up to the line that says what was raised."""
_HEADED = re.compile(
    r"^([A-Za-z_][\w.]{0,80})[ \t]+Traceback \(most recent call last\)[ \t]*\n"
    r"(?:(?!\1\b).*\n){1,400}(?=\1(?::|[ \t]*$))",
    re.MULTILINE,
)
"""A traceback of IPython: the name of what was raised stands above it, too."""


def raised_at(text: str) -> int | None:
    """Where the last traceback of a text says what was raised; None without one. The last of a
    chain is what the caller got."""
    at = text.rfind("Traceback (most recent call last)")
    if at < 0:
        return None
    start = text.rfind("\n", 0, at) + 1
    found = _RAISED.search(text, start) or _HEADED.match(text, start)
    return None if found is None else found.end()


def outcome_lines(text: str, lines: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines that tell how a call ended. `lines` are all lines of the text with
    their ends."""
    found = _verdicts(lines)
    raised = raised_at(text)
    if raised is not None:
        found.add(bisect_right(list(accumulate(map(len, lines))), raised))
    return frozenset(at for at in found if at < len(lines) and len(lines[at]) <= MAX_LENGTH)


def _verdicts(lines: Sequence[str]) -> set[int]:
    filled = (at for at in range(len(lines) - 1, -1, -1) if lines[at].strip())
    near = [at for at, _ in zip(filled, range(NEAR_END), strict=False)]
    return set([at for at in near if is_verdict(lines[at].rstrip())][:MAX_VERDICTS])


def is_verdict(line: str) -> bool:
    """Whether a line, without its end, says how what was printed before it ended."""
    return len(line) <= MAX_LENGTH and _VERDICT.fullmatch(line) is not None
