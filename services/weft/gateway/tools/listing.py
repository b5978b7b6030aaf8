"""Servers' tools as hosts see them: under names that every provider accepts, and with output
schemas that allow a handle."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import mcp_types as types

from weft.gateway.results.handle_references import MARK
from weft.gateway.tools.tool import HASH_DIGITS, GatewayTool
from weft_schemas.ids import digest

MAX_NAME = 64
"""Characters of a tool's name that every provider accepts."""


def host_tool(tool: GatewayTool, name: str) -> types.Tool:
    """A tool as the host sees it: with the gateway's name for it, and with an output schema that
    allows the handle of a large result."""
    update: dict[str, Any] = {"name": name, "execution": None}
    if tool.tool.output_schema is not None:
        update["output_schema"] = opened_schema(tool.tool.output_schema)
    return tool.tool.model_copy(update=update)


def opened_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that takes what this one takes, or `{"$weft": handle}`. Definitions stay at the
    root, where references point to them."""
    apart: dict[str, Any] = {
        key: schema[key] for key in ("$defs", "definitions", "$schema") if key in schema
    }
    own = {key: value for key, value in schema.items() if key not in apart}
    handle = {
        "type": "object",
        "properties": {MARK: {"type": "string"}, "note": {"type": "string"}},
        "required": [MARK],
    }
    return {**apart, "type": "object", "anyOf": [own, handle]}


def passed_names(ids: Iterable[str]) -> dict[str, str]:
    """Names that providers accept → ids, for all tools together: `server__tool`, with a hash if
    that is too long or if two would be the same. A tool's name does not depend on the order."""
    plain: dict[str, list[str]] = {}
    for tool_id in ids:
        plain.setdefault(_NOT_IN_NAMES.sub("_", tool_id.replace(":", "__", 1)), []).append(tool_id)
    names: dict[str, str] = {}
    for name, same in plain.items():
        for tool_id in same:
            if len(same) > 1 or len(name) > MAX_NAME:
                tail = digest("name", tool_id)[:HASH_DIGITS]
                names[f"{name[: MAX_NAME - HASH_DIGITS - 1]}_{tail}"] = tool_id
            else:
                names[name] = tool_id
    return names


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
