"""Blocks of lines, each a line with those that are indented below it: what separates them, the
lines that tell one from its neighbours, and the line that closes it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from weft.passages.identifying_names import IDS, NAMES, TITLES
from weft.passages.lines import IndentedLine
from weft.passages.part import Part
from weft.passages.sentences import MIN_LEAF_LENGTH

MAX_IDENTIFIERS = 3
"""Most lines that identify a block, beside one that others begin with, too."""
KEY = re.compile(r"[ \t]*(?:- )?([\w.-]{1,40}):[ \t]+\S")
"""A field of a record in lines."""
DISTINCT = 0.9
"""Lines that tell this share of the blocks apart tell enough."""
LOOKED_AT = 24
"""Lines of a block among which one is looked for that tells it from others."""
_TAG = re.compile(r"\s*<([A-Za-z_][\w:.-]{0,80})")


def separators_of(text: str, lines: Sequence[IndentedLine]) -> frozenset[IndentedLine]:
    """Lines such as `----` between records; none unless the same field begins what follows each: a
    line below a heading looks alike."""
    if not lines or _RULE.search(text, lines[0].start, lines[-1].end) is None:
        return frozenset()
    found = [at for at, line in enumerate(lines) if _RULE.match(text, line.start, line.end)]
    if len(found) < MIN_SEPARATORS:
        return frozenset()
    filled = [line for line in lines if not line.is_blank]
    places = {line: at for at, line in enumerate(filled, 1)}
    below = (filled[place] for at in found if (place := places[lines[at]]) < len(filled))
    keys = [KEY.match(text, line.start, line.end) for line in below]
    names = {key[1] if key is not None else None for key in keys}
    is_list = len(names) == 1 and None not in names
    return frozenset(lines[at] for at in found) if is_list else frozenset()


MIN_SEPARATORS = 2
"""Lines of one sign that separate records; a single one may be any line."""
_RULE = re.compile(r"^([-=*_~#])\1{2,}[ \t\r]*$", re.MULTILINE)


def head_of(text: str, group: Sequence[IndentedLine]) -> int:
    """How many first lines are shown with any of the lines below them: one, and in a record written
    in lines also the names and numbers that follow."""
    count = 1
    for line in group[1 : min(MAX_IDENTIFIERS, len(group) - 1)]:
        key = None if line.is_item else KEY.match(text, line.start, line.end)
        if key is None or line.end - line.start > MIN_LEAF_LENGTH or not NAMES.search(key[1]):
            break
        count += 1
    return count


class Head(NamedTuple):
    """What is shown with any line of a block."""

    lines: int
    """How many first lines."""
    named: int = 0
    """The number of a line below them; 0 for none."""


def heads_of(text: str, groups: Sequence[Sequence[IndentedLine]]) -> list[Head]:
    """The heads of several neighbours. Those that begin with the same line, as the elements of a
    list in XML do, need the next lines until these tell them apart, or the first line below that
    does."""
    heads = [Head(head_of(text, group)) for group in groups]
    if len(groups) < 2:
        return heads
    alike = defaultdict[str, list[int]](list)
    for at, group in enumerate(groups):
        if heads[at].lines == 1 and len(group) > 2:
            alike[text[group[0].start : group[0].end].strip()].append(at)
    for places in filter(_are_several, alike.values()):
        held = [groups[at] for at in places]
        counts = _telling(text, held)
        named = [0] * len(held) if any(counts) else _named(text, held)
        for at, count, line in zip(places, counts, named, strict=True):
            heads[at] = Head(1 + count, line)
    return heads


def with_id(text: str, group: Sequence[IndentedLine], head: Head) -> Head:
    """The head of a record with the line that holds its id, wherever it stands; of a record without
    a name, with its name, address or title."""
    if head.named:
        return head
    held = [KEY.match(text, line.start, line.end) for line in group[: head.lines]]
    names = [key[1] for key in held if key is not None]
    if any(IDS.search(name) for name in names):
        return head
    wanted = (IDS,) if any(NAMES.search(name) for name in names) else (NAMES, TITLES)
    for number, line in _single(group):
        key = KEY.match(text, line.start, line.end) if number >= head.lines else None
        if key is not None and any(one.search(key[1]) for one in wanted):
            return Head(head.lines, number)
    return head


def _are_several(places: Sequence[int]) -> bool:
    return len(places) > 1


def _named(text: str, groups: Sequence[Sequence[IndentedLine]]) -> list[int]:
    """The number of the line in each group that holds the first element which tells most of them
    apart; 0 for none."""
    values = defaultdict[str, dict[int, str]](dict)
    lines = defaultdict[str, dict[int, int]](dict)
    for at, group in enumerate(groups):
        for number, name in (*_elements(text, group), *_inner_names(text, group)):
            if at not in lines[name]:
                lines[name][at] = number
                values[name][at] = text[group[number].start : group[number].end].strip()
    for name, held in values.items():
        if len(set(held.values())) >= DISTINCT * len(groups):
            return [lines[name].get(at, 0) for at in range(len(groups))]
    return [0] * len(groups)


def _elements(text: str, group: Sequence[IndentedLine]) -> Iterator[tuple[int, str]]:
    """The elements of XML right below the first line, each with its line's number."""
    found = ((number, tag_of(text, line)) for number, line in _single(group))
    return ((number, tag) for number, tag in found if tag)


