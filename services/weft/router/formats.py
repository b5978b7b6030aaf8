"""Converts a tool to a SelectableItem from our own format, MCP's, OpenAI's or Anthropic's.

The format is recognised for each entry, so one file may contain several.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.routing import Effect, SelectableItem

Entry = dict[str, Any]

_NAMESPACE = re.compile(r"(?P<space>.+?)(?:__|[./:])[^./:]+\Z")
"""`github.create_issue`, `mcp__github__create_issue`, `github/create_issue`."""
_NOT_OURS = ("metadata",)
"""Fields of contextweaver's catalogues that a router does not need."""


def item_from(entry: Any, place: int) -> SelectableItem:
    """The item of one entry. Raises `InvalidInput` naming the tool (or its place, counted from 1,
    if it has no name) and the field."""
    if not isinstance(entry, dict):
        raise InvalidInput(f"tool {place}: is {type(entry).__name__}, give an object")
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    label = _label(entry, place)
    try:
        return msgspec.convert(_converter(entry)(entry), SelectableItem)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"tool {label}: {error}") from None


def _converter(entry: Entry) -> Callable[[Entry], Entry]:
    if "inputSchema" in entry:
        return _from_mcp
    if "input_schema" in entry:
        return lambda tool: _bare(tool, tool["input_schema"])
    if "parameters" in entry or entry.get("type") == "function":
        return lambda tool: _bare(tool, tool.get("parameters"))
    return _native


def _native(entry: Entry) -> Entry:
    native = {key: value for key, value in entry.items() if key not in _NOT_OURS}
    native.setdefault("id", entry.get("name"))
    return native


def _from_mcp(tool: Entry) -> Entry:
    annotations = tool.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    reads, destroys = hints.get("readOnlyHint"), hints.get("destructiveHint")
    changes = reads is not True and (destroys is True or reads is False)
    effect = Effect.UNKNOWN
    if reads is True:
        # The specification defines the other hint only for tools that change things.
        effect = Effect.READS
    elif destroys is True:
        effect = Effect.DESTROYS
    elif destroys is False:
        effect = Effect.ADDS
        changes = True
    return {**_bare(tool, tool["inputSchema"]), "side_effects": changes, "effect": effect}


def _bare(tool: Entry, schema: Any) -> Entry:
    name = tool.get("name")
    found = _NAMESPACE.match(name) if isinstance(name, str) else None
    return {
        "id": name,
        "name": name,
        "description": tool.get("description") or "",
        "namespace": found["space"].replace("__", ".").replace("/", ".") if found else "",
        "args_schema": {} if schema is None else schema,
    }


def _label(entry: Entry, place: int) -> str:
    name = entry.get("id", entry.get("name"))
    return repr(name[:80]) if isinstance(name, str) and name else str(place)
