"""Finds the lines that tell of an error, by their level or, without one, by their words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import re2

_ERRORS = frozenset(("ERROR", "FATAL", "CRITICAL", "SEVERE", "PANIC"))
WARNING = _ERRORS | {"WARN"}
"""Levels that warn of something."""
_NAMES = r"TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC"
_LEVEL_AFTER_TIME = re.compile(
    rf"(?:[\W\d]|[A-Z][a-z]{{2}}\b|(?<=\d)[TZ])*(?<=[\dZ\])]\s)((?i:{_NAMES}))(?=\s)"
)
_LEVEL = re.compile(
    rf"(?<![^\s\[(|<\"'=:>])({_NAMES})(?![^\s\])|>\"',:;!/])"
    rf"|(?i:(?<!\w)(?:level|lvl|severity|loglevel)[\"']?[=:]\s?[\"']?({_NAMES})\b"
    rf"|[\[<]({_NAMES})[\]>]|(?:^|(?<=:\s))({_NAMES}):)"
)
"""A level where programs write one: in capitals as a word of its own, in brackets, as the value of
a key, or as the first word after a time. `error.py` and `timeout=30` have none."""
_BEGIN = ("INFO", "ERR", "WARN", "DEBUG", "TRACE", "NOTICE", "FATAL", "CRITICAL", "SEVERE", "PANIC")
_NAMED = {"WARNING": "WARN", "ERR": "ERROR"}
_MAX_KEY_LENGTH = len("loglevel") + 5
"""Characters before the name that are part of a match: a key, its quotes and what follows it."""
_WORD = (
    r"(?:error|err|fatal|critical|severe|panic|exception|failed|failure|traceback|denied|refused"
    r"|timed? ?out|not found|cannot|unable|undefined (?:reference|symbols?)|unresolved external"
    r"|multiple definition|duplicate symbols?)"
)
_ERROR = re.compile(
    rf"(?<![\w./=-])(?<!\b0 )(?<!\b[Nn]o )(?i:{_WORD})(?![\w/=-]|\.\w|: ?\d)|\bFAIL\b"
    r"|\b(?:[A-Z]\w+(?:Error|Exception))\b"
    r"|\b(?i:err|error|exception)=(?![\"']?(?i:nil|null|none|false|0)\b|[\"']{2}|\s|\Z)"
    r"|\bexited (?:with )?(?:code |status |\()[1-9]\d{0,2}\b"
    r"|\.\w{1,6}:\d{1,7}:\d{1,5}: (?:[EF]\d{3,4}\b"
    r"|(?! |(?i:note|warning|info|hint|remark|help|required|in)\b|[A-Z]\d{3,4}\b))"
)
"""Words that tell of an error in a line without a level, unless they are part of a name or a
setting, or say that there is no error."""
VARIABLE = re.compile(
    r"\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,}){0,5}\b|\d+(?:[.:,\-/TZ]\d+)*|'[^'\n]{0,80}'|\"[^\"\n]{0,80}\""
)
"""The parts in which lines that say the same differ: numbers, ids and quoted text."""


def tells_error(line: str, level: str) -> bool:
    """Whether a line with this level, empty for none, tells of an error."""
    return level in _ERRORS or (not level and _ERROR.search(line[:200]) is not None)


def may_tell(text: str, lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines of a text in which an error may be told. Most have none of the words
    for it. `lines` are all lines of the text with their ends."""
    plain = _lowercase_bytes(text)
    starts = list(accumulate(map(len, lines), initial=0))
    at = 0
    while (found := _SIGN.search(plain, at)) is not None:
        number = bisect_right(starts, found.start()) - 1
        yield number
        at = starts[number + 1]


def first_error(text: str) -> int | None:
    """Where a text first tells of an error; in a line of a lower level, or in what is said about a
    place in a file, only if no other does."""
    plain = _lowercase_bytes(text)
    lower, at = None, 0
    for _ in range(MAX_SIGNS):
        found = _SIGN.search(plain, at)
        if found is None:
            break
        sign: int = found.start()
        at = found.end()
        start = text.rfind("\n", 0, sign) + 1
        near = _ERROR.finditer(text, max(start, sign - _BEFORE), sign + _BEHIND)
        if not any(told.start() <= sign < told.end() for told in near):
            continue
        is_remark = text[sign] == ":"
        if not is_remark and level_of(text[start : start + 200]) in ("", *_ERRORS):
            return sign
        lower = sign if lower is None else lower
        if not is_remark:
            end = text.find("\n", sign)
            at = len(text) if end < 0 else end
    return lower


def _lowercase_bytes(text: str) -> bytes:
    """A text in lower case, with a byte for each character."""
    return text.encode("ascii", "replace").lower()


_SIGN = re2.compile(
    rb"err|fatal|critical|severe|panic|exception|fail|traceback|denied|refused|timed? ?out"
    rb"|not found|cannot|unable|exited |:\d+:\d+: |undefined |unresolved |definition|duplicate"
)
"""A sign that every text has in which `_ERROR` finds an error; found quickly in lower case."""
MAX_SIGNS = 5_000
"""Most signs that are looked at, in some milliseconds: names may have thousands of them."""
_BEFORE, _BEHIND = 60, 24
"""Characters of a line around a sign in which the error must be told."""


def level_of(line: str) -> str:
    """The level of a line as most programs write it (`WARN`, `ERROR`), empty for none."""
    start = line[:200]
    at = _name_at(start)
    if at < 0:
        return ""
    # Most programs write it in capitals, as the first of these words.
    match = (
        _LEVEL.match(start, at)
        or _LEVEL_AFTER_TIME.match(start)
        or _LEVEL.search(start, max(at - _MAX_KEY_LENGTH, 0))
    )
    if match is None:
        return ""
    level = match[match.lastindex or 0].upper()
    return _NAMED.get(level, level)


def _name_at(start: str) -> int:
    """Where the first name of a level may stand; -1 if there is none."""
    if not start.isascii():
        return 0  # capitals may take more characters
    capitals = start.upper()
    first = -1
    for name in _BEGIN:
        at = capitals.find(name, 0, first + len(name) if first >= 0 else len(start))
        if at >= 0:
            first = at
    return first