def _inner_names(text: str, group: Sequence[IndentedLine]) -> Iterator[tuple[int, str]]:
    """The fields that identify something, however deep, as `metadata: name:` of YAML does, each
    with its line's number."""
    for number, line in enumerate(group[1:LOOKED_AT], 1):
        key = (
            KEY.match(text, line.start, line.end)
            if line.end - line.start <= MIN_LEAF_LENGTH
            else None
        )
        if key is not None and NAMES.search(key[1]):
            yield number, f"{line.indent} {key[1]}"


def _single(group: Sequence[IndentedLine]) -> Iterator[tuple[int, IndentedLine]]:
    """The short lines right below the first of a group, with nothing below themselves, and their
    numbers; of a long group those of its beginning."""
    indent = group[1].indent
    for number, (line, following) in enumerate(pairwise([*group[1:LOOKED_AT], group[0]]), 1):
        is_short = line.end - line.start <= MIN_LEAF_LENGTH
        if line.indent == indent and is_short and following.indent <= indent and not line.is_blank:
            yield number, line


def _telling(text: str, groups: Sequence[Sequence[IndentedLine]]) -> list[int]:
    """How many lines below the first of each group tell it from the others; none if no lines do."""
    fields = [list(_fields(text, group)) for group in groups]
    best, most = 0, 1
    for count in range(1, MAX_IDENTIFIERS + 1):
        told = len({tuple(held[:count]) for held in fields if held})
        if told > most:
            best, most = count, told
        if told >= DISTINCT * len(groups):
            break
    return [min(best, len(held)) for held in fields]


def _fields(text: str, group: Sequence[IndentedLine]) -> Iterator[str]:
    """The lines below the first that hold one short thing each, as far as they could tell a block
    from others; at least one more is below them."""
    outer, indent = group[0].indent, group[1].indent
    for line, following in pairwise(group[1 : 2 + MAX_IDENTIFIERS]):
        if line.is_blank or line.indent != indent or line.end - line.start > MIN_LEAF_LENGTH:
            return
        if not outer < following.indent <= indent:
            return
        yield text[line.start : line.end].strip()


def without_closing(group: Sequence[IndentedLine]) -> int:
    """How many lines of a block come before the one that closes it, and before blank ones around
    that."""
    end = len(group)
    while end > 1 and (group[end - 1].is_blank or _closes(group, end - 1)):
        end -= 1
    return end if any(line.closes for line in group[end:]) else len(group)


def _closes(group: Sequence[IndentedLine], at: int) -> bool:
    return group[at].closes and group[at].indent <= group[0].indent


def with_closing_lines(parts: Sequence[Part], end: int, count: int) -> list[Part]:
    """The same parts; the last line of the last one is followed by `count` that close the block."""
    if not parts or not count:
        return list(parts)
    *before, last = parts
    if last.children and last.unit in _BLOCKS:
        children = tuple(with_closing_lines(last.children, end, count))
        return [*before, msgspec.structs.replace(last, end=end, children=children)]
    if last.children or last.unit != "line":
        return [*parts, Part(last.end, end, "line", count)]
    return [*before, msgspec.structs.replace(last, end=end, count=last.count + count)]


_BLOCKS = frozenset({"block", "item"})


def tag_of(text: str, line: IndentedLine) -> str:
    """The name of the element that begins in a line, empty for none."""
    if text.find("<", line.start, line.end) < 0:
        return ""  # most lines
    found = _TAG.match(text, line.start, line.end)
    return found[1] if found is not None else ""
