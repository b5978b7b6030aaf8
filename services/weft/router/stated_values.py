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
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.items import ItemKind

_READ = 20_000
"""How many characters of one item are read."""
_MAX_VALUES = 600
"""Most values of one item."""
_DEEPEST = 12
_MAX_LENGTH = 120
"""Longest value, in characters; a longer one is a text, not something to copy."""
_REACH = 90
"""How many characters before a value in a sentence may contain words that name it."""

_GROUPED = (
    r"-?(?:(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d)+,\d{3})(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d{1,2})"
)
"""Numbers with signs between groups of digits: 2,060.09, 12,34,567 as in India, 2.060,09."""
_GROUPED_NUMBER = re.compile(_GROUPED)
_TOKEN = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+|https?://\S+|\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?"
    rf"|(?:(?<![\w.,#/+-])|(?<=\d\.\.)){_GROUPED}(?!\d|[.,]\d)"
    r"|(?:(?<![\w#/.-])(?=[\w#/.-]*\d)|(?<=\d\.\.)(?=\d))(?:[\w#/:-]|\.(?!\.\d))++"
    r"|\b\w+_\w+\b|\b[A-Z]{2,6}\b|\b[A-Z][\w'-]+(?:\s[A-Z](?:[^\W\d]|['-])++(?!\d)){0,3}"
)
"""Values in text: addresses, dates, anything with a digit or an underscore, codes, names. Two
points between numbers are a range: `11.61..2,060.09`."""
_QUOTED = re.compile(r"(?<!\w)(?:([\"'`])([^\"'“”`\n]{1,100})\1|“([^\"'“”`\n]{1,100})”)(?!\w)")
"""From one quote to the next of its kind; an apostrophe within a word is none."""
_EDGES = " .,:;!?-*()[]{}"
_NEGATIVE = re.compile(r"-\d[\d.,]*$")
_HAS_IDENTIFIER = re.compile(r"\s(?=\S*\d)(?:\S*[^\W\d]\S*|\S*\d{3}\S*)$")
"""A name that ends with a value: `Order O-20614`."""
_BEGINS_WITH_VALUE = re.compile(r"(?=\S*\d)([^\s,;]+)[,;]\s")
_OF_FIELDS = frozenset(
    ["application/json", "application/x-ndjson", "text/csv", "text/tab-separated-values"]
)
"""Content whose values are fields', whatever they contain; in any other they are a line's rest."""


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
        facts = () if row.pending else _of_facts(row, row.envelope)
        return _bounded(chain(facts, _of_text(row)))
    return _bounded(_of_text(row))


def is_grouped(value: str) -> bool:
    """Whether it is a number whose digits stand in groups, such as `2,060.09`."""
    return _GROUPED_NUMBER.fullmatch(value) is not None


def plain_number(value: str) -> str:
    """`2,060.09` → `2060.09`: as JSON writes it. Any other value stays as it is."""
    if not is_grouped(value):
        return value
    if re.search(r"\.\d+,", value):
        return value.replace(".", "").replace(",", ".")
    return value.replace(",", "")


def _of_facts(row: ItemRow, envelope: ResultEnvelope) -> Iterator[StatedValue]:
    """What a line of text says after `Order O-20614:` is no order, and of `O-20614, amount 5` only
    the beginning is a value. `_of_text` finds what else the line states."""
    for fact in envelope.facts:
        value = fact.value
        if envelope.content_type not in _OF_FIELDS:
            if " " in value and _HAS_IDENTIFIER.search(fact.name):
                continue
            first = _BEGINS_WITH_VALUE.match(value)
            value = first[1] if first else value
        yield _field(row, fact.name, value)


def _bounded(found: Iterable[StatedValue]) -> list[StatedValue]:
    values: dict[tuple[str, tuple[str, ...]], StatedValue] = {}
    for stated in found:
        if 0 < len(stated.value) <= _MAX_LENGTH:
            values.setdefault((stated.value, stated.named), stated)
        if len(values) == _MAX_VALUES:
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
            value = _inner(match)
            if not value:
                continue
            before = sentence[max(0, match.start() - _REACH) : match.start()]
            if not before.strip() and value.isalpha() and value.istitle():
                continue  # a sentence's first word is capitalised whatever it is
            named = tuple(words_of(before) or words_of(sentence[match.end() :][:_REACH]))
            yield StatedValue(value, row.id, row.ordinal, row.kind, named[-8:], False)


def _places(sentence: str) -> list[re.Match[str]]:
    return [*_TOKEN.finditer(sentence), *_QUOTED.finditer(sentence)]


def _inner(match: re.Match[str]) -> str:
    """What a match states, without its quotes and the signs around it."""
    found: str = (match[2] or match[3]) if match.re is _QUOTED else match[0]
    value = found.strip(_EDGES)
    return f"-{value}" if _NEGATIVE.match(found) else value


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
