"""Splits JSON by its structure: an array into its elements, an object into its fields. What is
shown is what was written."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import msgspec

from weft.passages.json_identifiers import identified_by_words, identifying_fields, link_fields
from weft.passages.json_outcome import outcome_fields
from weft.passages.json_outliers import outlier_records
from weft.passages.json_paging import paging_fields
from weft.passages.json_values import KEY, LEAF, RECORD, Value, read_values
from weft.passages.literals import Decoded, Literal
from weft.passages.part import Part, shifted
from weft.passages.prose import split_stretch

TEXT = 640
"""A string with more characters is split into its lines."""

Split = Callable[[Decoded], tuple[Part, ...]]
"""Returns the parts of a string's content."""


OUTER = 2
"""Levels of objects, from the outermost one, whose status is that of the call."""


def split_json(decoded: Decoded, split: Split, is_reply: bool = True) -> Part | None:
    """The parts of a JSON text, None if it is too short to split. What a reply says of how its call
    ended is shown with any other part."""
    root = read_values(decoded)
    if root.members is None:
        return None
    return _Splitting(decoded, split).container(root, "element", OUTER if is_reply else 0)


def split_call(decoded: Decoded, split: Split) -> Part | None:
    """The arguments of a call written as `name({…})`, as parts."""
    text = decoded.text
    start = text.find("({") + 1
    held = tuple(Literal(one.start - start, one.end - start, one.held) for one in decoded.literals)
    inner = split_json(Decoded(text[start:-1], "json", held), split, False)
    if inner is None:
        return None
    children = tuple(shifted(child, start) for child in inner.children)
    return Part(0, len(text), "call", 1, start + inner.opening, inner.closing + 1, False, children)


class _Splitting:
    def __init__(self, decoded: Decoded, split: Split) -> None:
        self._text = decoded.text
        self._is_cut = decoded.is_cut
        self._literals = decoded.literals
        self._starts = [literal.start for literal in decoded.literals]
        self._split = split

    def container(self, value: Value, unit: str, outer: int) -> Part:
        """A container with its members as children; its opening ends with its bracket. `outer` is
        how many levels of objects from here on may say how the call ended."""
        start, end = value.start, value.end
        opening = value.bracket + 1 - start
        members = value.members or []
        children = self._fields(members, outer) if value.is_object else self._elements(members)
        closing = int(value.is_closed)
        return Part(start, end, unit, 1, opening, closing, False, tuple(children))

    def _elements(self, members: list[Value]) -> list[Part]:
        text = self._text
        records = sum(text[one.start : one.start + 1] in ("{", "[") for one in members)
        unit = "record" if 2 * records >= len(members) else "element"
        return self._grouped(members, unit, RECORD if unit == "record" else LEAF, 0)

    def _fields(self, members: list[Value], outer: int) -> list[Part]:
        return self._grouped(members, "field", LEAF, outer)

    def _grouped(self, members: list[Value], unit: str, limit: int, outer: int) -> list[Part]:
        """One part for each container that is split; small neighbours share a part."""
        text = self._text
        parts: list[Part] = []
        identifying = identifying_fields(text, members) if unit == "field" else ()
        if outer:
            identifying = (
                *identifying,
                *outcome_fields(text, members),
                *paging_fields(text, members),
            )
        outliers = outlier_records(text, members) if unit == "record" else ()
        links = link_fields(text, members) if unit == "field" else frozenset[int]()
        is_open = False
        for number, one in enumerate(members):
            start, end = one.start, one.end
            if start == end:
                continue
            large = self._large(one, start, end, unit, max(outer - 1, 0))
            is_outlier = number in outliers
            if large is not None:
                parts.append(
                    msgspec.structs.replace(large, is_outlier=True) if is_outlier else large
                )
                is_open = False
                continue
            identifies = number in identifying
            is_link = number in links and not identifies
            last = parts[-1] if parts and is_open else None
            if last and last.is_aside != is_link:
                last = None
            small = unit != "record" or (end - start <= LEAF // 2 and not is_outlier)
            if last and small and last.identifies == identifies and end - last.start <= limit:
                parts[-1] = msgspec.structs.replace(last, end=end, count=last.count + 1)
            else:
                parts.append(Part(start, end, unit, 1, 0, 0, identifies, (), is_outlier, is_link))
            is_open = small
        return identified_by_words(text, parts) if unit == "record" else parts

    def _large(self, value: Value, start: int, end: int, unit: str, outer: int) -> Part | None:
        """A member that has parts: a container, a decoded string or a long string."""
        if value.members:
            return self.container(value, unit, outer)
        at = bisect_left(self._starts, start)
        if at < len(self._starts) and self._starts[at] < end:
            literal = self._literals[at]
            children = tuple(shifted(part, literal.start) for part in self._split(literal.held))
            return Part(start, end, unit, 1, literal.start - start, end - literal.end,
                        False, children)  # fmt: skip
        if value.members is not None or end - start > TEXT:
            return self._long(start, end, unit)
        return None

    def _long(self, start: int, end: int, unit: str) -> Part:
        """A long string, split into lines and sentences inside its key and quotes."""
        text = self._text
        key = KEY.match(text, start, end) if unit == "field" else None
        inner = key.end() if key else start
        if text[inner : inner + 1] != '"':
            return Part(start, end, unit)
        closing = 0 if self._is_cut and end == len(text) else 1
        children = split_stretch(text, inner + 1, end - closing)
        return Part(start, end, unit, 1, inner + 1 - start, closing, False, tuple(children))
