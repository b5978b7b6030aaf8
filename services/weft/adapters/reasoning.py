"""Which parts of a model's reasoning are kept with its calls, and where they go in a request: see
`weft_schemas.reasoning`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from weft_schemas.reasoning import Reasoning

MAX_REASONING_BYTES = 64 * 1024
"""Largest reasoning of one call, in bytes; a larger one is left out and counted."""


def reasoning_metadata(
    format: str, before: Sequence[Mapping[str, Any]], call: Mapping[str, Any] = {}
) -> dict[str, Any] | None:
    """Metadata of a call; None if there is nothing to keep, or too much."""
    if not before and not call:
        return None
    made = Reasoning(format, tuple(_without_nulls(block) for block in before), _without_nulls(call))
    written = msgspec.json.encode(made)
    return None if len(written) > MAX_REASONING_BYTES else msgspec.json.decode(written)


def before_calls(format: str, calls: Iterable[Reasoning | None]) -> list[dict[str, Any]]:
    """The reasoning before the calls of one turn, for a request in this format."""
    return [
        dict(block)
        for one in calls
        if one is not None and one.format == format
        for block in one.before
    ]


def of_call(format: str, reasoning: Reasoning | None) -> dict[str, Any]:
    """Keys of the call itself, for a request in this format."""
    return dict(reasoning.call) if reasoning is not None and reasoning.format == format else {}


def _without_nulls(held: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in held.items() if value is not None}
