"""What a part is worth to a step that copies values: each value it states, more where a call has
asked for such a field, less where the prompt states it already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from weft.compiler.outline import Part, structured
from weft.compiler.values import stated_value, values
from weft.readmodel.rows import ItemRow
from weft_schemas.items import ItemKind

STATED = 0.4
"""Least weight of the one word that a field states, whatever it looks like."""
ASKED_FIELD = 2.0
"""Factor for fields that bear the name of an argument: of earlier calls, or of the chosen tool."""
COVERED = 20.0
"""How much a value's repetition loses: by each earlier statement of it."""


def asked_fields(rows: Iterable[ItemRow]) -> frozenset[str]:
    """Names of the arguments that these items' calls have filled."""
    return frozenset(
        part.field
        for row in rows
        if row.kind is ItemKind.TOOL_CALL and isinstance(row.metadata.get("arguments"), dict)
        for part in structured(row.metadata["arguments"]).parts
    )


def worth(part: Part, asked: Collection[str]) -> dict[str, float]:
    """Weight per value that the part states."""
    found = dict(values(part.text))
    stated = stated_value(part)
    if stated:
        found[stated] = max(found.get(stated, 0.0), STATED)
    if part.field in asked:
        return {value: weight * ASKED_FIELD for value, weight in found.items()}
    return found


def new_worth(weights: Mapping[str, float], covered: Mapping[str, int]) -> float:
    """The sum of what is not yet stated."""
    return sum(weight / (1 + COVERED * covered.get(value, 0)) for value, weight in weights.items())
