"""What a stub tells of a text beside its size: how many records it lists, or the line that says
most of how a call went: its verdict, its status, or the first line that is no preamble."""

from __future__ import annotations

import re

from weft.passages.error_lines import level_of, tells_error
from weft.passages.json_identifiers import NOTHING
from weft.passages.json_outcome import STATUS
from weft.passages.json_values import FIELD
from weft.passages.literals import Decoded
from weft.passages.outcome import is_verdict
from weft.passages.part import Outline, Part

CUT_LENGTH, WHOLE = 60, 75
"""A line with more characters than the second is cut to about the first; more would cost as much as
a part. A slightly longer line is not cut, since its end often says what it is about. Nor is a line
whose second half is one word; both ends of that are shown."""
ALONE = 160
"""Characters of a line that is all that a text says, such as the address of what was made, or that
tells of an error: half of it tells nobody what went wrong."""
READ = 4_000
"""Characters in which it is looked for."""
BLANKS = 3
"""Least blanks of a string in JSON that tells something by itself: `File written to a.md`."""
_STRING = re.compile(r'"([A-Za-z_][\w-]{0,31})"\s*:\s*"([^"\\]{8,})')
_PAGE = re.compile(r"<(?:!doctype html|html)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]{0,80}>\s*([^<>\s][^<>]{0,300})</title>", re.IGNORECASE)


def record_count(outline: Outline) -> int:
    """The number of records or rows of the list that makes most of a text; 0 if nothing does."""
    part = outline.root
    while part.children:
        family = outline.families[id(part)]
        if family.units <= {"record", "row"} and family.counts[-1] > 1:
            return family.counts[-1]
        part = _largest(part)
    return 0


def _largest(part: Part) -> Part:
    """The child that makes most of a part; one without children if there is none."""
    largest = max(part.children, key=lambda child: child.size)
    return largest if 2 * largest.size > part.size else Part(part.start, part.start)


def beside_list(text: str, outline: Outline) -> str:
    """What stands beside the list of a JSON text and says that there is more of it: its next page,
    and a total that is greater than the number of its records; empty for other texts."""
    told: list[str] = []
    part, count = outline.root, record_count(outline)
    while outline.is_json and part.children:
        family = outline.families[id(part)]
        if family.units <= {"record", "row"} and family.counts[-1] > 1:
            break
        for child in part.children:
            if child.unit == "field" and not child.children:
                found = FIELD.findall(text, child.start, child.end)
                told += [
                    f"{key}: {one.strip(_QUOTE)}"
                    for key, one in found
                    if _tells_more(key, one, count)
                ]
        part = _largest(part)
    return ", ".join(told[:MAX_BESIDE])


def _tells_more(key: str, value: str, count: int) -> bool:
    """Whether a field says that there are more than so many records."""
    if value.isdigit():
        return _TOTAL.search(key) is not None and int(value) > count
    is_said = value in ("true", "True") or value not in NOTHING
    return _NEXT.search(key) is not None and is_said and len(value) <= MAX_CURSOR


MAX_BESIDE, MAX_CURSOR = 2, 40
"""Most such fields, and characters of one that names a page. With all short fields up to 75
characters, three of four sets of sessions that nobody tuned for lose .0008 to .0028 of what the
next step needs; with these one loses .0003, and one gains .0007."""
_QUOTE = '"'
_TOTAL = re.compile(r"total|count|found|matches|hits", re.IGNORECASE)
_NEXT = re.compile(r"next|cursor|continu|has_?more", re.IGNORECASE)
"""Parts of the names under which APIs tell how many there are and where the list goes on."""


def first_line(decoded: Decoded) -> str:
    """The beginning of what a text says: of the string that makes most of it, of the title of a
    page in HTML, or of the status in JSON and its longest sentence, with their keys. Empty for JSON
    without them."""
    while decoded.literals:
        largest = max(decoded.literals, key=lambda literal: literal.end - literal.start)
        if 2 * (largest.end - largest.start) < len(decoded.text):
            break
        decoded = largest.held
    text = decoded.text[:READ].lstrip()
    if decoded.form == "text":
        title = _TITLE.search(text) if _PAGE.match(text) else None
        said = text.rstrip() if title is None else title[1].strip()
        is_line = len(said) <= ALONE and len(said.splitlines()) == 1
        return said if is_line else _cut(_without_preamble(said))
    said = [found for found in _STRING.finditer(text) if found[2].count(" ") >= BLANKS]
    longest = max(said, key=lambda found: len(found[2]), default=None)
    told = [_outcome(text), "" if longest is None else _cut(f"{longest[1]}: {longest[2]}")]
    return " \u2026 ".join(filter(None, told))


