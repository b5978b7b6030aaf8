"""The values that a session has stated, each with the words that name it: the sources for a call's
parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

from weft.readmodel.rows import ItemRow
from weft.router.words import words_of
from weft_schemas.items import ItemKind

_READ = 20_000
"""How many characters of one item are read."""
_MOST_VALUES = 600
"""Most values of one item."""
_DEEPEST = 12
_LONGEST = 120
"""Longest value, in characters; a longer one is a text, not something to copy."""
_REACH = 90
"""How many characters before a value in a sentence may contain words that name it."""

_TOKEN = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+|https?://\S+|\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?"
    r"|(?<![\w#/.-])(?=[\w#/.-]*\d)[\w#/.:-]++"
    r"|\b\w+_\w+\b|\b[A-Z]{2,6}\b|\b[A-Z][\w'-]+(?:\s[A-Z][\w'-]+){0,3}"
)
"""Values in text: addresses, dates, anything with a digit or an underscore, codes, names."""
_QUOTED = re.compile(r"[\"'“`]([^\"'“”`\n]{1,100})[\"'”`]")
_EDGES = ".,:;!?-*()[]"


class StatedValue(msgspec.Struct, frozen=True):
    value: str
    item_id: str
    ordinal: int
    """Place of its item in the session."""
    kind: ItemKind
    named: tuple[str, ...]
    """Stemmed words of the field, path or sentence that name it, the nearest last."""
    is_field: bool
    """Named by a field, not by a sentence."""
    tool: str = ""
    """For a call's argument: the tool to which it was passed."""


def values_of(row: ItemRow) -> list[StatedValue]:
    """The values that an item states, in its order; none for an item without text."""
    if row.kind is ItemKind.TOOL_CALL:
        arguments = row.metadata.get("arguments")
        found = _of_structure(row, arguments) if isinstance(arguments, dict) else iter(())
        return _bounded(found)
    if row.envelope is not None and row.envelope.facts:
        facts = (
            _field(row, fact.name, fact.value) for fact in row.envelope.facts if not row.pending
        )
        return _bounded(chain(facts, _of_text(row)))
    return _bounded(_of_text(row))


def _bounded(found: Iterable[StatedValue]) -> list[StatedValue]:
    values: dict[tuple[str, tuple[str, ...]], StatedValue] = {}
    for stated in found:
        if 0 < len(stated.value) <= _LONGEST:
            values.setdefault((stated.value, stated.named), stated)
        if len(values) == _MOST_VALUES:
            break
    return list(values.values())


def _of_text(row: ItemRow) -> Iterator[StatedValue]:
    text = row.text[:_READ]
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield from _of_structure(row, msgspec.json.decode(row.text))
            return
        except (msgspec.MsgspecError, RecursionError):
            pass  # shortened or quoted JSON is read as text
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        for match in _places(sentence):
            value = match[1].strip(_EDGES) if match.re is _QUOTED else match[0].strip(_EDGES)
            before = sentence[max(0, match.start() - _REACH) : match.start()]
            if not before.strip() and value.isalpha() and value.istitle():
                continue  # a sentence's first word is capitalised whatever it is
            named = tuple(words_of(before) or words_of(sentence[match.end() :][:_REACH]))
            yield StatedValue(value, row.id, row.ordinal, row.kind, named[-8:], False)


def _places(sentence: str) -> list[re.Match[str]]:
    return [*_TOKEN.finditer(sentence), *_QUOTED.finditer(sentence)]


def _of_structure(row: ItemRow, content: Any) -> Iterator[StatedValue]:
    """The leaves of a JSON value with their paths; the caller bounds the breadth."""
    stack: list[tuple[str, Any, int]] = [("", content, 0)]
    while stack:
        path, value, depth = stack.pop()
        if isinstance(value, dict) and depth < _DEEPEST:
            inner = [(f"{path}.{key}", held, depth + 1) for key, held in value.items()]
            stack.extend(reversed(inner))
        elif isinstance(value, list) and depth < _DEEPEST:
            stack.extend((path, held, depth + 1) for held in reversed(value))
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield _field(row, path, value if isinstance(value, str) else f"{value}")


def _field(row: ItemRow, path: str, value: str) -> StatedValue:
    tool = row.metadata.get("tool_name") if row.kind is ItemKind.TOOL_CALL else None
    named = tuple(words_of(path.replace(".", " ")))
    return StatedValue(
        value.strip(), row.id, row.ordinal, row.kind, named[-8:], True, str(tool or "")
    )
