"""Messages as plain dicts and lists, whatever objects they were."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from weft.whole_characters import whole_characters
from weft_schemas.errors import InvalidInput

DEEPEST = 200
"""Most levels of nested objects. No message has a tenth of that; an object that contains itself has
more."""


def plain(value: Any, depth: int = 0) -> Any:
    """Dicts, lists, strings of whole characters, numbers, booleans and None. Objects of providers'
    libraries are converted by their `model_dump`. Raises `InvalidInput` for anything else."""
    if value is None or isinstance(value, str | bool | int | float):
        held = value.value if isinstance(value, Enum) else value
        return whole_characters(held) if isinstance(held, str) else held
    if depth > DEEPEST:
        raise InvalidInput(f"a message is nested deeper than {DEEPEST} levels; hand over messages")
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): plain(held, depth + 1) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [plain(held, depth + 1) for held in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return plain(_taken_apart(value), depth + 1)


def _taken_apart(value: Any) -> Any:
    """What an object returns about itself."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", warnings=False)
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    raise InvalidInput(
        f"a message holds a {type(value).__name__}, which is no JSON; hand over dicts, or objects "
        "of the provider's library"
    )