def verdict_of(text: str, outline: Outline) -> str:
    """Of the lines of a printed text that are shown with any part of it, one that says how the call
    ended, else the first of several words; empty for a text without one."""
    shown = (
        text[part.start : part.end].strip()
        for part in outline.root.children
        if part.identifies and not part.children
    )
    lines = [line for one in shown for line in one.splitlines() if " " in line.strip()]
    said = max(filter(is_verdict, lines), key=len, default=lines[0] if lines else "")
    return _cut(said.strip("= "))


def _without_preamble(text: str) -> str:
    """The text from its first line on that says something by itself; all of it if there is none
    near its beginning."""
    body = _BODY.search(text) if text.startswith("<") else None
    rest = text if body is None else text[body.end() :]
    lines = rest.splitlines()
    for at, line in enumerate(lines[:PREAMBLE]):
        if line.strip() and not _PREAMBLE.fullmatch(line.strip()):
            return "\n".join(lines[at:]).strip()
    return text


PREAMBLE = 12
"""How many of the first lines are checked for saying nothing by themselves."""
_BODY = re.compile(r"<(?:[\w-]{1,40}:)?[Bb]ody\b[^<>]{0,400}>")
_COLUMN = "[A-Z][A-Z0-9()%/_-]*(?: [A-Z0-9()%/_-]+)*"
_PREAMBLE = re.compile(
    r"\W*|<[?!][^<>]*>|</?[\w:.-]{1,80}(?:\s+xmlns(?::[\w-]+)?=(?:\"[^\"]*\"|'[^']*'))*\s*>"
    r"|[\w.\"'-]{1,60}\s?[:={(\[]{1,3}|total \d+"
    rf"|{_COLUMN}(?:(?:\s{{2,}}|\t){_COLUMN}){{2,}}"
)
"""A declaration, a tag or key that only opens what follows, the size of a listing, the names of
columns."""


def _outcome(text: str) -> str:
    """The field of JSON that says how the call ended, and the id of what it is about, in their
    order. A mere yes or no, which needs no fence, is told without the id: if many calls each fit
    into a few tokens, telling all of them says more than the ids of some."""
    status = _outer(STATUS, text)
    is_told = status is not None and not is_flag(f"{status[1]}: {status[2]}")
    about = _outer(_ID, text) if is_told else None
    found = sorted(filter(None, (status, about)), key=re.Match.start)
    return " \u2026 ".join(f"{one[1]}: {one[2].strip(chr(34))}" for one in found)


def _outer(field: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first such field in the outermost object or one level below."""
    for found in field.finditer(text):
        above = text[: found.start()]
        depth = above.count("{") - above.count("}")
        if depth <= DEEPEST and above.count("[") == above.count("]"):
            return found
    return None


_ID = re.compile(
    r'"(id|number|(?:[A-Za-z]\w{0,30}?(?:_|(?<=[a-z])(?=[IN])))(?:[Ii]d|number|Number|no))"\s*:\s*'
    r'("[^"\\\s]{1,40}"|\d{1,20}\b)'
)
"""A field with a name of an id, and a value without blanks."""


def is_flag(line: str) -> bool:
    """Whether a line is only a known name with a yes or no: it has no words of the text's own that
    would need a fence, which costs more than it."""
    return _FLAG.fullmatch(line) is not None


_FLAG = re.compile("(?:ok|success|accepted|succeeded): (?:true|false)")
DEEPEST = 2
"""Levels of objects within which a status is that of the call."""


def _cut(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    if len(line) > WHOLE and not (len(line) <= ALONE and tells_error(line, level_of(line))):
        start = line.rfind(" ", 0, CUT_LENGTH) + 1
        word = line[start:].partition(" ")[0]
        if len(word) > CUT_LENGTH - CUT_LENGTH // 2 and start <= CUT_LENGTH // 2:
            line = line[:start] + _shortened(word, WHOLE - start)
        else:
            line = line[: start - 1] if start else line[:CUT_LENGTH]
    return line.rstrip() if any(map(str.isalnum, line)) else ""


_HOST = re.compile(r"[A-Za-z][\w+.-]*://[^/?#]+/|[/\\]?[^/\\]+[/\\]")


def _shortened(word: str, room: int) -> str:
    """The beginning and the end of a long word: of a path or an address, its root or its host and
    its last segments."""
    if len(word) <= room:
        return word
    room -= len(_MARK.format(len(word)))
    host = _HOST.match(word)
    head = host[0] if host is not None and 3 * len(host[0]) <= 2 * room else word[: room // 2]
    tail = word[len(head) - room :]
    begins = re.search(r"[/\\]", tail[:-1])
    if begins is not None:
        tail = tail[begins.start() :]
    return f"{head}{_MARK.format(len(word) - len(head) - len(tail))}{tail}"


_MARK = " \u2026 {} characters \u2026 "
