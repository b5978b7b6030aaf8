"""What a prompt shows of an item, held against its source: every stretch stands there, in order,
and between two that do not follow each other stands a mark."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import msgspec

FENCE = re.compile(
    r"\A(?:\[flagged, [^\n]*\]\n)?<(data|message):(\d+)>\n?(.*?)\n?</\1:\2>\Z", re.DOTALL
)
HANDLE = re.compile(r" \[art:[a-z2-7]{10}\]\Z")
SUMMARY = re.compile(r"\A\(of all of it:\)\n.*\n\(parts of it:\)\n", re.DOTALL)
"""What an envelope says of all of a result, above parts of it."""
MARK = re.compile(
    r"\u2026 (?:\d[\d,]* of \d+ [a-z]+|lines \d+-\d+"
    r"|\d[\d,]* [a-z]+(?:, \d[\d,]* [a-z]+)*(?:: [\w-]+(?:, [\w-]+)*)?) \u2026"
)
"""`… 12 of 14 records …`, `… lines 40-93 …`, `… 3 paragraphs, 2 lines …`, `… 2 fields: a, b …`."""
_NAMED = re.compile(r"(\d+) fields?: (.+) \u2026")
_ELEMENTS = re.compile(
    r"\u2026 (\d[\d,]*) (?:of \d+ )?(?:fields?|records?|entries|values)(?:: .*)? \u2026"
)
"""Marks of so many elements of one object or array."""
_PUNCTUATION = frozenset('", \t\r\n')
"""What JSON may lose or gain where it is shown in parts: quotes, commas, blanks."""
_BLANK = frozenset(filter(str.isspace, map(chr, range(0x3001))))
_PRINTED_PUNCTUATION = _PUNCTUATION | {"'"}
"""The same of lists and dicts of Python."""
_COUNTED = re.compile(r"(\d[\d,]*)(?: of \d[\d,]*)? ([a-z]+)")
_IDENTIFIES = re.compile(
    r"(?:^|[_.\- ]|(?<=[a-z]))(?:id|uuid|name|number|no|key|date)$", re.IGNORECASE
)


class Shown(msgspec.Struct, frozen=True):
    """A stretch of the source that is shown, in characters."""

    start: int
    end: int


LONG_LINE = 320
"""Characters from which a line may be shown in sentences."""
SHORT = 8
"""Characters up to which a piece stands in too many places to say which record it is of."""


def inner(text: str) -> str:
    """An entry's text without fence and handle."""
    fenced = FENCE.match(text)
    return SUMMARY.sub("", HANDLE.sub("", fenced[3] if fenced else text))


WRAPPER = re.compile(
    r" \u2026 (?:MCP wrapper|in a list of one text|(?=in the field ))(?:, in a list of one text)?"
    r"(?:, 1 field: _meta)?(?P<fields>(?:(?:, )?in the field [^\u2026]+)?)"
    r"(?:, isError: true)? \u2026\Z"
)
_PRINTED = re.compile(r"""(?s)\A.*?TextContent\(type='text', text=('.*'|".*"), annotations=None""")


def _longest_of(held: object) -> str:
    """The field of an object that is a text and longer than the others; empty without one."""
    texts = held.items() if isinstance(held, dict) else ()
    named = {name: len(value) for name, value in texts if isinstance(value, str)}
    return max(named, key=named.__getitem__, default="")


