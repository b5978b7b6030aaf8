"""The form of a text that is no JSON, by the marks in its beginning and by what its lines have in
common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import islice

import re2

from weft.firewall.aligned import is_aligned
from weft.firewall.delimited import records
from weft.firewall.form import Form
from weft.passages.line_prefix import bare_lines
from weft.passages.ruled import ruled_tables, with_plain_rules

_LINES = 100
"""How many lines are examined one by one."""
_LOG_LINE = re2.compile(
    rb"(?m)^[^\n]{0,70}?(?:\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b"
    rb"|\[(?:debug|info|warn|warning|error|fatal|notice|trace)\]|\blevel=\w"
    rb"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d|\d\d/\w{3}/\d{4}:\d\d"
    rb"|\d\d?[/.]\d\d?[/.]\d{2,4},? \d\d?:\d\d)"
)
_BEGINS_WITH_TIME = re.compile(
    r"\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d|\d\d?[/.]\d\d?[/.]\d{2,4}|\w{3} +\d\d?)?[T,]? ?"
    r"\d\d?:\d\d(?::\d\d)?(?:[.,]\d{3,9})?(?: ?[AP]M| ?Z| ?[+-]\d\d:?\d\d)?"
)
_TRACE = re2.compile(
    rb"(?m)^\s*(?:Traceback \(most recent call last\)|panic: |thread '[^'\n]{1,80}' panicked"
    rb"|(?:Exception in thread|Caused by:|Unhandled exception))"
    rb"|^\s+at [\w.$<>/]+ ?\(|^\s+File \"[^\"\n]+\", line \d",
)
_DIFF = re2.compile(rb"(?m)^(?:diff --git |--- [^\n]+\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+)")
_TESTS = re2.compile(
    rb"(?m)^(?:=+ (?:test session starts|FAILURES|short test summary|ERRORS)|-+ Captured "
    rb"|FAILED \S+::"
    rb"|(?:PASS|FAIL) \S+\.(?:test|spec)\.|Tests:\s+\d|Test Suites:\s+\d|=== RUN "
    rb"|--- (?:PASS|FAIL):"
    rb"|ok  \t\S|FAIL\t\S|test result: (?:ok|FAILED)\.|running \d+ tests?$|\[INFO\] Tests run: "
    rb"|Tests run: \d+, Failures|Ran \d+ tests? in |Test Case '-\[|TAP version |(?:not )?ok \d+ )"
    rb"|^=+ (?:\d+ \w+,? ?)+ in [\d.]+",
)
_HTML = re2.compile(rb"(?i)<!doctype html|<html[\s>]|<body[\s>]|</(?:div|p|span|table|a|li)>")
_TAGS = re2.compile(rb"</?[A-Za-z][\w:.-]*(?:\s[^<>]{0,500})?/?>")
_XML = re2.compile(rb"\A\s*(?:<\?xml|<[A-Za-z][\w:.-]*(?:\s[^<>]*)?>)")
_ROOT = re2.compile(
    rb"\A\s*(?:<\?[^<>]*>\s*|<!--[^<>]*-->\s*|<![A-Za-z][^<>]*>\s*)*<([A-Za-z][\w:.-]*)[\s/>]"
)
_NAMES_OF_HTML = b"""
a abbr article aside audio b blockquote body br button canvas center code dd details div dl dt em
fieldset figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input label li
link main meta nav ol option p pre script section select small span strong style sub summary sup
table tbody td textarea tfoot th thead title tr u ul video
"""
_HTML_NAMES = frozenset(_NAMES_OF_HTML.split())
"""Names with which a page or a part of one begins; XML begins with others."""
_HEADING = re2.compile(rb"(?m)^#{1,6} \S")
_MARKDOWN = re2.compile(rb"(?m)^```|\[[^\]\n]{1,200}\]\([^)\s]{1,500}\)|^\s{0,3}[-*] \S|\*\*\S")
_YAML = re.compile(r"^\s*(?:- )?[\w./\"'-]{1,60}:(?: |$)")
_CODE = re.compile(
    r"^\s*(?:\d+(?:\t|\||:|→)\s*)?(?:def |class |async def |import |from \S+ import |function "
    r"|export |const |let |var "
    r"|public |private |protected |static |func |fn |impl |struct |enum |interface |type |package "
    r"|#include|#define|#if|#endif|\*(?: |/?$)"
    r"|use |return\b|if ?\(|for ?\(|while ?\(|\}|\{|//|/\*|@\w+|module |require\()"
)
_MODULE = (
    re2.compile(rb"(?m)^(?:from [\w.]+ import \S|import \w[\w.]*(?: as \w+)?(?:, |$))"),
    re2.compile(rb"(?m)^(?:async )?def \w+\(|^class \w+[(:]"),
)
"""What a Python module contains; most of its lines show no sign of their own."""
NUMBERED = re.compile(r"\s{0,8}(\d{1,7})(?:\t|\||→|: |:(?=\D|\Z)) ?")
"""A line number as written by `cat -n` and by editing tools."""
_PATHLINE = re.compile(
    r"^(?:[-dlcbps][rwxsStT-]{9}[.+@]?\s"
    r"|(?:\./|/|[A-Za-z]:\\)?[\w@.+-]+(?:[/\\][\w@.+ -]+)+[:/]?\d*|[\w.-]+\.\w{1,6}$)"
)


_DIAGNOSTIC = re.compile(r"(?:\w{1,20}: )?[^\s:(]{1,200}\.\w{1,6}(?::\d+:\d+:|\(\d+,\d+\):) \S")
"""What a compiler or a linter says about a place in a file. A search prints no column."""


def text_form(start: str, hint: str | None) -> Form:
    """The form of a text that begins so and is no JSON. `hint` is as for `detect`."""
    bare = "".join(bare_lines(start.splitlines(keepends=True)))
    if bare != start and _TESTS.search(bare.encode()) is not None:
        return Form.TESTS
    raw = start.encode()
    filled = [line for line in start.splitlines() if line.strip()][:_LINES]
    for form, holds in _TESTS_IN_ORDER:
        if holds(raw, filled):
            return form
    return _HINTED.get((hint or "").partition(";")[0].strip(), Form.PROSE)


_TESTS_IN_ORDER: tuple[tuple[Form, Callable[[bytes, list[str]], bool]], ...] = (
    (Form.CODE, lambda raw, lines: _is_numbered(lines)),
    (Form.DIFF, lambda raw, lines: _DIFF.search(raw) is not None),
    (Form.TESTS, lambda raw, lines: _TESTS.search(raw) is not None),
    (Form.LOG, lambda raw, lines: len(lines) >= 4 and _share(lines, _DIAGNOSTIC) >= 0.3),
    (Form.XML, lambda raw, lines: _has_own_root(raw) and _is_xml(raw)),
    (Form.HTML, lambda raw, lines: _is_html(raw)),
    (Form.XML, lambda raw, lines: _is_xml(raw)),
    (Form.TABLE, lambda _, lines: _tables(lines) == 1),
    (Form.MARKDOWN, lambda _, lines: _tables(lines) > 1),
    (Form.TSV, lambda raw, lines: _delimited(lines, "\t")),
    (Form.CSV, lambda raw, lines: _delimited(lines, ",") or _delimited(lines, ";")),
    (Form.LOG, lambda raw, lines: _is_log(raw)),
    (Form.TRACEBACK, lambda raw, lines: _TRACE.search(raw) is not None),
    (Form.ALIGNED, lambda raw, lines: is_aligned(lines)),
    (Form.LISTING, lambda raw, lines: len(lines) >= 3 and _share(lines, _PATHLINE) >= 0.6),
    (Form.CODE, lambda raw, lines: all(sign.search(raw) is not None for sign in _MODULE)),
    (Form.YAML, lambda raw, lines: _is_yaml(lines) and not _is_chat(raw)),
    (Form.CODE, lambda raw, lines: len(lines) >= 4 and _share(lines, _CODE) >= 0.25),
    (Form.MARKDOWN, lambda raw, lines: _is_markdown(raw)),
    (Form.LOG, lambda raw, lines: _repeats(lines)),
)
"""The first that matches counts: forms with marks of their own come before those that are
recognised by their lines."""

_HINTED = {
    "text/html": Form.HTML,
    "text/markdown": Form.MARKDOWN,
    "text/csv": Form.CSV,
    "text/tab-separated-values": Form.TSV,
    "application/xml": Form.XML,
    "text/xml": Form.XML,
    "application/yaml": Form.YAML,
    "text/yaml": Form.YAML,
}
"""Forms that are taken from the tool's declaration if the text itself shows none."""


