"""What of a model's reasoning is kept with its calls, and where it goes in a request: see
`weft_schemas.reasoning`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from weft_schemas.reasoning import Reasoning

LARGEST = 64 * 1024
"""Bytes of one call's reasoning; a larger one is left out, and counted as such."""


def kept(
    format: str, before: Sequence[Mapping[str, Any]], call: Mapping[str, Any] = {}
) -> dict[str, Any] | None:
    """Metadata of a call, None where there is nothing for it, or too much."""
    if not before and not call:
        return None
    made = Reasoning(format, tuple(_said(block) for block in before), _said(call))
    written = msgspec.json.encode(made)
    return None if len(written) > LARGEST else msgspec.json.decode(written)


def before_calls(format: str, calls: Iterable[Reasoning | None]) -> list[dict[str, Any]]:
    """What stands before the calls of one turn, for a request in this format."""
    return [
        dict(block)
        for one in calls
        if one is not None and one.format == format
        for block in one.before
    ]


def of_call(format: str, reasoning: Reasoning | None) -> dict[str, Any]:
    """Keys of a call itself, for a request in this format."""
    return dict(reasoning.call) if reasoning is not None and reasoning.format == format else {}


def _said(held: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in held.items() if value is not None}
