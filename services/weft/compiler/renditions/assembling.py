"""Chosen parts of a text put together again: each exact and in its place, every gap marked with what
is missing and how much of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from weft.passages.json_text import unquoted
from weft.passages.part import Outline, Part, leaf_count, leaves

_NUMBERED = re.compile(r"[ \t]*(\d{1,7})(?=[:|\t \u2192])")
"""A line that begins with its number, as editors and `grep -n` write it."""
_PLURAL = {"entry": "entries"}


def assembled(text: str, outline: Outline, chosen: Collection[int]) -> str:
    """The chosen leaves of a text, under the headings and keys that they need.

    JSON stands without the quotes that it can do without, see `unquoted`.
    """
    pieces: list[str] = []
    _Assembling(text, outline.is_json, frozenset(chosen), pieces).part(outline.root, 0)
    return "".join(pieces).rstrip("\n")


class _Assembling:
    def __init__(
        self, text: str, is_json: bool, chosen: frozenset[int], pieces: list[str]
    ) -> None:
        self._text = text
        self._is_json = is_json
        self._chosen = chosen
        self._pieces = pieces

    def part(self, part: Part, number: int) -> int:
        """Add what is chosen of a part whose first leaf has this number; gives the next number."""
        count = leaf_count(part)
        held = range(number, number + count)
        if all(at in self._chosen for at in held):
            self._exact(part.start, part.end)
            return held.stop
        self._exact(part.start, part.start + part.opening)
        self._children(part, number)
        if part.closing:
            self._exact(part.end - part.closing, part.end)
        return held.stop

    def _children(self, part: Part, number: int) -> None:
        gap: list[Part] = []
        is_first = True
        total = sum(child.count for child in part.children)
        for child in part.children:
            count = leaf_count(child)
            shown = child.identifies or any(
                at in self._chosen for at in range(number, number + count)
            )
            if not shown:
                gap.append(child)
                number += count
                continue
            if gap:
                self._gap(gap, total, is_first)
                gap, is_first = [], False
            if self._is_json and not is_first and child.unit in _JSON_UNITS:
                self._pieces.append(", ")
            is_first = False
            if child.identifies:
                self._exact(child.start, child.end)
                number += count
            else:
                number = self.part(child, number)
        if gap:
            self._gap(gap, total, is_first)

    def _exact(self, start: int, end: int) -> None:
        text = self._text[start:end]
        self._pieces.append(unquoted(text) if self._is_json else text)

    def _gap(self, gap: Sequence[Part], total: int, is_first: bool) -> None:
        mark = gap_mark(self._text, gap, total)
        if self._is_json and gap[0].unit in _JSON_UNITS:
            self._pieces.append(mark if is_first else f", {mark}")
            return
        before = self._pieces[-1] if self._pieces else ""
        lined = not before or before.endswith("\n")
        whole_lines = self._text[gap[0].start : gap[-1].end].endswith("\n")
        if lined:
            self._pieces.append(f"{mark}\n")
        elif whole_lines:
            self._pieces.append(f"\n{mark}\n" if gap[0].unit == "line" else f" {mark}\n")
        else:
            self._pieces.append(mark if before.endswith(" ") else f" {mark}")
            self._pieces.append(" ")


_JSON_UNITS = frozenset({"record", "field", "element"})


def gap_mark(text: str, gap: Sequence[Part], total: int = 0) -> str:
    """`… 12 of 14 records …`, `… lines 40–93 …` or `… 3 paragraphs …`."""
    unit = gap[0].unit
    if all(part.unit == unit for part in gap) and unit in (*_JSON_UNITS, "row"):
        count = sum(part.count for part in gap)
        return f"… {count} of {total} {_named(unit, total)} …"
    counts: dict[str, int] = {}
    for part in gap:
        for leaf in leaves(part):
            counts[leaf.unit] = counts.get(leaf.unit, 0) + leaf.count
    if set(counts) == {"line"}:
        numbers = _numbers(text, gap)
        if numbers is not None:
            return f"… lines {numbers[0]}–{numbers[1]} …"
    told = ", ".join(f"{count} {_named(unit, count)}" for unit, count in counts.items())
    return f"… {told} …"


def _numbers(text: str, gap: Sequence[Part]) -> tuple[int, int] | None:
    """The numbers that the first and the last line of a gap begin with, where they have any."""
    inside = text[gap[0].start : gap[-1].end].rstrip("\n")
    first = _NUMBERED.match(inside)
    last = _NUMBERED.match(inside, inside.rfind("\n") + 1)
    if first is None or last is None or int(first[1]) >= int(last[1]):
        return None
    return int(first[1]), int(last[1])


def _named(unit: str, count: int) -> str:
    return unit if count == 1 else _PLURAL.get(unit, f"{unit}s")
