"""Splits text by its lines: sections under their headings, paragraphs, hunks of code, sentences of
a long line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import msgspec

from weft.passages.bare_pieces import is_bare_markup
from weft.passages.blocks import (
    KEY,
    Head,
    head_of,
    heads_of,
    separators_of,
    with_closing_lines,
    with_id,
    without_closing,
)
from weft.passages.diff_hunks import hunk_parts, is_hunk, with_header_aside, with_hunks
from weft.passages.lines import IndentedLine, is_object, lines_of
from weft.passages.markup import split_markup
from weft.passages.outlier_blocks import outlier_blocks
from weft.passages.part import Part
from weft.passages.ruled import Ruled, ruled_tables, with_plain_rules
from weft.passages.sentences import MAX_LEAF_LENGTH, MIN_LEAF_LENGTH, sentences
from weft.passages.table import MIN_ROWS, ruled_part

HUNK = 320
"""Most characters of a leaf of code, a log or a listing."""
DEEPEST = 12
"""Most levels of indentation that are split."""
PROSE_LINE = 90
"""Least mean characters per line of prose, which is counted in paragraphs instead of lines."""


def split_prose(text: str) -> Part:
    """The parts of a text."""
    return Part(0, len(text), "text", 1, 0, 0, False, tuple(split_stretch(text, 0, len(text))))


def split_stretch(text: str, start: int, end: int) -> list[Part]:
    """The parts of a text between two positions."""
    lines = lines_of(text, start, end)
    if text.find("@@ -", start, end) >= 0:
        lines = with_hunks(text, lines)
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


def _unit_of(lines: Sequence[IndentedLine]) -> _Unit:
    """Long lines are paragraphs if blank ones are between most of them; those of a log or a
    listing are lines."""
    filled = [number for number, line in enumerate(lines) if not line.is_blank]
    total = sum(lines[number].end - lines[number].start for number in filled)
    if not filled or total / len(filled) < PROSE_LINE:
        return _Unit("line", False)
    apart = sum(following - number > 1 for number, following in pairwise(filled))
    return _Unit("paragraph" if 2 * apart >= len(filled) - 1 else "line", True)


def _sections(text: str, lines: Sequence[IndentedLine], unit: _Unit) -> list[Part]:
    """The text before the first heading, then a part for each heading of the highest level."""
    levels = [line.level for line in lines if line.level]
    if not levels:
        return _leaves(text, lines, unit)
    top = min(levels)
    starts = [at for at, line in enumerate(lines) if line.level == top]
    parts = _leaves(text, lines[: starts[0]], unit)
    if starts[0] and any(line.level for line in lines[: starts[0]]):
        parts = _sections(text, lines[: starts[0]], unit)
    held = [lines[first:last] for first, last in pairwise([*starts, len(lines)])]
    outliers = outlier_blocks(text, held)
    for number, section in enumerate(held):
        found = _section(text, section, unit)
        parts += _as_outliers(found) if number in outliers else found
    return parts


def _as_outliers(parts: Sequence[Part]) -> list[Part]:
    return [msgspec.structs.replace(part, is_outlier=True) for part in parts]


def _section(text: str, lines: Sequence[IndentedLine], unit: _Unit) -> list[Part]:
    start, end = lines[0].start, lines[-1].end
    if end - start <= MIN_LEAF_LENGTH or len(lines) == 1:
        return [Part(start, end, unit.name, _count(lines, unit))]
    body, is_of_diff = 1, is_hunk(text, lines[0])
    while body < len(lines) and lines[body].is_blank and not is_of_diff:
        body += 1
    if is_of_diff:
        children = hunk_parts(text, lines[body:], lambda held: _nested(text, held, 0))
    else:
        children = _sections(text, lines[body:], unit) if body < len(lines) else []
    if not children:
        return [Part(start, end, unit.name, _count(lines, unit))]
    if text.startswith("diff --git ", start):
        children = with_header_aside(text, children)
    return [Part(start, end, "section", 1, lines[body - 1].end - start, 0, False, tuple(children))]


def _leaves(text: str, lines: Sequence[IndentedLine], unit: _Unit) -> list[Part]:
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


def _tables(text: str, lines: Sequence[IndentedLine]) -> list[Ruled]:
    """The tables with a few rows at least; of a smaller one, all is shown together anyway."""
    if not lines:
        return []
    start, end = lines[0].start, lines[-1].end
    written = with_plain_rules(text[start:end])
    if "--" not in written:
        return []
    found = ruled_tables([written[line.start - start : line.end - start] for line in lines])
    return [table for table in found if table.end - table.rows >= MIN_ROWS]


def _without_tables(text: str, lines: Sequence[IndentedLine], unit: _Unit) -> list[Part]:
    if unit.is_wide and not _are_objects(text, lines):
        return _paragraphs(text, lines, unit)
    return _nested(text, lines, 0)


def _are_objects(text: str, lines: Sequence[IndentedLine]) -> bool:
    """Whether most lines are objects of JSON."""
    return 2 * sum(is_object(text, line) for line in lines) >= len(lines) > 0


def _nested(text: str, lines: Sequence[IndentedLine], depth: int) -> list[Part]:
    """Split lines by indentation: a line is shown with any of the lines indented below it; small
    neighbours are one leaf."""
    if not lines:
        return []
    separators = separators_of(text, lines) if depth == 0 else frozenset[IndentedLine]()
    stanzas = list(_stanzas(lines, separators)) if depth == 0 else []
    if len(stanzas) > 1:
        # Between separators, blank lines part what is in one stanza.
        return _of_stanzas(text, stanzas, 0 if separators else 1)
    parts: list[Part] = []
    groups = list(_indented(lines))
    heads, outliers = heads_of(text, groups), outlier_blocks(text, groups)
    are_records = _are_records(text, groups)
    for at, (group, head) in enumerate(zip(groups, heads, strict=True)):
        start, end = group[0].start, group[-1].end
        last = parts[-1] if parts else None
        if are_records[at] and depth < DEEPEST:
            parts.append(_block(text, group, head, depth + 1, "item"))
        elif end - start <= HUNK:
            fits = last is not None and not last.children and end - last.start <= HUNK
            if last is not None and fits and not last.is_outlier and at not in outliers:
                parts[-1] = Part(last.start, end, "line", last.count + len(group))
            else:
                parts.append(Part(start, end, "line", len(group)))
        elif len(group) == 1 or depth >= DEEPEST:
            parts += _cut(text, group, _Unit("line", False))
        else:
            parts.append(_block(text, group, head, depth + 1))
        if at in outliers:
            parts[-1:] = _as_outliers(parts[-1:])
    return parts


def _stanzas(
    lines: Sequence[IndentedLine], separators: Collection[IndentedLine]
) -> Iterator[list[IndentedLine]]:
    """Groups of lines between separators, or else between blank lines, each from a least indented
    line: the records of many programs' output."""
    least = min([line.indent for line in lines if not line.is_blank], default=0)
    stanza: list[IndentedLine] = []
    for line in lines:
        is_separated = stanza and (stanza[-1] in separators if separators else stanza[-1].is_blank)
        if is_separated and not line.is_blank and line.indent == least:
            yield stanza
            stanza = []
        stanza.append(line)
    if stanza:
        yield stanza


