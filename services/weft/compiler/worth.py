"""What a part is worth to a step that copies values: each value it states, more where a call has
asked for such a field, less where the prompt states it already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from weft.compiler.values import REMEMBERED, stated_value, values
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

STATED = 0.4
"""Least weight of the one word that a field states, whatever it looks like."""
ASKED_FIELD = 3.0
"""Factor for fields that are named like an argument: of earlier calls, or of the chosen tool."""
WRITTEN = 0.3
"""Factor for the sentences of a long argument: a text that the agent wrote itself is rarely copied
from."""
COVERED = 20.0
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


@lru_cache(maxsize=REMEMBERED)
def relatives(name: str) -> tuple[str, ...]:
    """A field's name and the names under which others state such values: what fills a
    `reservation_id` may stand in a list of `reservations`."""
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


@lru_cache(maxsize=REMEMBERED)
def worth(text: str, field: str) -> Worth:
    """What a part with this text, of this field, states."""
    found = values(_without_key(text, field))
    stated = stated_value(text, field)
    if stated:
        found = {**found, stated: max(found.get(stated, 0.0), STATED)}
    return Worth(found, sum(found.values()))


def _without_key(text: str, field: str) -> str:
    """`JFK=New York` says what JFK is and not where somebody flies from, and `address1` is no
    identifier. Names with an underscore, `flight_number`, count: one part of each such field is
    wanted. LiveMCPBench's stable prompts lose .003 more without (tuned half)."""
    return text.partition(field)[2] if field and "_" not in field else text


def prose_factor(row: ItemRow) -> float:
    """Factor for the parts of an item that are no field's value."""
    written = row.kind is ItemKind.TOOL_CALL and isinstance(row.metadata.get("arguments"), dict)
    return WRITTEN if written else 1.0


def standing(field: str, asked: Collection[str], prose: float) -> float:
    """Factor for a part's values by where they stand; `prose` as `prose_factor` says."""
    return ASKED_FIELD if field in asked else 1.0 if field else prose


def new_worth(part: Worth, stated: Mapping[str, int]) -> float:
    """The weight of what is not yet stated."""
    if stated.keys().isdisjoint(part.values):
        return part.total
    return sum(
        weight / (1 + COVERED * stated.get(value, 0)) for value, weight in part.values.items()
    )
