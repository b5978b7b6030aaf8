"""Puts chosen parts of a text together again, each exact and in its place. Every gap is marked with
what is missing and how much of it."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from weft.compiler.profiles import MARK_COST
from weft.passages.json_unquoted import unquoted
from weft.passages.literals import Decoded
from weft.passages.part import Family, Outline, Part, leaves

_NUMBERED = re.compile(r"[ \t]*(\d{1,7})([:|\t \u2192])")
"""A line that begins with its number, as editors and `grep -n` write it."""
_PLURAL = {"entry": "entries"}
_UNIT_NAMES = {"node": "element", "item": "record"}
"""Units with other names in marks. Inside, they differ from elements and records of JSON, which
commas separate."""
_WHOLE = frozenset({"node", "item"})
"""Units that are counted whole, whatever is in them."""
_PROSE = frozenset({"paragraph", "sentence"})
"""Units of a text whose headings are paragraphs; other headings are lines."""


def assembled_text(text: str, outline: Outline, chosen: Collection[int]) -> str:
    """The chosen leaves of a `readable` text, under the headings and keys that they need.

    JSON is shown without unneeded quotes, see `unquoted`.
    """
    assembling = _Assembling(text, outline, frozenset(chosen))
    assembling.part(outline.root)
    return _with_wrapper(assembling.text(), outline.wrapper)


def _with_wrapper(text: str, mark: str) -> str:
    return f"{text.rstrip()} {mark}" if mark else text


def unquoted_text(decoded: Decoded) -> str:
    """The whole text of an item without an outline, without its wrapper, with its strings decoded
    and without unneeded quotes in JSON."""
    write = str if decoded.form == "text" else unquoted
    pieces: list[str] = []
    at = 0
    for literal in decoded.literals:
        start, end = literal.start - literal.quotes, literal.end + literal.quotes
        quote, closing = decoded.text[start : literal.start], decoded.text[literal.end : end]
        held = literal.held.text if literal.is_exact else unquoted_text(literal.held)
        pieces += (write(decoded.text[at:start]), quote, held, closing)
        at = end
    return _with_wrapper("".join((*pieces, write(decoded.text[at:]))), decoded.wrapper)


class _Assembling:
    def __init__(self, text: str, outline: Outline, chosen: Collection[int]) -> None:
        self._text = text
        self._is_json = outline.is_json
        self._is_call = outline.root.unit == "call"
        self._has_literals = outline.has_literals
        self._families = outline.families
        self._chosen = sorted(chosen)
        self._pieces: list[str] = []
        self._missing: list[Part] = []
        """Lines and paragraphs left out since the last piece; they share one mark."""
        self._total = 0
        """How many elements the list has that contains all of these; 0 if no single list does."""

    def text(self) -> str:
        """The assembled text."""
        blank = " \n" if self._missing else "\n"  # behind a mark, the space before what follows
        self._mark()
        return "".join(self._pieces).rstrip(blank)

    def part(self, part: Part) -> None:
        """Add the chosen leaves of a part that has children."""
        family = self._families[id(part)]
        first, last = family.firsts[0], family.firsts[-1]
        begin, end = bisect_left(self._chosen, first), bisect_left(self._chosen, last)
        # Its strings may hold another form.
        if end - begin == last - first and not self._has_literals:
            self._exact(part.start, part.end, part.unit)
            return
        if part.opening:
            self._exact(part.start, part.start + part.opening, part.unit)
        self._children(part.children, family, map(family.child_of, self._chosen[begin:end]))
        if part.closing:
            self._exact(part.end - part.closing, part.end, part.unit)

    def _children(self, children: Sequence[Part], family: Family, chosen: Iterable[int]) -> None:
        following = 0
        for place in sorted({*family.identifying, *chosen}):
            child = children[place]
            if following < place:
                self._gap(children, family, following, place)
            if child.unit in _JSON_UNITS and place:
                self._add(", ")
            following = place + 1
            if child.children:
                self.part(child)
            else:
                self._exact(child.start, child.end, child.unit)
        if following < len(children):
            self._gap(children, family, following, len(children))

    def _exact(self, start: int, end: int, unit: str) -> None:
        text = self._text[start:end]
        if self._is_json and unit in _JSON_PARTS:
            text = _unquoted(text) if len(text) <= _SHORT else unquoted(text)
        self._add(text)

    def _shorter(self, gap: Sequence[Part], mark: str) -> str:
        """The text of left-out fields or elements if it costs no more than their mark, else ''."""
        start, end = gap[0].start, gap[-1].end
        if gap[0].unit not in _JSON_UNITS or end - start > 2 * (len(mark) + MARK_COST):
            return ""
        held = unquoted(self._text[start:end])
        return held if len(held) <= len(mark) + MARK_COST else ""

    def _add(self, piece: str) -> None:
        self._mark()
        self._pieces.append(piece)

    def _gap(self, children: Sequence[Part], family: Family, start: int, end: int) -> None:
        """Leave out the children from `start` up to `end`, exclusive."""
        unit, gap = children[start].unit, children[start:end]
        if unit not in _JSON_UNITS and unit != "row":
            is_list = unit == "node" and family.units == {unit} and not self._missing
            self._total = family.counts[-1] if is_list else 0
            self._missing += gap
            return
        if family.units == {unit}:
            count = family.counts[end] - family.counts[start]
            mark = _mark_of(self._text, gap, count, family.counts[-1], self._is_call)
        else:
            mark = gap_mark(self._text, gap, family.counts[-1])
        held = self._shorter(gap, mark)
        if held:
            self._add(f", {held}" if start else held)
            return
        if unit == "row":
            self._left_out(gap, mark, True)
        else:
            self._add(f", {mark}" if start else mark)

    def _mark(self) -> None:
        """Mark the lines that are missing here."""
        if self._missing:
            gap, self._missing = self._missing, []
            has_lines = self._text[gap[0].start : gap[-1].end].endswith("\n")
            self._left_out(gap, gap_mark(self._text, gap, self._total), has_lines)

    def _left_out(self, gap: Sequence[Part], mark: str, has_lines: bool) -> None:
        """Add the mark of lines, rows or paragraphs, or these themselves if they cost no more."""
        start, end = gap[0].start, gap[-1].end
        longest = len(mark) + MARK_COST
        if end - start <= 2 * longest and len(self._text[start:end].strip()) <= longest:
            self._pieces.append(self._text[start:end])
        else:
            self._lined(mark, has_lines)

    def _lined(self, mark: str, has_lines: bool) -> None:
        """Add a mark, as a separate line if whole lines are missing."""
        before = self._pieces[-1][-1:] if self._pieces else "\n"
        if before == "\n":
            self._pieces.append(f"{mark}\n" if has_lines else f"{mark} ")
        else:
            space = "" if before == " " else " "
            self._pieces.append(f"{space}{mark}\n" if has_lines else f"{space}{mark} ")


REMEMBERED, _SHORT = 1_024, 1_000
"""How many parts' unquoted texts are cached, and up to which length: the budget fit assembles the
same parts for every size that it tries."""
_unquoted = lru_cache(maxsize=REMEMBERED)(unquoted)

_JSON_PARTS = frozenset({"record", "field", "element", "call"})
_JSON_UNITS = frozenset({"record", "field", "element"})


def gap_mark(text: str, gap: Sequence[Part], total: int = 0) -> str:
    """`… 12 of 14 records …`, `… 2 fields: dob, email …`, `… lines 40-93 …`, `… 3 paragraphs …`."""
    unit = gap[0].unit
    counted = (*_JSON_UNITS, "row", *["node"] * (total > 0))
    if unit in counted and all(part.unit == unit for part in gap):
        return _mark_of(text, gap, sum(part.count for part in gap), total)
    counts: dict[str, int] = {}
    for part in gap:
        for held, count in _units(text, part):
            counts[held] = counts.get(held, 0) + count
    if set(counts) == {"line"}:
        numbers = _numbers(text, gap)
        if numbers is not None:
            return f"… lines {numbers[0]}-{numbers[1]} …"
    listed = ", ".join(f"{count} {_unit_name(unit, count)}" for unit, count in counts.items())
    return f"… {listed} …"


def _units(text: str, part: Part) -> Iterator[tuple[str, int]]:
    """The units in which a part is counted, each with its number; a block or a section counts as
    its heading and its content."""
    if part.unit in _WHOLE or not part.children:
        yield part.unit, part.count
        return
    heading = text.count("\n", part.start, part.start + part.opening)
    if heading:
        is_prose = next(leaves(part)).unit in _PROSE
        yield ("paragraph", 1) if is_prose else ("line", heading)
    for child in part.children:
        yield from _units(text, child)


def _mark_of(text: str, gap: Sequence[Part], count: int, total: int, is_call: bool = False) -> str:
    """The mark for `count` records, fields, elements or rows."""
    unit = gap[0].unit
    if unit == "field":
        names = _field_names(text, gap, count, is_call)
        return f"… {count} {_unit_name(unit, count)}{': ' * bool(names)}{', '.join(names)} …"
    return f"… {count} of {total} {_unit_name(unit, total)} …"


_json = json.JSONDecoder()
_KEY = re.compile(r'[\s,]*"([A-Za-z_][A-Za-z0-9_-]{0,31})"\s*:\s*')
MAX_NAMED_FIELDS = 8
"""Most left-out fields that a mark names; the reader can then ask for them."""


def _field_names(text: str, gap: Sequence[Part], count: int, is_call: bool) -> list[str]:
    """The names of left-out fields; none if they are many, or if one is not a plain word. Small
    fields of a record that share a part are only counted: with their names, prompts of 500 tokens
    of tau-bench lose .019 of the values that a next call copies."""
    if count > MAX_NAMED_FIELDS or (count > len(gap) and not is_call):
        return []
    names = [name for part in gap for name in _keys(text, part)]
    return names if len(names) == count else []


def _keys(text: str, part: Part) -> Iterator[str]:
    """The names of the fields in a part, up to the first that is not a plain word."""
    at = part.start
    for number in range(part.count):
        key = _KEY.match(text, at, part.end)
        if key is None:
            return
        yield key[1]
        if number + 1 < part.count:
            try:
                _, at = _json.raw_decode(text, key.end())
            except ValueError:
                return


def _numbers(text: str, gap: Sequence[Part]) -> tuple[int, int] | None:
    """The numbers that the first and the last line of a gap begin with; None without numbers, and
    if they are not those of the lines: the years of a series are data."""
    inside = text[gap[0].start : gap[-1].end].rstrip("\n")
    first = _NUMBERED.match(inside)
    last = _NUMBERED.match(inside, inside.rfind("\n") + 1)
    if first is None or last is None:
        return None
    if first[2] == " " and not _BEGINS_AT_1.match(text):
        return None
    begin, end, lines = int(first[1]), int(last[1]), inside.count("\n")
    return (begin, end) if end - begin == lines > 0 else None


_BEGINS_AT_1 = re.compile(r"[ \t]*1 ")


def _unit_name(unit: str, count: int) -> str:
    unit = _UNIT_NAMES.get(unit, unit)
    return unit if count == 1 else _PLURAL.get(unit, f"{unit}s")