def unwrapped(source: str, mark: str = "") -> str:
    """The only text in wrappers of the Model Context Protocol, in lists of one text and in fields
    of which `mark` says that a text stands there, by Python's own parsers. Raises if a wrapper says
    anything that the mark does not."""
    while True:
        printed = _PRINTED.match(source)
        if printed is not None:
            text = ast.literal_eval(printed[1])
        else:
            try:
                held = json.loads(source)
            except ValueError:
                return source
            if isinstance(held, list) and len(held) == 1 and isinstance(held[0], dict):
                is_block = {*held[0]} == {"type", "text"}
                held = {"content": held, "isError": False} if is_block else held
            content = held.get("content") if isinstance(held, dict) else None
            if not isinstance(content, list) or len(content) != 1 or "text" not in content[0]:
                longest = _longest_of(held)
                if not longest or f"in the field {longest}" not in mark:
                    return source  # that is what the only text holds
                source = held.pop(longest)
                told = [f"{name}: {json.dumps(value)}" for name, value in held.items()]
                assert f"in the field {longest}{', with ' * bool(told)}{', '.join(told)}" in mark
                continue
            (block,) = held.pop("content")
            text = block.pop("text")
            assert block.pop("type") == "text"
            said = held.pop("structuredContent", None)
            assert said is None or str(said.get("result", said)) in (text, str(json.loads(text)))
            assert not any([*block.values(), held.pop("isError") and 0])
            assert isinstance(held.pop("_meta", None), dict | None)
            assert not held
        source = text


def faults_of_parts(source: str, text: str) -> Iterator[str]:
    """What is wrong with `text`, which shows parts of `source`."""
    wrapper = WRAPPER.search(inner(text))
    if wrapper is not None:
        yield from faults_of_parts(unwrapped(source, wrapper[0]), WRAPPER.sub("", inner(text)))
        return
    is_printed = _is_printed(source)
    is_json = is_printed or _is_json(source) or _holds_json(source)
    ignored = _PRINTED_PUNCTUATION if is_printed else _PUNCTUATION if is_json else _BLANK
    pieces = MARK.split(inner(text))
    marks = ["", *MARK.findall(inner(text))]
    kept = _Normal(source, is_json, ignored)
    at, shown, is_certain, before = 0, list[Shown](), False, list[str]()
    for number, piece in enumerate(pieces):
        behind, at = at, kept.past(marks[number], at)
        if at < 0:
            yield f"names what is not left out there: {marks[number]!r}"
            return
        wanted = _normal(piece, ignored)
        if not wanted:
            before.append(marks[number] + piece)
            continue
        place = kept.behind(marks[number], wanted, behind)
        place = kept.find(wanted, at) if place is None else place
        is_last = number == len(pieces) - 1
        if is_last and kept.text.endswith(wanted) and len(kept.text) - len(wanted) >= at:
            place = len(kept.text) - len(wanted)
        if place < 0:
            yield f"not in its source, or not in order: {piece[:80]!r}"
            return
        is_first = not shown and number == 0
        if is_first and place > 0:
            yield f"its beginning is left out without a mark: {piece[:60]!r}"
        is_certain, was_certain = kept.text.count(wanted) == 1, is_certain
        if not is_json and behind and place > behind and is_certain and was_certain:
            left = source[kept.places[behind - 1] + 1 : kept.places[place]]
            yield from _miscounted([*before, marks[number]], left)
        before.clear()
        at = place + len(wanted)
        if len(wanted) > SHORT:
            shown.append(Shown(kept.places[place], kept.places[at - 1] + 1))
    is_cut_off = 0 < at < len(kept.text) and not _normal(pieces[-1], ignored)
    if not is_json and is_certain and is_cut_off:
        yield from _miscounted(before, source[kept.places[at - 1] + 1 :])
    if shown and at < len(kept.text) and _normal(pieces[-1], ignored):
        yield f"its end is left out without a mark: {pieces[-1][-60:]!r}"
    if _is_json(source):
        yield from _unidentified(source, shown)
    elif not is_json:
        yield from _broken_lines(source, shown)


def _miscounted(marks: list[str], left: str) -> Iterator[str]:
    """Marks of whole lines or rows that are not as many as are left out; blank ones may stand on
    either side of a border. What has escapes, which may be line breaks, is not checked."""
    counts = [one for mark in marks for one in _COUNTED.findall(mark)]
    if {unit.removesuffix("s") for _, unit in counts} - {"line", "row"} or "\\" in left:
        return
    between = sum(mark.count("\n") for mark in marks)  # blank lines that are shown
    told = between + sum(int(count.replace(",", "")) for count, _ in counts)
    most, least = left.count("\n") + 1 + between, left.strip().count("\n") + 1
    if counts and not least <= told <= most:
        yield f"counts wrongly: {marks!r} for {least} to {most} lines: {left[:80]!r}"


