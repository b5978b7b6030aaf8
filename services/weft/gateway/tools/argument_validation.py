"""Checks a call's arguments against the tool's schema before the server sees them, and says what is
wrong in words that a model can act on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import re2
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from jsonschema import Draft202012Validator, ValidationError, validators
from weft.gateway.protocol_json import as_json

MAX_FAULTS = 5
_MAX_SCHEMA = 1_500
"""Characters of the schema that an error repeats."""


def _pattern(validator: Any, pattern: str, text: Any, schema: Any) -> Iterator[ValidationError]:
    """Matched in linear time, since the pattern comes from a server. A pattern that cannot be is
    not checked."""
    if not isinstance(text, str):
        return
    try:
        compiled = _compiled(pattern)
    except re2.error:
        return
    if not compiled.search(text):
        yield ValidationError(f"{text[:80]!r} does not match {pattern!r}")


@lru_cache(512)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


_Validator = validators.extend(Draft202012Validator, {"pattern": _pattern})


@lru_cache(2_048)
def _validator(schema: bytes) -> Any:
    # An empty registry, so that a reference in a schema never makes the gateway fetch anything.
    return _Validator(msgspec.json.decode(schema), registry=Registry())


def faults(arguments: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """What is wrong, each with its place. Empty if the schema cannot be used."""
    try:
        validator = _validator(msgspec.json.encode(schema, order="deterministic"))
        found = []
        for error in validator.iter_errors(arguments):
            found.append(error)
            if len(found) == MAX_FAULTS:
                break
    except (SchemaError, Unresolvable, RecursionError, TypeError, ValueError, AttributeError):
        return []
    return [_fault_text(error) for error in found]


def _fault_text(error: ValidationError) -> str:
    place = error.json_path
    value = as_json(error.instance) if error.validator == "type" else ""
    match error.validator:
        case "required":
            return f"{place}: {error.message}"
        case "type":
            return f"{place}: is {value[:80]}, give {_types(error.validator_value)}"
        case "additionalProperties":
            known = ", ".join(error.schema.get("properties", {}))
            return f"{place}: {error.message}; known are {known}"
        case "enum":
            return f"{place}: {error.message[:400]}"
        case _:
            return f"{place}: {error.message[:300]}"


def _types(wanted: Any) -> str:
    return " or ".join(wanted) if isinstance(wanted, list) else str(wanted)


def refusal_text(tool_id: str, found: list[str], schema: dict[str, Any]) -> str:
    """The error of a call whose arguments do not fit."""
    written = as_json(schema)
    more = f"\nSchema: {written}" if len(written) <= _MAX_SCHEMA else ""
    listed = "\n".join(f"- {fault}" for fault in found)
    return f"{tool_id} was not called, its arguments do not fit:\n{listed}{more}"
