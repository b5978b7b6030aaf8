"""Handles in arguments: `{"$weft": "art:…"}` stands for a whole result. So the result gets from one
tool to another without passing through the model. `path` selects a value of the result's JSON,
`lines` some of its lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from weft.firewall.bounds import Bounds
from weft.firewall.detect import detect
from weft.firewall.embedded_text import embedded_text
from weft.firewall.form import Form
from weft.firewall.unwrap import unwrap
from weft.firewall.verbatim_json import encoded
from weft.gateway.protocol_json import as_json
from weft.passages.mcp_wrapper import begins_as_json
from weft_schemas.errors import InvalidInput

MARK = "$weft"
"""The key, in arguments and in structured content, of a handle that replaces a whole result."""
HANDLE = re.compile(r"art:[a-z2-7]{10}\Z")
_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?\Z")
_RANGE = re.compile(r"\[(\d{0,18}):(\d{0,18})\]\Z")
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
    """What a reference stands for, given the whole clean text of its result, which may be a
    container. Raises `InvalidInput` if the result has no such part."""
    inside = unwrap(text, Bounds().depth)
    if inside is not None:
        text = "\n".join((*inside.texts, *inside.other))
    structured = inside.structured if inside is not None else None
    held = embedded_text(text) if structured is None else None
    if wanted.lines:
        text = held.text if held is not None else text
        first, last = _LINES.match(wanted.lines).groups()  # type: ignore[union-attr]
        return "".join(text.splitlines(keepends=True)[int(first) - 1 : int(last or first)])
    if not wanted.path:
        return text if text or structured is None else encoded(structured)
    if structured is not None:
        # A search tells the paths of the text beside it.
        return _in_either(encoded(structured), text, wanted)
    if held is not None and begins_as_json(held.text):
        # A summary tells the paths of the JSON in a field.
        return _in_either(text, held.text, wanted)
    return _at_path(_json_of(text, wanted), wanted)


def _in_either(first: str, second: str, wanted: Reference) -> Any:
    """The value at a path of `first`, or of `second` if `first` has none there."""
    try:
        return _at_path(_json_of(first, wanted), wanted)
    except InvalidInput:
        with suppress(InvalidInput):
            return _at_path(_json_of(second, wanted), wanted)
        raise


def _json_of(text: str, wanted: Reference) -> Any:
    """The value of a text in which paths may be looked for: JSON, or JSON one after the other."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        found = detect(text)
    if found.form is Form.NDJSON:
        return msgspec.json.decode(encoded(found.value))
    raise InvalidInput(
        f"{wanted.handle} is no JSON, so it has no path; leave path out, or give lines"
    )


def _at_path(value: Any, wanted: Reference) -> Any:
    steps, chosen = _steps(wanted)
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            raise InvalidInput(
                f"{wanted.handle}: nothing stands at {wanted.path!r} ({step!r} is missing); look "
                "into it with view=keys"
            ) from None
    if chosen is None:
        return value
    if not isinstance(value, list) or not value[chosen]:
        kind = f"{len(value):,} members" if isinstance(value, list) else "no list"
        raise InvalidInput(
            f"{wanted.handle}: nothing stands at {wanted.path!r} ({kind}); look into it with "
            "view=keys"
        )
    return value[chosen]


def _steps(wanted: Reference) -> tuple[list[str | int], slice | None]:
    """The steps of a path, and the members that a trailing `[10:20]` selects."""
    path = wanted.path.removeprefix("$")
    chosen: slice | None = None
    if (asked := _RANGE.search(path)) is not None:
        path = path[: asked.start()]
        chosen = slice(int(asked[1] or 0), int(asked[2]) if asked[2] else None)
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise InvalidInput(f"{wanted.handle}: path {wanted.path!r}; write it as orders[3].id")
        name, index, quoted = found.groups()
        steps.append(int(index) if index is not None else name if name is not None else quoted)
        at = found.end()
    return steps, chosen


def filled(arguments: Any, values: Mapping[Reference, Any], schema: Any = None) -> Any:
    """The arguments with each reference replaced. If the schema wants an object, a list or a
    number, a text is read as JSON; if it wants a text, a value is written as JSON."""
    if isinstance(arguments, dict):
        if MARK in arguments:
            return _as_wanted(values[_reference(arguments)], schema)
        known = schema.get("properties", {}) if isinstance(schema, dict) else {}
        return {key: filled(value, values, known.get(key)) for key, value in arguments.items()}
    if isinstance(arguments, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return [filled(value, values, items) for value in arguments]
    return arguments


def _as_wanted(value: Any, schema: Any) -> Any:
    wanted = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(value, str):
        return as_json(value) if wanted == "string" and value is not None else value
    if wanted is None or wanted == "string" or (isinstance(wanted, list) and "string" in wanted):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
