"""Messages as plain dicts and lists, whatever objects they were."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from weft.whole_characters import whole_characters
from weft_schemas.errors import InvalidInput

DEEPEST = 200
"""Most levels of nested objects. No message has a tenth of that; an object that contains itself has
more."""


def as_plain_json(value: Any, depth: int = 0, otherwise: Callable[[Any], Any] | None = None) -> Any:
    """Dicts, lists, strings of whole characters, numbers, booleans and None.

    Objects of providers' libraries are converted by their `model_dump`. Dates and times are written
    in ISO 8601, exact numbers, ids and paths as text, and sets in the order of their texts, which
    is the same in every process. Of anything else it is what `otherwise` returns; without that,
    `InvalidInput` is raised.
    """
    if value is None or isinstance(value, str | bool | int | float):
        held = value.value if isinstance(value, Enum) else value
        return whole_characters(held) if isinstance(held, str) else held
    if depth > DEEPEST:
        raise InvalidInput(f"a message is nested deeper than {DEEPEST} levels; hand over messages")
    if isinstance(value, Mapping):
        return {
            whole_characters(str(key)): as_plain_json(held, depth + 1, otherwise)
            for key, held in value.items()
        }
    if isinstance(value, list | tuple):
        return [as_plain_json(held, depth + 1, otherwise) for held in value]
    if isinstance(value, set | frozenset):
        return sorted((as_plain_json(held, depth + 1, otherwise) for held in value), key=repr)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, _TEXTS):
        return whole_characters(str(value))
    return as_plain_json(_taken_apart(value, otherwise or _refused), depth + 1, otherwise)


_TEXTS = (Decimal, Fraction, timedelta, UUID, PurePath)
"""Types whose text is what they are."""


def _taken_apart(value: Any, otherwise: Callable[[Any], Any]) -> Any:
    """What an object returns about itself."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", warnings=False)
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=otherwise, order="deterministic")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    return otherwise(value)


def _refused(value: Any) -> NoReturn:
    raise InvalidInput(
        f"a message holds a {type(value).__name__}, which is no JSON; hand over dicts, or objects "
        "of the provider's library"
    )