def _of_stanzas(text: str, stanzas: Sequence[list[IndentedLine]], depth: int) -> list[Part]:
    """Small stanzas share a leaf, which holds no lines of a large one. Of a large one, the first
    line is shown with any other."""
    parts: list[Part] = []
    is_open = False
    heads, are_records = heads_of(text, stanzas), _are_records(text, stanzas)
    outliers = outlier_blocks(text, stanzas)
    for at, (stanza, head) in enumerate(zip(stanzas, heads, strict=True)):
        start, end = stanza[0].start, stanza[-1].end
        is_small = end - start <= HUNK and not are_records[at]
        if is_small and is_open and at not in outliers and end - parts[-1].start <= HUNK:
            parts[-1] = Part(parts[-1].start, end, "line", parts[-1].count + len(stanza))
            continue
        found = [Part(start, end, "line", len(stanza))] if is_small else []
        found = found or _large_stanza(text, stanza, head, are_records[at], depth)
        parts += _as_outliers(found) if at in outliers else found
        is_open = is_small and at not in outliers
    return parts


def _large_stanza(
    text: str, stanza: Sequence[IndentedLine], head: Head, is_record: bool, depth: int
) -> list[Part]:
    if is_record:
        return [_block(text, stanza, head, depth, "item")]
    is_told = head.named or head.lines > head_of(text, stanza)  # by more than its first line
    is_long = stanza[0].end - stanza[0].start > MIN_LEAF_LENGTH or is_object(text, stanza[0])
    if not is_told and (is_long or stanza[head.lines].indent > stanza[0].indent):
        return _nested(text, stanza, depth)  # its indentation says what is shown with what
    return [_block(text, stanza, with_id(text, stanza, head), depth)]


def _are_records(text: str, groups: Sequence[Sequence[IndentedLine]]) -> list[bool]:
    """Which of these are the records of a list: of several items, those that say more than which
    thing they are about."""
    found = [_is_record(text, group) for group in groups]
    return found if sum(found) > 1 else [False] * len(groups)


