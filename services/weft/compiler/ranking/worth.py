"""The worth of a part to a step that copies values: the sum over the values that it states. A value
counts more if a call has asked for such a field, and less if the prompt states it already."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import truediv
from typing import Any

import msgspec

from weft.compiler.ranking.values import REMEMBERED, values
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

STATED = 0.15
"""Least weight of the one word that a field states, whatever it looks like."""
ASKED_FIELD = 6.0
"""Factor for fields that are named like an argument: of earlier calls, or of the chosen tool."""
import os
NEXT = float(os.environ.get('NX', 8.0))
"""Factor for values of a list that calls have begun to go through. Of tau-bench's steps that read
such a list's next entry, 10 missed it at 1,000 tokens without this, and 2 with it."""
import os
A1=float(os.environ.get('A1',6)); A2=float(os.environ.get('A2',6)); AT=float(os.environ.get('AT',0))
COVERED = float(os.environ.get('CV',4.0))
"""How much a value's repetition loses: by each earlier statement of it."""


def asked_fields(rows: Iterable[ItemRow], parameters: Collection[str] = ()) -> frozenset[str]:
    """Fields whose values a call may take: named like the arguments that these items' calls have
    filled, or like the chosen tool's `parameters`."""
    filled = {
        name
        for row in rows
        if row.kind is ItemKind.TOOL_CALL
        for name in _names(row.metadata.get("arguments"))
    }
    return frozenset(one for name in filled.union(parameters) for one in relatives(name))


def arguments_used(rows: Iterable[ItemRow]) -> frozenset[str]:
    """The values that calls among these items were made with."""
    return frozenset(
        value for row in rows if row.kind is ItemKind.TOOL_CALL for value in values(row.whole)
    )


@lru_cache(maxsize=REMEMBERED)
def relatives(name: str) -> tuple[str, ...]:
    """A field's name and the names under which other results give such values: a list of
    `reservations` may have the value for `reservation_id`."""
    thing = name.removesuffix("_id")
    return name, f"{name}s", thing, f"{thing}s"


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for held in value.values():
            if isinstance(held, dict | list):
                yield from _names(held)
    elif isinstance(value, list):
        for held in value:
            if isinstance(held, dict | list):
                yield from _names(held)


class Worth(msgspec.Struct, frozen=True):
    """What a part states."""

    values: dict[str, float]
    """Weight per value."""
    total: float


_FIELD = re.compile(r'"([^"\\]{1,80})"\s*:\s*("[^"\\]{0,200}"|[^\s"{}\[\],][^"{}\[\],]{0,80})')


_HOLDER = re.compile(r'"([^"\\]{1,80})"\s*:\s*[\[{]')
"""A field whose value holds others."""


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
def worth(text: str, asked: frozenset[str]) -> Worth:
    """What a part with this text states; the value of a field that is asked for counts more."""
    found = values(text)
    if '":' in text:
        found = dict(found)
        wanted: set[str] = set()
        inner: set[str] = set()
        times: dict[str, int] = {}
        for name, value in _FIELD.findall(text):
            stated = value.strip('" ')
            found[stated] = max(found.get(stated, 0.0), STATED)
            if name in asked:
                wanted.add(stated)
                times[stated] = times.get(stated, 0) + 1
            if name in found and "_" not in name:
                del found[name]
        for held in _HOLDER.finditer(text):
            if held[1] in asked:
                inner.update(values(_inside(text, held.end())))
        for value in wanted | inner:
            f = A1 if value in wanted else 1.0
            if value in inner: f *= A2
            f *= max(1, times.get(value, 1)) ** AT
            found[value] = max(found.get(value, 0.0), STATED) * f
    return Worth(found, sum(found.values()))


_LIST = re.compile(r"\[([^\[\]{}]{2,4000})\]")
"""A list without records or lists in it."""


def of_lists(text: str, part: Worth, used: Collection[str]) -> Worth:
    """The same, but values of a list count more if later calls used other values of that list as
    arguments: a loop goes through such a list, and the unused values come next."""
    if "[" not in text or part.values.keys().isdisjoint(used):
        return part
    more: dict[str, float] = {}
    for found in _LIST.finditer(text):
        listed = values(found[1])
        if len(listed) > 1 and not listed.keys().isdisjoint(used):
            left = {value for value in listed if value not in used}
            more |= {value: part.values[value] * NEXT for value in left if value in part.values}
    if not more:
        return part
    weighed = part.values | more
    return Worth(weighed, sum(weighed.values()))


class Covered(dict[str, float]):
    """By what the weight of each value is divided: it rises with every statement of the value."""

    def __init__(self, parts: Iterable[Worth], stated: Mapping[str, int]) -> None:
        """For the values of all these parts; `stated` counts the statements so far."""
        values = {value for part in parts for value in part.values}
        super().__init__((value, 1 + COVERED * stated.get(value, 0)) for value in values)

    def new_worth(self, part: Worth) -> float:
        """The weight of the values not shown yet."""
        weights: Iterator[float] = map(
            truediv, part.values.values(), map(self.__getitem__, part.values)
        )
        return sum(weights)

    def state(self, part: Worth) -> None:
        """What the part says is stated once more."""
        for value in part.values:
            self[value] += COVERED
