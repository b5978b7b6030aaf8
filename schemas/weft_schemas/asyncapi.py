"""The AsyncAPI 3 document: which message goes over which subject, in which direction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft_schemas.event_place import IN_EVENTS, TENANT_EVENTS
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ItemKind
from weft_schemas.subjects import AUDIT_STREAM, SESSION_CLOSED, STREAM

AUDIT_EVENTS = ("compiled", "routed", "chosen")
SERVICES = {
    "compile": ("compile_request", "context_pack"),
    "drilldown": ("drilldown_request", "drilldown_reply"),
    "explain": ("explain_request", "explain_reply"),
    "status": ("status_request", "status_reply"),
    "sessions": ("sessions_request", "sessions_reply"),
    "route": ("route_request", "route_reply"),
    "hydrate": ("hydrate_request", "hydration_result"),
    "choose": ("choice_request", "choice_reply"),
}
"""Service → request and reply."""

_TOKEN = (
    "Up to 128 characters of A-Z a-z 0-9 _ - as they are; any other id as `=` and its unpadded "
    "base64url form."
)
_HEADERS = {
    "Nats-Msg-Id": "Same bytes of the same item, same id: a retry stores nothing twice.",
    "ce-specversion": "CloudEvents 1.0, binary mode.",
    "ce-id": "The message id.",
    "ce-type": "`weft.` and the event's type.",
    "ce-source": "Who published it.",
    "traceparent": "W3C trace context, carried through to what is derived.",
}


def asyncapi(event_types: Iterable[str]) -> dict[str, Any]:
    """The whole document; payloads refer to the JSON Schema files beside it."""
    derived = [name for name in event_types if name not in (*IN_EVENTS, *TENANT_EVENTS)]
    channels = {
        "items": _channel("weft.{tenant}.{session}.in.{kind}", ["item"], ITEM_NOTE),
        "closing": _channel(f"weft.{{tenant}}.{{session}}.in.{SESSION_CLOSED}", [SESSION_CLOSED]),
        "reviving": _channel("weft.{tenant}.{session}.in.revived", ["revived"], REVIVED_NOTE),
        "derived": _channel("weft.{tenant}.{session}.out.{event}", derived, DERIVED_NOTE),
        "tenant": _channel(f"weft.{{tenant}}.{TENANT_SESSION}.out.{{event}}", list(TENANT_EVENTS)),
        "audit": _channel("weft-audit.{tenant}.{session}.{event}", list(AUDIT_EVENTS), AUDIT_NOTE),
    }
    for service, (request, reply) in SERVICES.items():
        channels[service] = _channel(f"weft-rpc.{{tenant}}.{{session}}.{service}", [request])
        channels[f"{service}_reply"] = _channel(None, [reply, "error"], REPLY_NOTE)
    names = {name for channel in channels.values() for name in channel["messages"]}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "weft", "version": "1", "description": ABOUT},
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": _operations(),
        "components": {"messages": {name: _message(name) for name in sorted(names)}},
    }


ABOUT = (
    f"Agents publish items to subjects; the stream `{STREAM}` stores them as "
    "`w.<in|out>.<partition>.<tenant>.<session>.<event>`, workers derive events from them, and the "
    "compiler answers requests from the log. Publishing is a NATS request to the subject: the "
    "reply is JetStream's acknowledgement with the sequence."
)
ITEM_NOTE = (
    "One complete item a message. The kind in the subject equals the body's: "
    + ", ".join(ItemKind)
    + "."
)
DERIVED_NOTE = "What workers derive, and what operators decide; agents only read it."
REVIVED_NOTE = "An operator has a parked source worked again, or drops it."
AUDIT_NOTE = f"One event per compile, routing decision and choice, in the stream `{AUDIT_STREAM}`."
REPLY_NOTE = "A reply with the header `Weft-Error` is an error; the header holds its code."


def _channel(address: str | None, messages: list[str], note: str = "") -> dict[str, Any]:
    channel: dict[str, Any] = {
        "address": address,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
    }
    if note:
        channel["description"] = note
    named = [part[1:-1] for part in (address or "").split(".") if part.startswith("{")]
    if named:
        channel["parameters"] = {name: _parameter(name) for name in named}
    return channel


def _parameter(name: str) -> dict[str, Any]:
    match name:
        case "kind":
            return {"enum": [str(kind) for kind in ItemKind]}
        case "event":
            return {"description": "The event's type."}
    return {"description": f"Id of the {name}. {_TOKEN}"}


def _message(name: str) -> dict[str, Any]:
    message: dict[str, Any] = {
        "name": name,
        "payload": {"$ref": f"./jsonschema/{name}.json"},
    }
    if name == "error":
        message["headers"] = _headers({"Weft-Error": "The error's code."})
    elif not name.endswith(("_request", "_reply", "_pack", "_result")):
        message["headers"] = _headers(_HEADERS)
    return message


def _headers(texts: dict[str, str]) -> dict[str, Any]:
    properties = {name: {"type": "string", "description": text} for name, text in texts.items()}
    return {"type": "object", "properties": properties}


def _operations() -> dict[str, Any]:
    """Directions are the services': they receive what agents send."""
    operations = {
        "takeItems": _operation("receive", "items"),
        "takeClosing": _operation("receive", "closing"),
        "takeReviving": _operation("receive", "reviving"),
        "derive": _operation("send", "derived"),
        "takeTenantEvents": _operation("receive", "tenant"),
        "audit": _operation("send", "audit"),
    }
    for service in SERVICES:
        operations[service] = {
            **_operation("receive", service),
            "reply": {
                "address": {"location": "$message.header#/reply"},
                "channel": {"$ref": f"#/channels/{service}_reply"},
            },
        }
    return operations


def _operation(action: str, channel: str) -> dict[str, Any]:
    return {"action": action, "channel": {"$ref": f"#/channels/{channel}"}}