def _is_record(text: str, group: Sequence[IndentedLine]) -> bool:
    first = group[0]
    if len(group) == 1 or not _may_begin_record(text, first):
        return False
    head = head_of(text, group)
    if head == len(group) or group[-1].end - group[head].start <= MIN_LEAF_LENGTH:
        return False
    if any(not line.is_blank and line.indent <= first.indent for line in group[head:]):
        return False  # several items
    if first.is_item:
        return True
    below = group[head]
    is_field = KEY.match(text, below.start, below.end) is not None and not below.is_item
    return is_field and below.indent > first.indent


def _may_begin_record(text: str, first: IndentedLine) -> bool:
    if first.is_item:
        return KEY.match(text, first.start, first.end) is not None
    return _NUMBERED.match(text, first.start, first.end) is not None


_NUMBERED = re.compile(r"[ \t]*\d{1,3}[.)] +\S")


def _block(
    text: str, lines: Sequence[IndentedLine], head: Head, depth: int, unit: str = "block"
) -> Part:
    """The lines as a part: its head is shown with any other line, and a closing line with the line
    before it."""
    count, named = with_id(text, lines, head) if unit == "item" else head
    last = without_closing(lines)
    last = last if last > count else len(lines)
    if named and named < last:
        below = _nested(text, lines[count:named], depth)
        below.append(Part(lines[named].start, lines[named].end, "line", identifies=True))
        below += _nested(text, lines[named + 1 : last], depth)
    else:
        below = _nested(text, lines[count:last], depth)
    start, end = lines[0].start, lines[count - 1].end
    # A tag with nothing but namespaces, as of an envelope, says nothing of what is in it.
    first = Part(start, end, "line", count, identifies=not is_bare_markup(text[start:end]))
    below = with_closing_lines(below, lines[-1].end, len(lines) - last)
    return Part(start, lines[-1].end, unit, children=(first, *below))


def _indented(lines: Sequence[IndentedLine]) -> Iterator[list[IndentedLine]]:
    """Groups of lines that each begin with a least indented line. The items of a list are below the
    line that opens it, which YAML indents as far as them."""
    least = min([line.indent for line in lines if not line.is_blank], default=0)
    group: list[IndentedLine] = []
    for line in lines:
        is_inside = line.is_blank or line.closes or (group and _is_below(line, group[0]))
        if group and line.indent == least and not is_inside:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _is_below(item: IndentedLine, line: IndentedLine) -> bool:
    return item.is_item and line.opens_list and not line.is_item


def _paragraphs(text: str, lines: Sequence[IndentedLine], unit: _Unit) -> list[Part]:
    parts: list[Part] = []
    for block in _blocks(lines):
        start, end = block[0].start, block[-1].end
        if end - start > MAX_LEAF_LENGTH:
            parts += _cut(text, block, unit)
            continue
        last = parts[-1] if parts else None
        small = end - start < MIN_LEAF_LENGTH or (last is not None and last.size < MIN_LEAF_LENGTH)
        if last and small and last.unit == unit.name and end - last.start <= MAX_LEAF_LENGTH:
            parts[-1] = Part(last.start, end, unit.name, last.count + _count(block, unit))
        else:
            parts.append(Part(start, end, unit.name, _count(block, unit)))
    return parts


def _count(lines: Sequence[IndentedLine], unit: _Unit) -> int:
    """Lines, or paragraphs."""
    if unit.name == "line":
        return len(lines)
    filled = [not line.is_blank for line in lines]
    return max(
        1, sum(one and not before for one, before in zip(filled, [False, *filled], strict=False))
    )


def _blocks(lines: Sequence[IndentedLine]) -> Iterator[list[IndentedLine]]:
    """Groups of lines that end with their blank lines; blank lines at the start join the first."""
    block: list[IndentedLine] = []
    filled = False
    for line in lines:
        if filled and block[-1].is_blank and not line.is_blank:
            yield block
            block = []
        block.append(line)
        filled = filled or not line.is_blank
    if block:
        yield block


def _cut(text: str, block: Sequence[IndentedLine], unit: _Unit) -> Iterator[Part]:
    """Split a long block into runs of whole lines, where the indentation is least, and a line that
    is too long into its sentences."""
    at = 0
    while at < len(block):
        first = block[at]
        if first.end - first.start > MAX_LEAF_LENGTH:
            found = split_markup(text, first.start, first.end)
            yield from found or sentences(text, first.start, first.end)
            at += 1
            continue
        end = at + 1
        while end < len(block) and block[end].end - first.start <= MAX_LEAF_LENGTH:
            end += 1
        if end < len(block):
            end = _outermost(block, at, end)
        taken, at = block[at:end], end
        yield Part(taken[0].start, taken[-1].end, unit.name, _count(taken, unit))


def _outermost(lines: Sequence[IndentedLine], start: int, end: int) -> int:
    """The last of the least indented lines in the second half of those that fit."""
    least = start + max((end - start) // 2, 1)
    return min(range(least, end + 1), key=lambda at: (lines[at].indent, -at))
