"""Handles in arguments: `{"$weft": "art:…"}` stands for a whole result. So the result gets from one
tool to another without passing through the model. `path` selects a value of the result's JSON,
`lines` some of its lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from weft.gateway.protocol_json import as_json
from weft_schemas.errors import InvalidInput

MARK = "$weft"
"""The key, in arguments and in structured content, of a handle that replaces a whole result."""
HANDLE = re.compile(r"art:[a-z2-7]{10}\Z")
_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?\Z")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9})\]|\[\"((?:[^\"\\]|\\.)*)\"\]")


class Reference(msgspec.Struct, frozen=True):
    """A reference to a result, as it stands in an argument."""

    handle: str
    path: str = ""
    lines: str = ""


def references(arguments: Any) -> list[Reference]:
    """All references in the arguments, each once. Raises `InvalidInput` for a malformed one."""
    found: dict[Reference, None] = {}
    stack = [arguments]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if MARK in value:
                found[_reference(value)] = None
            else:
                stack += value.values()
        elif isinstance(value, list):
            stack += value
    return list(found)


def _reference(value: dict[str, Any]) -> Reference:
    handle = value[MARK]
    unknown = set(value) - {MARK, "path", "lines"}
    if unknown or not isinstance(handle, str) or not HANDLE.match(handle):
        raise InvalidInput(
            f"arguments: {as_json(value)[:200]} is no handle; write "
            f'{{"{MARK}": "art:…"}}, with "path" or "lines" where only a part is meant'
        )
    path, lines = value.get("path", ""), value.get("lines", "")
    if not isinstance(path, str) or not isinstance(lines, str) or (path and lines):
        raise InvalidInput(f"{handle}: give a path such as orders[3].id, or lines such as 10-20")
    if lines and not _LINES.match(lines):
        raise InvalidInput(f"{handle}: lines {lines!r}; write them as 10-20, counted from 1")
    return Reference(handle, path, lines)


def part_of(text: str, wanted: Reference) -> Any:
    """What a reference stands for, given the whole text of its result. Raises `InvalidInput` if the
    text has no such part."""
    if wanted.lines:
        first, last = _LINES.match(wanted.lines).groups()  # type: ignore[union-attr]
        return "".join(text.splitlines(keepends=True)[int(first) - 1 : int(last or first)])
    if not wanted.path:
        return text
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidInput(
            f"{wanted.handle} is no JSON, so it has no path; leave path out, or give lines"
        ) from None
    for step in _steps(wanted):
        try:
            value = value[step]
        except (LookupError, TypeError):
            raise InvalidInput(
                f"{wanted.handle}: nothing stands at {wanted.path!r} ({step!r} is missing); look "
                "into it with view=keys"
            ) from None
    return value


def _steps(wanted: Reference) -> list[str | int]:
    path = wanted.path.removeprefix("$")
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise InvalidInput(f"{wanted.handle}: path {wanted.path!r}; write it as orders[3].id")
        name, index, quoted = found.groups()
        steps.append(int(index) if index is not None else name if name is not None else quoted)
        at = found.end()
    return steps


def filled(arguments: Any, values: Mapping[Reference, Any], schema: Any = None) -> Any:
    """The arguments with each reference replaced. If the schema wants an object, a list or a
    number, the text is read as JSON."""
    if isinstance(arguments, dict):
        if MARK in arguments:
            value = values[_reference(arguments)]
            return _as_wanted(value, schema) if isinstance(value, str) else value
        known = schema.get("properties", {}) if isinstance(schema, dict) else {}
        return {key: filled(value, values, known.get(key)) for key, value in arguments.items()}
    if isinstance(arguments, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return [filled(value, values, items) for value in arguments]
    return arguments


def _as_wanted(text: str, schema: Any) -> Any:
    wanted = schema.get("type") if isinstance(schema, dict) else None
    if wanted is None or wanted == "string" or (isinstance(wanted, list) and "string" in wanted):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
