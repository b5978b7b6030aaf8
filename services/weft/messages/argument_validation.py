"""Checks a call's arguments against its tool's schema, and says what is wrong so that a model can
correct it.

Covers the part of JSON Schema that tools use; an unknown keyword is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from weft.adapters.drafting import compact

MAX_FAULTS = 8
"""How many faults of one call are reported: the first ones help most."""
MAX_VALUE_LENGTH = 60
"""How many characters of a value a fault shows."""
DEEPEST = 32
"""How many levels of values are checked; a schema may refer to itself."""

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
    "number": (int, float),
    "integer": int,
}


def faults(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """The faults, such as `order.id: expected string, got 7`; empty if there are none."""
    found = []
    for fault in _faults(value, schema, "", schema, 0):
        found.append(fault)
        if len(found) == MAX_FAULTS:
            break
    return found


def _faults(
    value: Any, schema: Any, path: str, root: Mapping[str, Any], depth: int
) -> Iterator[str]:
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return
    wanted = schema.get("type")
    kinds = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        yield f"{_at(path)}: expected {' or '.join(kinds)}, got {_value_text(value)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        options = ", ".join(compact(one) for one in schema["enum"])
        yield f"{_at(path)}: expected one of {options}, got {_value_text(value)}"
    if "const" in schema and value != schema["const"]:
        yield f"{_at(path)}: expected {compact(schema['const'])}, got {_value_text(value)}"
    for keyword in ("anyOf", "oneOf"):
        ways = [list(_faults(value, one, path, root, depth + 1)) for one in schema.get(keyword, ())]
        if ways and all(ways):
            yield min(ways, key=len)[0]
    for one in schema.get("allOf", ()):
        yield from _faults(value, one, path, root, depth + 1)
    yield from _sizes(value, schema, path)
    if isinstance(value, dict):
        yield from _members(value, schema, path, root, depth)
    if isinstance(value, list):
        for at, held in enumerate(value):
            yield from _faults(held, schema.get("items"), f"{path}[{at}]", root, depth + 1)


def _members(
    value: dict[str, Any], schema: Mapping[str, Any], path: str, root: Mapping[str, Any], depth: int
) -> Iterator[str]:
    known = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{_at(_member(path, name))}: is required and missing"
    others = schema.get("additionalProperties", True)
    for name, held in value.items():
        if name in known:
            yield from _faults(held, known[name], _member(path, name), root, depth + 1)
        elif others is False and not schema.get("patternProperties"):
            names = ", ".join(known) or "none"
            yield f"{_at(_member(path, name))}: there is no such argument; there are: {names}"
        elif isinstance(others, Mapping):
            yield from _faults(held, others, _member(path, name), root, depth + 1)


def _sizes(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            yield f"{_at(path)}: expected {schema['minimum']} or more, got {_value_text(value)}"
        if "maximum" in schema and value > schema["maximum"]:
            yield f"{_at(path)}: expected {schema['maximum']} or less, got {_value_text(value)}"
    if isinstance(value, str | list):
        what, least, most = ("characters", "minLength", "maxLength")
        if isinstance(value, list):
            what, least, most = ("elements", "minItems", "maxItems")
        if len(value) < schema.get(least, 0):
            yield f"{_at(path)}: expected {schema[least]} {what} or more, got {len(value)}"
        if most in schema and len(value) > schema[most]:
            yield f"{_at(path)}: expected {schema[most]} {what} or less, got {len(value)}"


def _is_a(value: Any, kind: str) -> bool:
    if kind in ("number", "integer") and isinstance(value, bool):
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, object))


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """The target of a reference within the schema, through a few further ones."""
    for _ in range(DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        schema = root
        for step in filter(None, reference[1:].split("/")):
            name = step.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name) if isinstance(schema, Mapping) else None
    return None


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _at(path: str) -> str:
    return f"argument `{path}`" if path else "the arguments"


def _value_text(value: Any) -> str:
    text = re.sub(r"\s+", " ", compact(value))
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"