def _share(lines: list[str], pattern: re.Pattern[str]) -> float:
    return sum(1 for line in lines if pattern.match(line)) / max(1, len(lines))


def _is_html(raw: bytes) -> bool:
    if b"<" not in raw:
        return False
    found = sum(1 for _ in islice(_HTML.finditer(raw), 10))
    return found >= 2 and (raw.lstrip()[:1] == b"<" or (found >= 10 and b"```" not in raw))


def _has_own_root(raw: bytes) -> bool:
    """Whether a text begins with a tag that HTML does not have."""
    root = _ROOT.match(raw)
    return root is not None and root.group(1).lower() not in _HTML_NAMES


def _is_xml(raw: bytes) -> bool:
    return _XML.match(raw) is not None and sum(1 for _ in islice(_TAGS.finditer(raw), 3)) == 3


def _tables(lines: list[str]) -> int:
    """How many tables with rules there are, if they are most of a text."""
    plain = with_plain_rules("\n".join(lines))
    if "--" not in plain:
        return 0
    drawn = plain.split("\n")
    found = ruled_tables(drawn)
    inside = sum(table.end - table.first for table in found)
    return len(found) if inside >= 0.6 * len(drawn) else 0


def _is_log(raw: bytes) -> bool:
    filled = sum(1 for line in raw.split(b"\n") if line.strip())
    return filled >= 4 and len(_LOG_LINE.findall(raw)) >= 0.4 * filled


