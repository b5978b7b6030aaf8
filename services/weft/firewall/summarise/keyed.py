"""YAML, settings and XML by their keys. Each element of a list begins with the lines that name it;
other lines are chosen by what their key names. Lines are shown unchanged, and gaps between them are
counted."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from weft.firewall.json_leaves import key_worth, value_worth
from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap
from weft.firewall.summarise.prose import specificity

_LINE = 160
"""Characters of a line that are shown."""
_MAX_LINES = 2_500
"""How many lines are examined: a later one is worth less than any of the first."""
_PAIR = re.compile(r"(\s*(?:- )?)[\"']?([\w./@ -]{1,60}?)[\"']?\s{0,4}[:=](?:\s+(.*))?\Z")
_ELEMENT = re.compile(r"(\s*)<([\w:.-]{1,60})([^<>]{0,400})>(?:<!\[CDATA\[)?([^<\]]{0,400})")
_CLOSING = re.compile(r"\s*</[\w:.-]{1,60}\s*>\s*|\s*[]})]+[,;]?\s*")
"""A line that only closes what was opened above says nothing by itself."""
_TAG = re.compile(r"<!\[CDATA\[|<!--|<(/?)[\w:.-]{1,60}[^<>]{0,4000}>\s*")
_LONG = 400
"""XML with more characters per line than this is shown with a line for each element."""
_MAX_TAGS = 4 * 2_500
_ITEM = re.compile(r"(\s*)- \S")
_FEW = 3
"""A list has at least this many elements."""
_NAMING = 3
"""How many first lines of an element stay together if they are single values."""
_VALUE = 80
"""Longest value that names something, in characters."""
_BEGINS = 8.0
"""Value of the beginning of an element: more than any other line has."""
_WORDS = 0.3
"""Value of each thing that a line without a key names."""
_LATER = 0.02
"""By how much the value falls from one element to the next."""


def summarise_xml(text: str, budget: Budget) -> str:
    """As `summarise_keyed`; XML that is written without line breaks gets them."""
    if len(text) <= _LONG * (text.count("\n") + 1):
        return summarise_keyed(text, budget)
    left = Budget(max(0, budget.limit - budget.count(_BROKEN) - 1), budget.encoding)
    return f"{_BROKEN}\n{summarise_keyed(with_line_breaks(text), left)}"


_BROKEN = "XML, with a line for each element:"


def with_line_breaks(text: str) -> str:
    """XML with a line for each element, indented by its depth; an element of text alone, and what
    follows after many elements, stay as they are. Linear."""
    pieces: list[str] = []
    position, depth, opened = 0, 0, False
    for match in islice(_TAG.finditer(text), _MAX_TAGS):
        if match.start() < position:
            continue
        start, tag = match.start(), match.group()
        between = text[position:start].strip()
        if tag.startswith("<!"):
            end = text.find("]]>" if tag[2] == "[" else "-->", start)
            position = len(text) if end < 0 else end + 3
            pieces.append(between + text[start:position])
            opened = opened and tag[2] == "["
            continue
        closes = match.group(1) == "/"
        depth -= closes
        is_inside = bool(between) or (closes and opened)
        pieces.append(between if is_inside else f"\n{' ' * min(max(depth, 0), _DEEPEST)}{between}")
        pieces.append(tag.rstrip())
        opened = not closes and not tag.rstrip().endswith("/>")
        depth += opened
        position = match.end()
    return ("".join(pieces) + text[position:]).lstrip("\n")


_DEEPEST = 40


def summarise_keyed(text: str, budget: Budget) -> str:
    every = text.splitlines()
    lines = every[:_MAX_LINES]
    cap = line_cap(len(lines), budget, _LINE)
    starts = _elements(lines)
    pieces: list[Piece] = []
    seen: dict[str, int] = {}
    position = 0
    while position < len(lines):
        rank = starts.get(position)
        if rank is not None:
            end = _named_by(lines, position)
            shown = "\n".join(cut_line(line, cap) for line in lines[position:end])
            pieces.append(Piece(position, _BEGINS - _LATER * rank, shown, end - position))
            position = end
            continue
        line = lines[position]
        is_told = bool(line.strip()) and _CLOSING.fullmatch(line) is None
        worth = _worth(line, position, seen) if is_told else -5.0
        pieces.append(Piece(position, worth, cut_line(line, cap)))
        position += 1
    return compose(pieces, budget, "lines", len(every)) or budget.cut(text)


def _elements(lines: list[str]) -> dict[int, int]:
    """First lines of the elements of the outermost list, with their ranks; none if there is no
    list."""
    documents = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(documents) >= _FEW:
        return {number: rank for rank, number in enumerate(documents)}
    items = [(number, match) for number, line in enumerate(lines) if (match := _ITEM.match(line))]
    if len(items) >= _FEW:
        outermost = min(len(match.group(1)) for _, match in items)
        starts = [number for number, match in items if len(match.group(1)) == outermost]
    else:
        starts = _repeated(lines)
    return {number: rank for rank, number in enumerate(starts)} if len(starts) >= _FEW else {}


def _repeated(lines: list[str]) -> list[int]:
    """Lines that open the outermost repeated element of XML."""
    opened = [
        (len(match.group(1)), match.group(2), number)
        for number, line in enumerate(lines)
        if (match := _ELEMENT.match(line[:600])) and _only_opens(line[:600])
    ]
    counts = Counter((indent, name) for indent, name, _ in opened)
    often = min(
        (key for key, count in counts.items() if count >= _FEW),
        key=lambda key: key[0],
        default=None,
    )
    return [number for indent, name, number in opened if (indent, name) == often]


def _only_opens(line: str) -> bool:
    """Whether a line has nothing behind a tag: other elements follow, or it has attributes only."""
    element = _ELEMENT.match(line)
    return element is not None and not line[element.start(4) :].strip()


def _named_by(lines: list[str], start: int) -> int:
    """The end of the lines that name the element beginning at `start`."""
    end = start + 1
    if lines[start].rstrip() == "---":
        return _named_document(lines, start)
    while end < min(len(lines), start + _NAMING):
        key, value, _ = _taken_apart(lines[end])
        if not key or not value or len(value) > _VALUE or _ITEM.match(lines[end]):
            break
        end += 1
    return end


def _named_document(lines: list[str], start: int) -> int:
    """The end of the lines up to the name of a document."""
    for end in range(start + 1, min(len(lines), start + _HEAD)):
        key, value, _ = _taken_apart(lines[end])
        if key == "name" and value:
            return end + 1
    return min(len(lines), start + _NAMING)


_HEAD = 8
"""How many first lines of a document may have its name."""


def _worth(line: str, number: int, seen: dict[str, int]) -> float:
    key, value, indent = _taken_apart(line)
    worth = (
        key_worth((key,)) + value_worth(value) if key else _WORDS * specificity(line[:_LINE]) - 0.5
    )
    # The more often a key has occurred, the less its next value says; deep lines are details.
    count = seen[key] = seen.get(key, 0) + 1
    return worth - 0.12 * indent - 0.004 * number - 0.01 * count


def _taken_apart(line: str) -> tuple[str, str, int]:
    """Key, value and depth of a line; the key is empty if it has none."""
    start = line[:600]
    pair = _PAIR.match(start)
    if pair is not None:
        value = (pair.group(3) or "").strip().strip("'\"")
        return pair.group(2), value, len(pair.group(1).expandtabs()) - pair.group(1).count("- ") * 2
    element = _ELEMENT.match(start)
    if element is not None:
        return (
            element.group(2),
            (element.group(4) or element.group(3)).strip(" /"),
            len(element.group(1)),
        )
    return "", "", len(start) - len(start.lstrip())
