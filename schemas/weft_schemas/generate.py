"""The contract for other languages: JSON Schemas and an AsyncAPI 3 document, made from the Structs.

`python -m weft_schemas.generate schemas` writes them; a test fails if the files differ from the
output of this module.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from weft_schemas import compile, events, items, routing, status
from weft_schemas.asyncapi import asyncapi

SHAPES: dict[str, type[msgspec.Struct]] = {
    **events.EVENT_TYPES,
    "compiled": compile.CompileAudit,
    "compile_request": compile.CompileRequest,
    "context_pack": compile.ContextPack,
    "drilldown_request": compile.DrilldownRequest,
    "drilldown_reply": compile.DrilldownReply,
    "explain_request": compile.ExplainRequest,
    "explain_reply": compile.ExplainReply,
    "route_request": routing.RouteRequest,
    "route_reply": routing.RouteReply,
    "routed": routing.RouteAudit,
    "choice_request": routing.ChoiceRequest,
    "choice_reply": routing.ChoiceReply,
    "chosen": routing.ChoiceAudit,
    "hydrate_request": routing.HydrateRequest,
    "hydration_result": routing.HydrationResult,
    "status_request": status.StatusRequest,
    "status_reply": status.StatusReply,
    "sessions_request": status.SessionsRequest,
    "sessions_reply": status.SessionsReply,
    "error": compile.ErrorReply,
}
"""Name of the schema file → its type: every event, request and reply."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def documents() -> dict[str, bytes]:
    """Path below `schemas/` → content, byte for byte as committed."""
    made = {f"jsonschema/{name}.json": schema(name) for name in SHAPES}
    made["asyncapi.json"] = asyncapi(events.EVENT_TYPES)
    return {path: _written(content) for path, content in made.items()}


def schema(name: str) -> dict[str, Any]:
    """One JSON Schema with everything that it refers to, with descriptions of fields."""
    kind = SHAPES[name]
    (root,), parts = described([kind], "#/$defs/{name}", reserved=kind is items.ContextItem)
    return {"$schema": DIALECT, "$id": f"urn:weft:schema:{name}:1", **root, "$defs": parts}


def described(
    kinds: Sequence[Any], ref_template: str, *, reserved: bool
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """A schema for each type, and by name the parts that they refer to, with descriptions of
    fields.

    `reserved` gives types to the reserved keys of an item's metadata.
    """
    roots, parts = msgspec.json.schema_components(kinds, ref_template=ref_template)
    if reserved:
        _describe_metadata(parts, ref_template)
    seen: dict[str, Any] = {}
    for kind in kinds:
        for struct in _inner(msgspec.inspect.type_info(kind)):
            _structs(struct, seen)
    for part in seen.values():
        if part.__name__ in parts:
            _describe(parts[part.__name__], part)
    return roots, parts


def _describe_metadata(parts: dict[str, Any], ref_template: str) -> None:
    """The reserved keys are typed; other keys stay free."""
    (ref,), reserved = msgspec.json.schema_components(
        [items.ReservedMetadata], ref_template=ref_template
    )
    parts.update(reserved)
    _describe(parts["ReservedMetadata"], items.ReservedMetadata)
    parts["ContextItem"]["properties"]["metadata"] = {**ref, "default": {}}


def _describe(part: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    """Add the docstrings of a Struct and of its fields. Without one of its own a Struct would give
    msgspec's."""
    part["description"] = _joined(inspect.cleandoc(vars(kind).get("__doc__") or ""))
    for field, text in _field_docs(kind).items():
        if field in part.get("properties", {}):
            part["properties"][field]["description"] = text


def _field_docs(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The string below a field, which Python itself does not keep."""
    (body,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[field.target.id] = _joined(str(below.value.value))
    return found


def _structs(kind: type[msgspec.Struct], seen: dict[str, Any]) -> dict[str, Any]:
    """Every Struct inside a Struct, including itself."""
    if kind.__name__ in seen:
        return seen
    seen[kind.__name__] = kind
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    for field in info.fields:
        for inner in _inner(field.type):
            _structs(inner, seen)
    return seen


def _inner(info: msgspec.inspect.Type) -> list[type[msgspec.Struct]]:
    match info:
        case msgspec.inspect.StructType(cls=held):
            return [held]
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            return [*_inner(key), *_inner(value)]
        case (
            msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.ListType(item_type=item)
        ):
            return _inner(item)
        case msgspec.inspect.UnionType(types=types):
            return [held for one in types for held in _inner(one)]
    return []


def _joined(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _written(content: dict[str, Any]) -> bytes:
    return (
        msgspec.json.format(msgspec.json.encode(content, order="deterministic"), indent=2) + b"\n"
    )


def write(folder: Path) -> None:
    """Write all documents below `folder`, and remove schemas that no longer exist."""
    made = documents()
    (folder / "jsonschema").mkdir(parents=True, exist_ok=True)
    for old in (folder / "jsonschema").glob("*.json"):
        if f"jsonschema/{old.name}" not in made:
            old.unlink()
    for path, content in made.items():
        (folder / path).write_bytes(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
