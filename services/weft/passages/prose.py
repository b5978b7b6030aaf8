"""Splits text by its lines: sections under their headings, paragraphs, hunks of code, sentences of
a long line. Line breaks may be real or escaped (`\\n` inside a quoted text)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from weft.passages.markup import split_markup
from weft.passages.part import NAMES, Part
from weft.passages.ruled import Ruled, ruled_tables, with_plain_rules
from weft.passages.sentences import LEAST, MOST, sentences
from weft.passages.table import LEAST_ROWS, ruled_part

HUNK = 320
"""Most characters of a leaf of code, a log or a listing."""
DEEPEST = 12
"""Most levels of indentation that are split."""
PROSE_LINE = 90
"""Least mean characters per line of prose, which is counted in paragraphs instead of lines."""

_BREAK = re.compile(r"\r?\n|(?:\\r)?(?<!\\)\\++n")
_HEADING = re.compile(r"[ \t]{0,3}(#{1,6})[ \t]+\S")


class _Line(msgspec.Struct, frozen=True, gc=False):
    start: int
    end: int
    """After its line break."""
    is_blank: bool
    indent: int
    level: int
    """Level of a heading; 0 for other lines."""
    opens_list: bool = False
    """It ends with a colon, as the line above a list does."""
    is_item: bool = False
    """It begins with the dash of a list."""


def split_prose(text: str) -> Part:
    """The parts of a text."""
    return Part(0, len(text), "text", 1, 0, 0, False, tuple(split_stretch(text, 0, len(text))))


def split_stretch(text: str, start: int, end: int) -> list[Part]:
    """The parts of a text between two positions."""
    lines = _lines(text, start, end)
    unit = _unit_of(lines)
    if unit.is_wide and text[start:end].lstrip()[:1] == "<":
        found = split_markup(text, start, end)
        if found:
            return found
    return _sections(text, lines, unit)


class _Unit(msgspec.Struct, frozen=True):
    """In what a text is counted, and how it is split."""

    name: str
    is_wide: bool
    """Lines are long, so that their indentation says little."""


def _unit_of(lines: Sequence[_Line]) -> _Unit:
    """Long lines are paragraphs if blank ones are between most of them; those of a log or a
    listing are lines."""
    filled = [number for number, line in enumerate(lines) if not line.is_blank]
    total = sum(lines[number].end - lines[number].start for number in filled)
    if not filled or total / len(filled) < PROSE_LINE:
        return _Unit("line", False)
    apart = sum(following - number > 1 for number, following in pairwise(filled))
    return _Unit("paragraph" if 2 * apart >= len(filled) - 1 else "line", True)


def _lines(text: str, start: int, end: int) -> list[_Line]:
    """All lines; escaped line breaks count if there are few real ones."""
    found: list[_Line] = []
    for held, following in _held(text, start, end):
        found.append(_line(text, start, held, following))
        start = following
    return found


def _held(text: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """Each line without its break, and where the next one begins."""
    if text.count("\\n", start, end) > 4 * text.count("\n", start, end):
        for match in _BREAK.finditer(text, start, end):
            yield text[start : match.start()], match.end()
            start = match.end()
        if start < end:
            yield text[start:end], end
        return
    *whole, last = text[start:end].split("\n")
    for held in whole:
        start += len(held) + 1
        yield held, start
    if last:
        yield last, end


def _line(text: str, start: int, held: str, end: int) -> _Line:
    bare = held.lstrip()
    first = bare[:1]
    if first in _MARKS or first.isdecimal():
        return _marked_line(text, start, held, end)
    return _Line(start, end, not bare, len(held) - len(bare), 0, bare.rstrip()[-1:] == ":")


def _marked_line(text: str, start: int, held: str, end: int) -> _Line:
    """A line that may be a heading, be numbered, or begin an item."""
    bare = held.lstrip()
    first = bare[:1]
    heading = _HEADING.match(held) if first == "#" else None
    level = len(heading[1]) if heading else 0
    if first in _LEVELS:
        level = _level_in_file(text, start, end, held)
    numbered = _NUMBER.match(held) if first.isdecimal() else None
    indent = numbered.end() - numbered.start(1) if numbered else len(held) - len(bare)
    content = held[numbered.end() :] if numbered else bare
    opens_list = content.rstrip()[-1:] == ":"
    return _Line(start, end, not content, indent, level, opens_list, content.startswith("- "))


_LEVELS = frozenset("d-@[")
"""How the lines begin that head others in a diff or an INI file."""
_MARKS = _LEVELS | {"#"}
"""With any other sign but a digit, a line is text."""


def _level_in_file(text: str, start: int, end: int, line: str) -> int:
    """The level of a line that heads others in a diff or an INI file, 0 for other lines."""
    if line.startswith("diff --git "):
        return 1
    if line.startswith("--- ") and text.startswith("+++ ", end):
        return 0 if "diff --git " in text[max(start - DIFF_HEADER, 0) : start] else 1
    if line.startswith("@@ -"):
        return 2
    return 1 if line.startswith("[") and _INI_SECTION.match(line) else 0


DIFF_HEADER = 240
"""Characters between the first line about a file in a diff of git and its `---` line."""
_INI_SECTION = re.compile(r"\[[A-Za-z][\w .:/\"'-]{0,80}\]\s*\Z")


_NUMBER = re.compile(r"[ \t]{0,8}\d{1,7}[:|\t\u2192]([ \t]*)")
"""The number that editors, `cat -n` and `grep -n` write before a line, and its indentation."""


def _sections(text: str, lines: Sequence[_Line], unit: _Unit) -> list[Part]:
    """The text before the first heading, then a part for each heading of the highest level."""
    levels = [line.level for line in lines if line.level]
    if not levels:
        return _leaves(text, lines, unit)
    top = min(levels)
    starts = [at for at, line in enumerate(lines) if line.level == top]
    parts = _leaves(text, lines[: starts[0]], unit)
    if starts[0] and any(line.level for line in lines[: starts[0]]):
        parts = _sections(text, lines[: starts[0]], unit)
    for first, last in zip(starts, [*starts[1:], len(lines)], strict=True):
        parts += _section(text, lines[first:last], unit)
    return parts


def _section(text: str, lines: Sequence[_Line], unit: _Unit) -> list[Part]:
    start, end = lines[0].start, lines[-1].end
    count = sum(not line.is_blank for line in lines)
    if end - start <= LEAST or len(lines) == 1:
        return [Part(start, end, unit.name, _count(lines, unit))]
    body = 1
    while body < len(lines) and lines[body].is_blank:
        body += 1
    children = _sections(text, lines[body:], unit) if body < len(lines) else []
    if not children:
        return [Part(start, end, unit.name, count)]
    return [Part(start, end, "section", 1, lines[body - 1].end - start, 0, False, tuple(children))]


def _leaves(text: str, lines: Sequence[_Line], unit: _Unit) -> list[Part]:
    """The parts of lines without headings: tables, and what stands around them."""
    parts: list[Part] = []
    at = 0
    for table in _tables(text, lines):
        parts += _without_tables(text, lines[at : table.first], unit)
        held = lines[table.first : table.end]
        starts = [*(line.start for line in held), held[-1].end]
        written = with_plain_rules(text[starts[0] : starts[-1]])
        plain = [written[line.start - starts[0] : line.end - starts[0]] for line in held]
        names, rows = table.names - table.first, table.rows - table.first
        parts.append(ruled_part(plain, starts, Ruled(0, names, rows, len(held))))
        at = table.end
    return parts + _without_tables(text, lines[at:], unit)


def _tables(text: str, lines: Sequence[_Line]) -> list[Ruled]:
    """The tables with a few rows at least; of a smaller one, all is shown together anyway."""
    if not lines:
        return []
    start, end = lines[0].start, lines[-1].end
    written = with_plain_rules(text[start:end])
    if "--" not in written:
        return []
    found = ruled_tables([written[line.start - start : line.end - start] for line in lines])
    return [table for table in found if table.end - table.rows >= LEAST_ROWS]


def _without_tables(text: str, lines: Sequence[_Line], unit: _Unit) -> list[Part]:
    return _paragraphs(text, lines, unit) if unit.is_wide else _nested(text, lines, 0)


def _nested(text: str, lines: Sequence[_Line], depth: int) -> list[Part]:
    """Split lines by indentation: a line is shown with any of the lines indented below it; small
    neighbours are one leaf."""
    if not lines:
        return []
    stanzas = list(_stanzas(lines)) if depth == 0 else []
    if len(stanzas) > 1:
        return _of_stanzas(text, stanzas)
    parts: list[Part] = []
    groups = list(_indented(lines))
    are_records = _are_records(text, groups)
    for group, is_record in zip(groups, are_records, strict=True):
        start, end = group[0].start, group[-1].end
        last = parts[-1] if parts else None
        if is_record and depth < DEEPEST:
            parts.append(_record(text, group, depth + 1))
        elif end - start <= HUNK:
            fits = last is not None and not last.children and end - last.start <= HUNK
            if last is not None and fits:
                parts[-1] = Part(last.start, end, "line", last.count + len(group))
            else:
                parts.append(Part(start, end, "line", len(group)))
        elif len(group) == 1 or depth >= DEEPEST:
            parts += _cut(text, group, _Unit("line", False))
        else:
            below = _nested(text, group[_head(text, group) :], depth + 1)
            parts.append(_block(text, group, below))
    return parts


def _stanzas(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Groups of lines between blank ones, each from a least indented line: the records of many
    programs' output."""
    least = min([line.indent for line in lines if not line.is_blank], default=0)
    stanza: list[_Line] = []
    for line in lines:
        if stanza and stanza[-1].is_blank and not line.is_blank and line.indent == least:
            yield stanza
            stanza = []
        stanza.append(line)
    if stanza:
        yield stanza


