"""Why a payload could not be read, in words that contain nothing of the payload: they appear in
logs, dead letters and read models, where an erasure of the event would not find its values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from weft_schemas.lone_surrogates import lone_surrogate_in

T = TypeVar("T")

_HALF = "Text has a lone surrogate (half of a character), write it whole"

_PATH = re.compile(r" - at `([$\w.\[\]]+)`\Z")
_STEP = re.compile(r"\.(\w+)|\[[^][]*\]")
_ONE_OF = "Invalid enum value"
UNKNOWN_FIELD = "Object contains unknown field"
"""How a decoder's message about a field that its release does not know begins."""


def fault_of(error: Exception) -> str:
    """The decoder's message up to the first value that it quotes, and the path of the field."""
    text = str(error)
    path = _PATH.search(text)
    said = text[: path.start()] if path else text
    if said.startswith(UNKNOWN_FIELD):
        said = UNKNOWN_FIELD
    # Values are in single quotes, types and required fields in backticks.
    said = said.partition("'")[0].rstrip(" :") or type(error).__name__
    return f"{said} at `{path.group(1)}`" if path else said


def converted(value: Any, kind: type[T]) -> T:
    """A decoded value as a Struct. Raises `msgspec.ValidationError` that names the field, also for
    a lone surrogate: msgspec itself then raises `UnicodeEncodeError`, which names none."""
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        path = lone_surrogate_in(value) or "$"
        raise msgspec.ValidationError(f"{_HALF} - at `{path}`") from None


def with_valid_values(error: msgspec.ValidationError, kind: Any) -> str:
    """The decoder's message about a value of this type. Of a value that is none of a list, it also
    says what the list is."""
    text = str(error)
    values = ", ".join(valid_values(text, kind))
    return f"{text}: use one of {values}" if values else text


def valid_values(text: str, kind: Any) -> tuple[str, ...]:
    """What may stand at the place that a decoder's message about a value of this type names; empty
    if the message is about something else."""
    if not text.startswith(_ONE_OF):
        return ()
    path = _PATH.search(text)
    found = [inspect.type_info(kind)]
    for step in _STEP.finditer(path.group(1) if path else ""):
        found = list(_inside(_each(found), step.group(1)))
    values: list[str] = []
    for one in _each(found):
        if isinstance(one, inspect.EnumType):
            values += (str(member.value) for member in one.cls)
        elif isinstance(one, inspect.LiteralType):
            values += map(str, one.values)
    return tuple(values)


def _each(types: Iterable[inspect.Type]) -> Iterable[inspect.Type]:
    """The alternatives of unions."""
    for one in types:
        yield from one.types if isinstance(one, inspect.UnionType) else (one,)


def _inside(types: Iterable[inspect.Type], field: str | None) -> Iterable[inspect.Type]:
    """What a field of these types holds, or, without a field, an entry of them."""
    for one in types:
        match one:
            case inspect.StructType(fields=fields) if field is not None:
                yield from (known.type for known in fields if known.encode_name == field)
            case inspect.DictType(value_type=value):
                yield value
            case (
                inspect.ListType(item_type=item)
                | inspect.VarTupleType(item_type=item)
                | inspect.SetType(item_type=item)
                | inspect.FrozenSetType(item_type=item)
            ) if field is None:
                yield item