class _Normal:
    """A source as it is compared, and where its characters stand."""

    def __init__(self, source: str, is_json: bool, ignored: frozenset[str]) -> None:
        held = [(at, char) for at, char in _read(source) if char not in ignored]
        self.places = [at for at, _ in held]
        self.text = "".join(char for _, char in held)
        self._source = source
        self._is_json = is_json
        is_object = source[:1] in ("{", "[") and _is_json(source)
        self._depths, self._commas = _depths(source) if is_object else ([], frozenset[int]())
        self._strings = _strings(source) if is_object else []

    def past(self, mark: str, start: int) -> int:
        """Where what a mark leaves out ends at the earliest: behind the last of the fields that it
        names, `start` where it names none. -1 where they do not follow, in their order."""
        named = _NAMED.search(mark)
        if named is None:
            return start
        names = named[2].split(", ")
        if len(names) != int(named[1]):
            return -1
        for name in names:
            place = self.text.find(f"{name}:", start)
            if place < 0:
                return -1
            start = place + len(name) + 1
        return start

    def find(self, wanted: str, start: int) -> int:
        """Where a stretch stands; of several places in text the first that is whole lines, if any
        is: what closes a block stands in many. JSON is of values, not of lines: the first."""
        first = place = self.text.find(wanted, start)
        while place >= 0 and not self._is_json:
            before, after = self.places[place], self.places[place + len(wanted) - 1] + 1
            above, below = self._source[:before], self._source[after : after + 200]
            if above[above.rfind("\n") + 1 :].strip() == "" == below.split("\n")[0].strip():
                return place
            place = self.text.find(wanted, place + 1)
        return first

    def behind(self, mark: str, wanted: str, start: int) -> int | None:
        """Where a stretch of JSON stands behind as many elements as the mark counts of what is open
        before `start`. Null where the mark counts something else, or this is no JSON."""
        counted = _ELEMENTS.fullmatch(mark)
        if counted is None or not self._depths or not start:
            return None
        number = int(counted[1].replace(",", ""))
        before = self.places[start - 1]
        if any(begin < before < end for begin, end in self._strings):
            return None  # JSON in a string
        depth, elements, is_new = self._depths[before], 0, True
        is_behind = self.text.startswith
        for place in range(start, len(self.text)):
            between = range(before + 1, self.places[place])
            is_new |= any(at in self._commas and self._depths[at] == depth for at in between)
            if self._depths[before] == depth and elements == number and is_behind(wanted, place):
                return place
            before = self.places[place]
            if self._depths[before] < depth:
                return -1
            elements += is_new
            is_new = False
        return -1


def _depths(source: str) -> tuple[list[int], frozenset[int]]:
    """How many objects and arrays of JSON are open behind each character, and where commas stand
    outside of strings."""
    depths, depth, is_text, commas = list[int](), 0, False, list[int]()
    for found in re.finditer(r"\\.|.", source, re.DOTALL):
        char = found[0]
        if char == '"':
            is_text = not is_text
        elif not is_text:
            depth += (char in "{[") - (char in "}]")
            commas += [found.start()] if char == "," else []
        depths += [depth] * len(char)
    return depths, frozenset(commas)


def _strings(source: str) -> list[tuple[int, int]]:
    """Where the strings of JSON begin and end that hold JSON themselves."""
    found = (one.span() for one in re.finditer(r'"(?:[^"\\]|\\.)*"', source))
    return [(begin, end) for begin, end in found if source[begin + 1 : begin + 2] in ("{", "[")]


def _normal(text: str, ignored: frozenset[str]) -> str:
    return "".join(char for _, char in _read(text) if char not in ignored)


_ESCAPE = re.compile(r"\\+(?:[nrt]|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))?")
"""Backslashes, and what they write. A long string is shown without its escapes, so both sides are
compared without: line breaks and tabs left out, letters read."""