def _of_stanzas(text: str, stanzas: Sequence[list[_Line]]) -> list[Part]:
    """Small stanzas share a leaf, which holds no lines of a large one. Of a large one, the first
    line is shown with any other."""
    parts: list[Part] = []
    is_open = False
    for stanza, is_record in zip(stanzas, _are_records(text, stanzas), strict=True):
        start, end = stanza[0].start, stanza[-1].end
        if is_record:
            parts.append(_record(text, stanza, 1))
            is_open = False
            continue
        if end - start <= HUNK:
            if is_open and end - parts[-1].start <= HUNK:
                parts[-1] = Part(parts[-1].start, end, "line", parts[-1].count + len(stanza))
            else:
                parts.append(Part(start, end, "line", len(stanza)))
            is_open = True
            continue
        is_open = False
        rest = stanza[_head(text, stanza) :]
        if stanza[0].end - start > LEAST or rest[0].indent > stanza[0].indent:
            parts += _nested(text, stanza, 1)  # its indentation says what is shown with what
        else:
            parts.append(_block(text, stanza, _nested(text, rest, 1)))
    return parts


def _are_records(text: str, groups: Sequence[Sequence[_Line]]) -> list[bool]:
    """Which of these are the records of a list: of several items, those that say more than which
    thing they are about."""
    found = [_is_record(text, group) for group in groups]
    return found if sum(found) > 1 else [False] * len(groups)


