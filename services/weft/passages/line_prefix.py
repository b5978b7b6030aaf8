"""The prefix of each line of a log that collects what other programs print: a time, the names of a
job and its step, a number and the seconds since its start. Behind it, lines say what they would
say without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

_PREFIX = re.compile(
    r"\ufeff?(?:[^\t\n]{1,80}\t[^\t\n]{1,80}\t\ufeff?)?"
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?:[ \t]|\s*\Z)"
    r"|#\d{1,4} \d{1,5}\.\d{1,3}(?:[ \t]|\s*\Z)"
    r"|[a-z][\w.-]{0,60}[-_]\d{1,3} {1,20}\| ?)"
)
"""As GitHub's and GitLab's jobs, `docker build` and `docker compose logs` write it."""
COMPARED = 40
"""First lines with something in them that are looked at."""
MOST = 0.9
"""The share of them that has a prefix: a text that only quotes a log has fewer."""
LEAST = 4


def bare_lines(lines: Sequence[str]) -> Sequence[str]:
    """The lines without their prefix; the same lines if most have none."""
    begun = list(islice((line for line in lines if line.strip()), COMPARED))
    without = (line for line in begun if _PREFIX.match(line) is None)
    others = len(list(islice(without, int((1 - MOST) * len(begun)) + 1)))
    if len(begun) - others < LEAST or others > (1 - MOST) * len(begun):
        return lines
    return [_bare(line) for line in lines]


def _bare(line: str) -> str:
    found = _PREFIX.match(line)
    if found is None:
        return line
    rest = line[found.end() :]
    return rest if rest.endswith("\n") or not line.endswith("\n") else f"{rest}\n"