def _read(text: str) -> Iterator[tuple[int, str]]:
    """The characters that are compared, and where they stand."""
    at = 0
    for found in _ESCAPE.finditer(text):
        yield from ((place, text[place]) for place in range(at, found.start()))
        code = found[1] or found[2]
        if code:
            yield found.end() - 1, chr(int(code, 16))
        at = found.end()
    yield from ((place, text[place]) for place in range(at, len(text)))


def _holds_json(source: str) -> bool:
    """Whether a string or a long line of it is JSON: that loses quotes, commas and blanks, too."""
    quoted = re.search(r"""[=:(\[{,]\s*["'][\[{](?:\\n|\s)*\\*["\[{]""", source)
    lines = (line for line in source.split("\n") if len(line) >= LONG_LINE)
    return quoted is not None or any(line[0] in "{[" and _is_json(line) for line in lines)


def _is_printed(source: str) -> bool:
    """Whether Python printed it as a list or dict."""
    if source[:1] not in ("{", "[") or _is_json(source):
        return False
    try:
        return isinstance(ast.literal_eval(source), list | dict)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def _is_json(source: str) -> bool:
    if source[:1] not in ("{", "["):
        return source.endswith("})")  # a call
    try:
        json.loads(source)
    except ValueError:
        return False
    return True


def _unidentified(source: str, shown: list[Shown]) -> Iterator[str]:
    """Records of which another field is shown than those that say which one it is."""
    for start, end, record in _records(source):
        inside = [one for one in shown if one.end > start + 1 and one.start < end - 1]
        if not any(one.start < end - 1 and one.end > start + 1 for one in inside):
            continue
        for key, value in record.items():
            says_nothing = value is None or isinstance(value, bool | dict | list)
            if says_nothing or not _IDENTIFIES.search(key):
                continue
            written = f'"{key}"'
            place = _places_of_keys(source, start).get(key, -1)
            # Very short fields stand in so many places that a stretch may be looked for in another.
            if place < 0 or len(str(value)) > 60 or len(f"{key}:{value}") <= SHORT:
                continue
            if not any(one.start <= place + 1 and one.end > place + len(written) for one in shown):
                yield f"a record without its {key} {value!r}: {source[start : start + 60]!r}"
            break


def _places_of_keys(source: str, start: int) -> dict[str, int]:
    """Where the keys of the object that starts at a place stand, without those of objects in it."""
    decode, places, at = json.JSONDecoder().raw_decode, dict[str, int](), start + 1
    while source[at] != "}":
        place = at = _skip(source, at)
        key, at = decode(source, at)
        places.setdefault(key, place)
        _, at = decode(source, _skip(source, at))
        at = _skip(source, at)
    return places


def _skip(source: str, at: int) -> int:
    """The place after blanks, commas and colons."""
    return re.compile(r"[\s,:]*").match(source, at).end()  # type: ignore[union-attr]


def _records(source: str) -> Iterator[tuple[int, int, dict[str, object]]]:
    """The objects inside an array, with their places."""
    decode = json.JSONDecoder().raw_decode
    for found in re.finditer(r"(?<=[\[,])\s*(?=\{)|(?<=\[)(?=\{)", source):
        try:
            record, end = decode(source, found.end())
        except ValueError:
            continue
        if isinstance(record, dict):
            yield found.end(), end, record


def _broken_lines(source: str, shown: list[Shown]) -> Iterator[str]:
    """Stretches that begin or end within a line, where the line is short."""
    for one in shown:
        for edge, at in (("begins", one.start), ("ends", one.end)):
            inside = max(at - (edge == "ends"), 0)
            line_start = source.rfind("\n", 0, inside) + 1
            line_end = source.find("\n", inside)
            line = source[line_start : len(source) if line_end < 0 else line_end]
            outside = line[: at - line_start] if edge == "begins" else line[at - line_start :]
            if outside.strip(" \t\r\n\\") and len(line) < LONG_LINE and "\\n" not in line:
                yield f"{edge} within a line: {line[:80]!r}"