def _is_record(text: str, group: Sequence[_Line]) -> bool:
    first = group[0]
    if len(group) == 1 or not _may_begin_record(text, first):
        return False
    head = _head(text, group)
    if head == len(group) or group[-1].end - group[head].start <= LEAST:
        return False
    if any(not line.is_blank and line.indent <= first.indent for line in group[head:]):
        return False  # several items
    if first.is_item:
        return True
    below = group[head]
    is_field = _KEY.match(text, below.start, below.end) is not None and not below.is_item
    return is_field and below.indent > first.indent


def _may_begin_record(text: str, first: _Line) -> bool:
    if first.is_item:
        return _KEY.match(text, first.start, first.end) is not None
    return _NUMBERED.match(text, first.start, first.end) is not None


_NUMBERED = re.compile(r"[ \t]*\d{1,3}[.)] +\S")


def _record(text: str, lines: Sequence[_Line], depth: int) -> Part:
    below = _nested(text, lines[_head(text, lines) :], depth)
    return _block(text, lines, below, "item")


def _block(text: str, lines: Sequence[_Line], below: Sequence[Part], unit: str = "block") -> Part:
    """Lines of which the first ones are shown with any of those below them."""
    start, first = lines[0].start, _head(text, lines)
    end = lines[first - 1].end
    # A tag with nothing but namespaces, as of an envelope, says nothing of what is in it.
    head = Part(start, end, "line", first, identifies=not says_nothing(text[start:end]))
    return Part(start, lines[-1].end, unit, children=(head, *below))


_KEY = re.compile(r"[ \t]*(?:- )?([\w.-]{1,40}):[ \t]+\S")
MOST_IDENTIFIERS = 3
"""Most lines that identify a block."""