def _repeats(lines: list[str]) -> bool:
    """Whether most lines differ from others only in digits, as in what an installer prints."""
    if len(lines) < 2 * _ALIKE:
        return False
    counts = Counter(line[:_WIDTH].translate(_NO_DIGITS) for line in lines)
    alike = sum(
        count for line, count in counts.items() if count >= _ALIKE and any(map(str.isalpha, line))
    )
    return alike >= 0.6 * len(lines)


_ALIKE = 8
"""At least this many lines that are alike count as repeated."""
_WIDTH = 400
"""Characters of a line that are compared."""
_NO_DIGITS = str.maketrans("", "", "0123456789")


def _is_markdown(raw: bytes) -> bool:
    if _HEADING.search(raw) is not None:
        return True
    return sum(1 for _ in islice(_MARKDOWN.finditer(raw), 3)) == 3


def _is_numbered(lines: list[str]) -> bool:
    """Whether a tool put rising line numbers before the lines of a file."""
    if all(line.count("\t") > 1 for line in lines[:5]):
        return False
    numbers = [int(m.group(1)) for line in lines[:60] if (m := NUMBERED.match(line)) is not None]
    return len(numbers) >= max(4, 0.8 * len(lines[:60])) and numbers == sorted(set(numbers))


def _is_yaml(lines: list[str]) -> bool:
    """Whether a text starts with a key and a large part of it is keys; the rest may be folded
    strings."""
    lines = [line for line in lines if line.rstrip() != "---"]
    if len(lines) < 3 or _YAML.match(lines[0]) is None:
        return False
    share = _share(lines, _YAML)
    return share >= (0.12 if _YAML.match(lines[1]) else 0.3)


def _is_chat(raw: bytes) -> bool:
    """Whether keys come again and again, as speakers do: a mapping of YAML has each of its keys
    once. Records between blank lines or rules have the same keys."""
    records: list[list[str]] = [[]]
    for line in raw.decode(errors="ignore").splitlines()[: 2 * _LINES]:
        key = _NOT_INDENTED_KEY.match(line)
        if key is not None:
            records[-1].append(key[1])
        elif not line.strip() or line.rstrip() == "---":
            records.append([])
    filled = [keys for keys in records if keys]
    if sum(map(len, filled)) < 2 * len(filled):  # a blank line after each
        filled = [[key for keys in filled for key in keys]]
    repeated = sum(len(keys) - len(set(keys)) for keys in filled)
    return repeated > 1 and 2 * repeated >= sum(map(len, filled))


_NOT_INDENTED_KEY = re.compile(r"([\w.\"'/][\w./\"'-]{0,59}):(?: |$)")


def _delimited(lines: list[str], delimiter: str) -> bool:
    """Whether most lines have as many fields as the first, and at least two; quotes count."""
    if len(lines) < 3 or delimiter not in lines[0] or sum(map(len, lines)) > 400 * len(lines):
        return False
    fields = [len(row) for row in records(iter(lines[:50]), delimiter)]
    if len(fields) < 3 or fields[0] < 2:
        return False
    if fields[0] == 2 and any(len(field) > 40 for field in lines[0].split(delimiter)):
        return False
    if delimiter != "\t" and _are_lines_of_words(lines[:50], delimiter):
        return False
    return sum(count == fields[0] for count in fields) >= 0.8 * len(fields) - 1


def _are_lines_of_words(lines: list[str], delimiter: str) -> bool:
    """Whether lines have delimiters only as sentences or logs have them. In sentences, words come
    before a delimiter and a blank after it. A line of a log begins with a time that is not a cell
    of its own. The first line and most others must agree."""
    spoken = [_is_spoken(line, delimiter) for line in lines]
    timed = [
        (found := _BEGINS_WITH_TIME.match(line)) is not None
        and not line.startswith((delimiter, f'"{delimiter}'), found.end())
        for line in lines
    ]
    return any(flags[0] and sum(flags) >= _MOSTLY * len(lines) for flags in (spoken, timed))


_MOSTLY = 0.6


def _is_spoken(line: str, delimiter: str) -> bool:
    first = line.partition(delimiter)[0].strip()
    return " " in first and line.count(delimiter) == line.count(f"{delimiter} ")
