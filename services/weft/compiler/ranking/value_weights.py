"""What a part is worth to a step that copies values: the sum of the weights of its values. A value
counts more if calls take such a field, and less if the prompt states it already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from operator import truediv
from typing import Any

from weft.compiler.profiles import ASKED_FIELD, FIELD_WEIGHT, STATED_BEFORE
from weft.compiler.ranking.values import REMEMBERED, values
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind


def asked_fields(rows: Iterable[ItemRow], parameters: Collection[str] = ()) -> frozenset[str]:
    """Fields whose values a call may take: named like the arguments that these items' calls have
    filled, or like the chosen tool's `parameters`."""
    filled = {
        name
        for row in rows
        if row.kind is ItemKind.TOOL_CALL
        for name in _names(row.metadata.get("arguments"))
    }
    return frozenset(one for name in filled.union(parameters) for one in field_aliases(name))


@lru_cache(maxsize=REMEMBERED)
def field_aliases(name: str) -> tuple[str, ...]:
    """A field's name and the names under which other results give such values: a list of
    `reservations` may have the value for `reservation_id`."""
    thing = name.removesuffix("_id")
    return name, f"{name}s", thing, f"{thing}s"


def _names(value: Any) -> Iterator[str]:
    """The names of all fields of a JSON value, at any depth."""
    if isinstance(value, dict):
        yield from value
    elif not isinstance(value, list):
        return
    for held in value.values() if isinstance(value, dict) else value:
        yield from _names(held)


_FIELD = re.compile(
    r'"([^"\\]{1,80})"\s*:\s*'
    r'("[^"\\]{0,200}(?:\\.[^"\\]{0,200}){0,8}"|[^\s"{}\[\],][^"{}\[\],]{0,80})'
)
"""A field with its value, in which signs may be escaped, as in a version: `"\\"17\\""`."""
_LINE_FIELD = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?([^\W\d][\w.-]{0,39}):[ \t]+(\S[^\n]{0,200})$", re.MULTILINE
)
"""A field that is written as a line: YAML, headers, what many programs print."""
_HOLDER = re.compile(r'"([^"\\]{1,80})"\s*:\s*[\[{]')
"""A field whose value holds others."""


def _held_in(text: str, asked: Collection[str]) -> set[str]:
    """The values in the lists and records of fields that calls ask for."""
    return {
        value
        for found in _HOLDER.finditer(text)
        if found[1] in asked
        for value in values(_inside(text, found.end()))
    }


def _inside(text: str, start: int) -> str:
    """The text between the bracket before `start` and its closing bracket."""
    depth = 1
    for found in _BRACKET.finditer(text, start):
        depth += 1 if found.group() in "[{" else -1
        if not depth:
            return text[start : found.start()]
    return text[start:]


_BRACKET = re.compile(r"[\[\]{}]")


@lru_cache(maxsize=REMEMBERED)
def value_weights(text: str, asked: frozenset[str]) -> Mapping[str, float]:
    """Value → weight, of the values in a part's text. Those of fields that calls ask for count
    more, with every record that states them, and again where the field that holds the record is
    asked for."""
    found = values(text)
    fields = fields_in(text)
    if fields or '":' in text:
        found = dict(found)
        asked_for: Counter[str] = Counter()
        for name, value in fields:
            bare_value = value.strip("\\\"' ")
            found[bare_value] = max(found.get(bare_value, 0.0), FIELD_WEIGHT)
            asked_for[bare_value] += name in asked
            if name in found and (name in asked or "_" not in name):
                del found[name]
        for value, count in asked_for.items():
            if count and value in found:
                found[value] *= ASKED_FIELD * count
        for value in _held_in(text, asked):
            found[value] = max(found.get(value, 0.0), FIELD_WEIGHT) * ASKED_FIELD
    return found


def fields_in(text: str) -> list[tuple[str, str]]:
    """The names and values of the fields of JSON, and of those that are lines."""
    found: list[tuple[str, str]] = _FIELD.findall(text) if '":' in text else []
    return found + _LINE_FIELD.findall(text) if ": " in text else found


class Coverage(dict[str, float]):
    """Value → the divisor of its weight, which rises with every statement of the value: 1 for
    values that are not here."""

    def __init__(self, statement_counts: Mapping[str, int]) -> None:
        """Of each value, the number of statements so far."""
        super().__init__(
            (value, 1 + STATED_BEFORE * count) for value, count in statement_counts.items()
        )

    def gain(self, weights: Mapping[str, float]) -> float:
        """The weight that a part with these values would add."""
        gains: Iterator[float] = map(truediv, weights.values(), map(self.get, weights, repeat(1.0)))
        return sum(gains)

    def add(self, values: Iterable[str]) -> None:
        """Count the values of a part that was taken."""
        for value in values:
            self[value] = self.get(value, 1.0) + STATED_BEFORE
