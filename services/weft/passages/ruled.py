"""Finds tables that are drawn with rules: Markdown's, those of psql and mysql, grids with a rule
below each row, and tables of box-drawing characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_BOXES = str.maketrans("│┃║─━═┄┈╌", "|||------") | dict.fromkeys(
    map(ord, "┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬╒╕╘╛╞╡╤╧╪╓╖╙╜╟╢╥╨╫┏┓┗┛┣┫┳┻╋┡┩╇┢┪╈┠┨╂╭╮╯╰"), ord("+")
)
_RULE = frozenset("|+-:= \t\r\n")


class Ruled(NamedTuple):
    """Where a table is, in numbers of lines."""

    first: int
    """Its first line: the names of the columns, or a rule above them."""
    names: int
    """The line with the names of the columns; a rule is below it."""
    rows: int
    """Its first row."""
    end: int
    """After its last line."""


def has_boxes(text: str) -> bool:
    """Whether a text has lines of box-drawing characters."""
    return not text.isascii() and any(line in text for line in "─━═│┃║")


def with_plain_rules(text: str) -> str:
    """The text with box-drawing characters as `|`, `-` and `+`, of the same length."""
    return text.translate(_BOXES) if has_boxes(text) else text


def is_rule(line: str) -> bool:
    """Whether a line separates rows or their header, with a sign between columns."""
    return "--" in line and ("|" in line or "+" in line) and _RULE.issuperset(line)


def ruled_tables(lines: Sequence[str]) -> list[Ruled]:
    """The tables in these lines, in order, with their rules as `with_plain_rules` makes them."""
    rules = [number for number, line in enumerate(lines) if is_rule(line)]
    found: list[Ruled] = []
    end = 0
    for rule in rules:
        names = rule - 1
        if names < end or "|" not in lines[names] or is_rule(lines[names]):
            continue
        has_rule_above = names > end and is_rule(lines[names - 1])
        first = names - 1 if has_rule_above else names
        end = _end(lines, rule + 1)
        found.append(Ruled(first, names, rule + 1, end))
    return found


def _end(lines: Sequence[str], number: int) -> int:
    """The end of a table whose rows begin here: after the last row or rule, and before the names of
    another table."""
    while number < len(lines):
        line = lines[number]
        if is_rule(line):
            if "+" not in line:
                return number - 1
            if number + 1 < len(lines) and is_rule(lines[number + 1]):
                return number + 1
        elif "|" not in line:
            return number
        number += 1
    return number
