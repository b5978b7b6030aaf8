"""Tells which of the values that a step needs a prompt shows.

Only values that the session has already stated count. A value is shown if the block of an item that
stated it has it next to its field or in its sentence.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weft.leaves import field_of, leaves
from weft_schemas.items import MAX_DEPTH, ContextItem, ItemKind, is_deeper

MIN_LENGTH = 2
"""Shortest value to look for, in characters: single digits and letters occur everywhere."""
NEAR = 80
"""The field name must be within this many characters before its value."""
PROSE = 60
"""A JSON string of at least this many characters is prose: its sentence counts, not its field."""

ValueSources = dict[str, list[ContextItem]]
"""Value that a step needs → the earlier items that stated it."""

_BREAK = re.compile(r"(?<=[.!?])\s+|\n|\\n")
_FIELD = re.compile(r"(\w[\w.-]*)[\"']?\s*[:=]\s*[\"'(\[]*$")
"""A field name right before its value."""
_NAME = re.compile(r"(?:^|\W)(\w[\w-]*)\W*$")
"""The name at the end of a header cell, or of a path in the cell."""
_SPACE = re.compile(r"[\s…\\\\]+")
_ESCAPED = re.compile(r"(?<!\\)\\\\+([nrt\"'])")
"""Escapes in text that is quoted inside JSON or a Python literal, at any depth."""
_ESCAPES = {"n": "\n", "r": "", "t": " "}


def sources_of(earlier: Sequence[ContextItem], arguments: Sequence[Any]) -> ValueSources:
    """Values in the arguments of the next calls that earlier items stated, with those items."""
    return {
        value: found
        for value in stated_values(arguments)
        if (found := [item for item in earlier if stands_in(value, item.text)])
    }


def grounded(sources: ValueSources, blocks: Mapping[str, str]) -> set[str]:
    """The values that are in their place in the block of an item that states them."""
    return {
        value
        for value, items in sources.items()
        for item in items
        if stands_in(value, block := blocks.get(item.id, "")) and in_place(value, item, block)
    }


def stated_values(arguments: Sequence[Any]) -> list[str]:
    """Distinct leaves of the arguments, as text. Booleans and nulls do not count."""
    return list(
        dict.fromkeys(
            text for _, leaf in leaves(list(arguments)) if len(text := str(leaf)) >= MIN_LENGTH
        )
    )


def stands_in(value: str, text: str) -> bool:
    """Whether the text holds the value as a whole word."""
    return next(_places(value, text), None) is not None


def in_place(value: str, item: ContextItem, block: str) -> bool:
    """Whether the block shows the value next to its field name or in its sentence."""
    flat = _flat(block)
    return any(
        _is_named_by(value, field, block) if field else _flat(sentence) in flat
        for field, sentence in contexts(value, item)
    )


def contexts(value: str, item: ContextItem) -> Iterator[tuple[str, str]]:
    """`(field, "")` or `("", sentence)` for each place in which the item states the value."""
    structure = _structure(item)
    if structure is None:
        yield from _named_fields(value, item.text)
        return
    for path, leaf in leaves(structure):
        field, text = field_of(path), str(leaf)
        if stands_in(value, text):
            if field and len(text) < PROSE:
                yield field, ""
            else:
                yield from _named_fields(value, text)
    for parent, key in _keys(structure, ""):
        if stands_in(value, key):
            yield parent or key, ""


def _named_fields(value: str, text: str) -> Iterator[tuple[str, str]]:
    """Plain text may also name a field: `key: value`, `"key": "value"`, `key=value`."""
    text = _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)
    for place in _places(value, text):
        label = _FIELD.search(text[max(0, place - NEAR) : place])
        if label:
            yield label[1], ""
    yield from (("", sentence) for sentence in _sentences(value, text))


def _structure(item: ContextItem) -> Any:
    if item.kind is ItemKind.TOOL_CALL:
        return item.metadata.get("arguments")
    if item.text[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(item.text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return None
    return None if is_deeper(value, MAX_DEPTH) else value


def _keys(value: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, held in value.items():
            yield field, key
            yield from _keys(held, key)
    elif isinstance(value, list):
        for held in value:
            yield from _keys(held, field)


def _sentences(value: str, text: str) -> Iterator[str]:
    for sentence in _BREAK.split(text):
        if stands_in(value, sentence):
            yield sentence


def _is_named_by(value: str, field: str, block: str) -> bool:
    """Whether the name of the field is right before the value, or at the head of its column."""
    return any(
        field in block[max(0, place - NEAR - len(field)) : place] for place in _places(value, block)
    ) or _in_column(value, field, block)


def _in_column(value: str, field: str, block: str) -> bool:
    """Whether a row has the value in a column that a header line above it names."""
    for separator in (" | ", ","):
        rows = [_cells(line, separator) for line in block.splitlines()]
        column = None
        for cells in rows:
            heads = [at for at, cell in enumerate(cells) if _names(cell, field)]
            if len(cells) > 1 and heads:
                column = heads[0]
            elif len(cells) > 1 and column is not None and stands_in(value, _at(cells, column)):
                return True
    return False


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a line. Cells between commas may be quoted; a table may have outer bars."""
    if separator == ",":
        with contextlib.suppress(csv.Error):
            return next(csv.reader([line]), [])
    return line.strip().strip("|").split(separator)


def _at(cells: Sequence[str], column: int) -> str:
    return cells[column] if column < len(cells) else ""


def _names(cell: str, field: str) -> bool:
    """Whether a header cell ends with the name of the field: `number`, `flights[].number`."""
    found = _NAME.search(cell)
    return found is not None and found[1] == field


def _places(value: str, text: str) -> Iterator[int]:
    place = text.find(value)
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(value) :][:1]
        if not _joins(before, value[0]) and not _joins(after, value[-1]):
            yield place
        place = text.find(value, place + 1)


def _joins(neighbour: str, edge: str) -> bool:
    return neighbour.isalnum() and edge.isalnum()


def _flat(text: str) -> str:
    """The text without white space, marks of omission and escapes, for comparison."""
    return _SPACE.sub("", _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text))
