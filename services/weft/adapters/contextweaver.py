"""contextweaver's event lines: `{type, id, text, parent_id?}` and the other fields of its items.

Its tool calls are written as Python calls, `invoices.search(status='unpaid')`. Name and arguments
are taken from the text if it parses as a call with literal arguments.
"""

from __future__ import annotations

import ast
from typing import Any

import msgspec

from weft.adapters.drafting import Reading, checked
from weft.adapters.records import Record, TranscriptSource
from weft_schemas.items import ContextItem, ItemKind, Sensitivity


class _Line(msgspec.Struct, frozen=True):
    id: str
    text: str
    type: ItemKind
    parent_id: str | None = None
    token_estimate: int | None = None
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    metadata: dict[str, Any] = {}


def read(source: TranscriptSource) -> Reading:
    """The items with their own ids. Raises `InvalidInput` with file, line and field."""
    tools: dict[str, str] = {}
    return Reading(tuple(_item(record, tools) for record in source.records))


def _item(record: Record, tools: dict[str, str]) -> ContextItem:
    line = record.to(_Line)
    metadata = dict(line.metadata)
    if line.type is ItemKind.TOOL_CALL:
        name, arguments = parse_call(line.text)
        if name:
            tools[line.id] = name
            metadata = {"tool_name": name, **metadata}
        if arguments is not None:
            metadata = {"arguments": arguments, **metadata}
    elif line.type is ItemKind.TOOL_RESULT and line.parent_id in tools:
        metadata = {"tool_name": tools[line.parent_id], **metadata}
    return checked(
        record,
        ContextItem(
            line.id,
            line.type,
            line.text,
            line.parent_id,
            line.token_estimate,
            line.sensitivity,
            metadata,
        ),
    )


def parse_call(text: str) -> tuple[str | None, dict[str, Any] | None]:
    """Dotted name and keyword arguments of a Python call; None if it cannot be parsed."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call):
            return None, None
        name = ast.unparse(call.func)
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            return name, None
        return name, {str(word.arg): _literal(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, None


def _literal(node: ast.expr) -> Any:
    """A literal, including JSON's `true`, `false` and `null`."""
    if isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    value = ast.literal_eval(node)
    msgspec.json.encode(value)
    return msgspec.to_builtins(value)


_JSON_NAMES = {"true": True, "false": False, "null": None}
