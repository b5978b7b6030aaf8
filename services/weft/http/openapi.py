"""The OpenAPI 3.1 document, made from the table of operations and the Structs of the contract.
Litestar could make one from annotated handlers. When tried, it lost every field's description,
`additionalProperties: false` of the strict Structs, the reserved metadata, and defaults that are
objects; its decoding of bodies is looser than its document ("5" for 5), and fails with 500 on
deeply nested JSON. So `requests.py` decodes bodies strictly, and this document is made from the
types that it decodes to."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec

from weft.http import problems, sse
from weft.http.operations import OPERATIONS, Operation, of_session, paths
from weft.http.problems import Problem
from weft_schemas.generate import described

_REF = "#/components/schemas/{name}"
_JSON = "application/json"
_TEXT = {"type": "string"}

FAULTS = {
    400: "The request is malformed; `detail` names the field.",
    401: "No token, or one that is not known.",
    403: "The token's credential does not allow it; or, without tokens, it is no request of this "
    "machine's user.",
    404: "No such session, item, handle, compile or catalogue.",
    405: "The path has no such method.",
    409: "The log changed in between, which reading again helps; or the session was erased, or a "
    "published message was changed, which it does not: `detail` says which.",
    413: "The body is larger than this server takes.",
    415: "The body is of another type or encoding than this server reads.",
    422: "The request took more time or memory than one may take: ask for less. Or another request "
    "came under this Idempotency-Key before.",
    429: "Too many requests, or the log takes no more for now; `Retry-After` says when to come.",
    500: "The deployment is not what this release needs; see the server's log.",
    503: "No service or no quorum answers now; try again.",
}
"""Status → what it means; each with a `Problem`."""

_SESSION: dict[str, Any] = {
    "name": "session",
    "in": "path",
    "required": True,
    "description": "Id of the session, percent-encoded. One with a slash, or that begins with `=`, "
    "as `=` and its base64url form without padding.",
    "schema": {"type": "string", "minLength": 1},
}
_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same body under the same key gets the first answer again, for ten "
    "minutes in one process; another body at the same address is refused.",
    "schema": {"type": "string", "maxLength": 256, "pattern": "^[ -~]*$"},
}
_NO_STREAM = (
    " It does not apply to a stream (`Accept: text/event-stream`): that is answered anew each time."
)
_LAST_EVENT: dict[str, Any] = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "Sequence of the last event seen: the stream goes on after it.",
    "schema": {"type": "string", "pattern": "^[0-9]{0,18}$"},
}


def document() -> dict[str, Any]:
    """The whole document, the same every time."""
    schemas, parts = _schemas()
    operations = {
        path: {one.method.lower(): _operation(one, schemas) for one in several}
        for path, several in paths().items()
    }
    operations["/v1/traces"] = {"post": _telemetry("traces", "Trace")}
    operations["/v1/logs"] = {"post": _telemetry("logs", "Logs")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "weft",
            "version": version("weft"),
            "description": "Agents publish what happens, and compile contexts from it.",
        },
        "security": [{"token": []}, {}],
        "paths": operations,
        "components": {
            "schemas": parts,
            "responses": {str(status): _fault(status) for status in FAULTS},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas() -> tuple[dict[Any, dict[str, Any]], dict[str, Any]]:
    """The reference for each type of the table, and the components by name."""
    kinds: list[Any] = [Problem]
    for one in OPERATIONS:
        streamed = (shape for _, shape in one.events)
        kinds += [one.reply, *([one.body] if one.body else []), *streamed]
    kinds = list(dict.fromkeys(kinds))
    roots, parts = described(kinds, _REF, reserved=True)
    # The path implies that items come, so the tag may be left out.
    parts["ContextItem"]["required"].remove("type")
    parts["ReservedMetadata"]["additionalProperties"] = True
    _open_objects(parts)
    return dict(zip(kinds, roots, strict=True)), parts


def _open_objects(schema: Any) -> None:
    """Declare that objects without fields may hold any; generators of types would take them for
    empty ones."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" not in schema:
            schema.setdefault("additionalProperties", True)
        for inner in schema.values():
            _open_objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            _open_objects(inner)


def _operation(one: Operation, schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    title, _, rest = one.about.partition(". ")
    content: dict[str, Any] = {_JSON: {"schema": schemas[one.reply]}}
    if one.events:
        shapes = (f"`{name}`: {shape.__name__}" for name, shape in one.events if name)
        listed = ", ".join(shapes) or "each event is a LogEvent"
        content[sse.MEDIA_TYPE] = {
            "schema": _TEXT | {"description": f"{listed}. `problem`: Problem."}
        }
    made: dict[str, Any] = {
        "operationId": one.name,
        "summary": title.rstrip("."),
        "description": rest or one.about,
        "parameters": _parameters(one),
        "responses": {"200": {"description": "Done.", "content": content}, **_faults(one)},
    }
    if one.body:
        made["requestBody"] = {
            "required": not one.is_body_optional,
            "content": {_JSON: {"schema": schemas[one.body]}},
        }
    return made


def _faults(one: Operation) -> dict[str, Any]:
    only_bodies = () if one.body else (413, 415, 422)
    return {
        str(status): {"$ref": f"#/components/responses/{status}"}
        for status in FAULTS
        if status not in (405, *only_bodies)
    }


def _fault(status: int) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name="Problem")}
    return {"description": FAULTS[status], "content": {problems.MEDIA_TYPE: {"schema": schema}}}


def _parameters(one: Operation) -> list[dict[str, Any]]:
    found = [_SESSION] if of_session(one) else []
    if one.query is not None:
        (_,), parts = described([one.query], _REF, reserved=False)
        for name, schema in parts[one.query.__name__]["properties"].items():
            about = schema.pop("description", "")
            found.append({"name": name, "in": "query", "description": about, "schema": schema})
    if one.body:
        found.append(
            _KEY | {"description": _KEY["description"] + _NO_STREAM} if one.events else _KEY
        )
    if one.name == "events":
        found.append(_LAST_EVENT)
    return found


def _telemetry(name: str, message: str) -> dict[str, Any]:
    """OpenTelemetry's own form, for which there is no Struct."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    anything = {"schema": {"type": "object"}}
    either = {"application/x-protobuf": binary, _JSON: anything}
    faults = (400, 401, 403, 413, 415, 429, 500, 503)
    request, reply = f"Export{message}ServiceRequest", f"Export{message}ServiceResponse"
    return {
        "operationId": name,
        "summary": f"Take {name} in",
        "description": f"An OTLP/HTTP {request}, gzip or not; see docs/traces.md.",
        "parameters": [],
        "requestBody": {"required": True, "content": either},
        "responses": {
            "200": {"description": f"An {reply}.", "content": either},
            **{str(one): {"$ref": f"#/components/responses/{one}"} for one in faults},
        },
    }


def encoded() -> bytes:
    """The document as it is served, and as `weft serve --openapi` prints it."""
    made = msgspec.json.encode(document(), order="deterministic")
    return msgspec.json.format(made, indent=2) + b"\n"