def _head(text: str, group: Sequence[_Line]) -> int:
    """How many first lines are shown with any of the lines below them: one, and in a record written
    in lines also the names and numbers that follow."""
    count = 1
    for line in group[1 : min(MOST_IDENTIFIERS, len(group) - 1)]:
        key = None if line.is_item else _KEY.match(text, line.start, line.end)
        if key is None or line.end - line.start > LEAST or not NAMES.search(key[1]):
            break
        count += 1
    return count


def _indented(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Groups of lines that each begin with a least indented line. The items of a list are below the
    line that opens it, which YAML indents as far as them."""
    least = min([line.indent for line in lines if not line.is_blank], default=0)
    group: list[_Line] = []
    for line in lines:
        if group and line.indent == least and not (line.is_blank or _is_below(line, group[0])):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _is_below(item: _Line, line: _Line) -> bool:
    return item.is_item and line.opens_list and not line.is_item


def _paragraphs(text: str, lines: Sequence[_Line], unit: _Unit) -> list[Part]:
    parts: list[Part] = []
    for block in _blocks(lines):
        start, end = block[0].start, block[-1].end
        if end - start > MOST:
            parts += _cut(text, block, unit)
            continue
        last = parts[-1] if parts else None
        small = end - start < LEAST or (last is not None and last.size < LEAST)
        if last and small and last.unit == unit.name and end - last.start <= MOST:
            parts[-1] = Part(last.start, end, unit.name, last.count + _count(block, unit))
        else:
            parts.append(Part(start, end, unit.name, _count(block, unit)))
    return parts


def _count(lines: Sequence[_Line], unit: _Unit) -> int:
    """Lines, or paragraphs."""
    if unit.name == "line":
        return len(lines)
    filled = [not line.is_blank for line in lines]
    return max(
        1, sum(one and not before for one, before in zip(filled, [False, *filled], strict=False))
    )


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Groups of lines that end with their blank lines; blank lines at the start join the first."""
    block: list[_Line] = []
    filled = False
    for line in lines:
        if filled and block[-1].is_blank and not line.is_blank:
            yield block
            block = []
        block.append(line)
        filled = filled or not line.is_blank
    if block:
        yield block


def _cut(text: str, block: Sequence[_Line], unit: _Unit) -> Iterator[Part]:
    """Split a long block into runs of whole lines, where the indentation is least, and a line that
    is too long into its sentences."""
    rest = list(block)
    while rest:
        if rest[0].end - rest[0].start > MOST:
            line = rest.pop(0)
            found = split_markup(text, line.start, line.end)
            yield from found or sentences(text, line.start, line.end)
            continue
        end = 1
        while end < len(rest) and rest[end].end - rest[0].start <= MOST:
            end += 1
        if end < len(rest):
            end = _outermost(rest, end)
        taken, rest = rest[:end], rest[end:]
        yield Part(taken[0].start, taken[-1].end, unit.name, _count(taken, unit))


def _outermost(lines: Sequence[_Line], end: int) -> int:
    """The last of the least indented lines in the second half of those that fit."""
    least = max(end // 2, 1)
    return min(range(least, end + 1), key=lambda at: (lines[at].indent, -at))


def only_closes(text: str) -> bool:
    """Whether lines only close what others opened, with or without their numbers, or say nothing
    else by themselves."""
    if says_nothing(text):
        return True
    if len(text) > MOST_CLOSING or not any(sign in text for sign in ")]}"):
        return False
    return not any(line.lstrip(_NUMBERING).strip(_CLOSING) for line in text.splitlines())


def says_nothing(text: str) -> bool:
    """Whether a piece of markup holds only declarations, namespaces, and tags that close others."""
    return text.lstrip()[:1] == "<" and _BARE_MARKUP.fullmatch(text) is not None


_BARE_MARKUP = re.compile(
    r"(?:\s*(?:<\?[^<>]*>|<![A-Za-z][^<>]*>|</[\w:.-]{1,80}>"
    r"|<[\w:.-]{1,80}(?:\s+xmlns(?::[\w-]{1,40})?=(?:\"[^\"<>]*\"|'[^'<>]*'))+\s*>))+\s*"
)


MOST_CLOSING = 60
"""Characters of lines that may only close others."""
_NUMBERING, _CLOSING = " \t0123456789:|\u2192", " \t)]};,"
