"""Items that the gateway publishes in the host's session: each call with its arguments before it is
made, each raw result before the host gets it, each refusal with its reason."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from weft.whole_characters import whole_characters
from weft_schemas.items import ContextItem, ItemKind, Sensitivity, is_deeper

_MAX_ARGUMENTS = 64 * 1024
"""Longest arguments, in bytes, that are kept in an item's metadata; longer ones stand only in its
text."""
_MAX_DEPTH = 48


def new_id(kind: str) -> str:
    """A new item's id; several gateways may publish in the session."""
    return f"{kind}-{secrets.token_hex(8)}"


def call_item(tool: str, arguments: dict[str, Any], host: str) -> ContextItem:
    """A call of `server:tool`, or of one of the gateway's own tools."""
    written = msgspec.json.encode(arguments)
    item_id = new_id("call")
    metadata: dict[str, Any] = {"tool_name": tool, "call_id": item_id, "host": host}
    if len(written) <= _MAX_ARGUMENTS and not is_deeper(arguments, _MAX_DEPTH):
        metadata["arguments"] = arguments
    return ContextItem(
        item_id, ItemKind.TOOL_CALL, f"{tool}({written.decode()})", metadata=metadata
    )


def result_item(
    call: ContextItem, text: str, *, is_error: bool = False, content_type: str | None = None
) -> ContextItem:
    """The raw result of a call."""
    metadata: dict[str, Any] = {
        "tool_name": call.metadata["tool_name"],
        "call_id": call.metadata["call_id"],
    }
    if is_error:
        metadata["is_error"] = True
    if content_type:
        metadata["content_type"] = content_type
    return ContextItem(
        new_id("result"), ItemKind.TOOL_RESULT, whole_characters(text), call.id, metadata=metadata
    )


def refusal_item(call: ContextItem, reason: str) -> ContextItem:
    """A call that was not made, and why."""
    item = result_item(call, reason, is_error=True)
    return msgspec.structs.replace(item, metadata={**item.metadata, "refused": True})


def slice_item(
    call: ContextItem, text: str, handle: str, seal: str, level: Sensitivity
) -> ContextItem:
    """A slice of a result: not firewalled again, and as sensitive as its source."""
    item = result_item(call, text)
    metadata = {**item.metadata, "slice_of": handle, "slice_seal": seal}
    return msgspec.structs.replace(item, sensitivity=level, metadata=metadata)
