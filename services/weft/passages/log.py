"""Splits a log, or what else a program printed, so that its first errors, and what tells how it
ended, are shown with any part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.passages.always_shown import split_around
from weft.passages.error_details import MAX_LENGTH, details_below
from weft.passages.error_lines import VARIABLE, level_of, may_tell, tells_error
from weft.passages.line_prefix import bare_lines
from weft.passages.outcome import outcome_lines
from weft.passages.outlier_lines import first_warnings, outlier_lines, rare_warnings
from weft.passages.part import Part
from weft.passages.uniform_lines import are_uniform, split_rows, with_ends

LOG = "text/x-log"
TRACEBACK = "text/x-traceback"
LISTING = "text/x-listing"
PRINTED = (LOG, TRACEBACK, LISTING, "text/plain")
"""Types of what programs print."""
_ROOM, _MAX_ERROR_LENGTH = 480, 400
"""Characters of the errors that are shown with any part of a log, and of one of them."""
MAX_FIRST_ERROR_LENGTH = 800
"""Characters of the first of them: a log often has no other."""


def split_log(text: str, content_type: str) -> Part | None:
    """The parts of a log, or of what else a program printed if it tells how it ended or has lines
    that differ from all others; None for other texts. Such lines, and the first line of each kind
    of error, are shown with any other part, as far as there is room."""
    if content_type not in PRINTED:
        return None
    lines = text.splitlines(keepends=True)
    bare = bare_lines(lines)
    telling = outcome_lines(text, bare)
    has_verdict = bool(telling)
    is_uniform = are_uniform(lines)
    has_levels = any(map(level_of, lines[:LEVELLED]))
    # Other lines with levels differ in what they say.
    if is_uniform or not has_levels:
        telling |= outlier_lines(lines)
    levels = list(map(level_of, lines)) if has_levels else []
    if has_levels:
        telling |= rare_warnings(lines, levels)
    has_errors = content_type not in (TRACEBACK, LISTING)
    is_told = content_type == LOG or bool(telling) or is_uniform
    if not is_told and not (has_errors and _are_printed(lines)):
        return None
    errors = first_errors(text, lines, bare) if has_errors else frozenset[int]()
    if not is_told and not errors:
        return None
    warned = first_warnings(lines, levels)
    if not is_uniform:
        return split_around(text, lines, telling | errors, outliers=warned)
    rows = split_around(text, lines, telling | errors, outliers=warned, split=split_rows)
    # A text that ends with a verdict is one run of a program, and the verdict says most about it.
    return rows if has_verdict else with_ends(text, rows)


def _are_printed(lines: Sequence[str]) -> bool:
    """Whether a program printed the lines: most begin with a sign or a number that few lines of
    prose have. Not the lines of a file with their numbers: what is an error's name in code is
    none."""
    filled = [line for line in lines if line.strip()]
    numbers = [int(found[1]) for line in filled if (found := _NUMBERED.match(line)) is not None]
    if len(numbers) >= PRINTED_SHARE * len(filled) and numbers == sorted(set(numbers)):
        return False
    signs = sum(_PRINTED.search(line, 0, BEGINNING) is not None for line in filled)
    return len(filled) >= MIN_PRINTED and signs >= PRINTED_SHARE * len(filled)


_PRINTED = re.compile(r"[:/=|_\\\[\]{}<>\d]")
_NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:[\t|:\u2192]|\s)")
BEGINNING = 80
"""Characters of a line in which such a sign is looked for."""
MIN_PRINTED, PRINTED_SHARE = 4, 0.7
"""Least lines with something in them, and the least share of these that has such a sign."""
LEVELLED = 20
"""First lines in which a log shows levels."""


def first_errors(text: str, lines: Sequence[str], bare: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines that tell of an error, one for each kind, and of what belongs with
    them. `bare` are the lines without their prefix."""
    taken: set[int] = set()
    kinds: set[str] = set()
    room = _ROOM
    for number in may_tell(text, lines):
        line = lines[number]
        longest = min(room, _MAX_ERROR_LENGTH) if taken else MAX_FIRST_ERROR_LENGTH
        if len(line) > longest or not tells_error(line, level_of(line)):
            continue
        kind = VARIABLE.sub("#", line)
        if kind not in kinds:
            kinds.add(kind)
            taken.add(number)
            room -= len(line)
    return frozenset(taken | _details(bare, sorted(taken)))


def _details(lines: Sequence[str], errors: Sequence[int]) -> set[int]:
    """The numbers of the lines that belong with the first of these errors."""
    taken: set[int] = set()
    room = MAX_LENGTH
    for number in errors:
        details = details_below(lines, number)
        size = sum(len(lines[below]) for below in details)
        if size <= room:
            taken.update(details)
            room -= size
    return taken
