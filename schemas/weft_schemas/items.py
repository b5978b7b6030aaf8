"""ContextItem, the atomic unit of the log, and the levels and kinds it can have."""

from __future__ import annotations

from enum import StrEnum
from math import isfinite
from typing import Any

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.faults import converted, fault_of
from weft_schemas.lone_surrogates import is_encodable
from weft_schemas.reasoning import Reasoning

MAX_ID_BYTES = 256
MAX_DEPTH = 64
"""Most levels of nested metadata: far fewer than exhaust a decoder's stack, so that every process
can read what another one has read."""


class ItemKind(StrEnum):
    """The role of an item in the agent's loop; the subject contains it and decides trust."""

    USER_TURN = "user_turn"
    AGENT_MSG = "agent_msg"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    DOC_SNIPPET = "doc_snippet"
    MEMORY_FACT = "memory_fact"
    PLAN_STATE = "plan_state"
    POLICY = "policy"


class Sensitivity(StrEnum):
    """Ordered: public < internal < confidential < restricted."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"

    @property
    def level(self) -> int:
        return _LEVELS[self]

    def reaches(self, floor: Sensitivity) -> bool:
        """Whether an item of this level is subject to `floor` (meets or exceeds it)."""
        return _LEVELS[self] >= _LEVELS[floor]

    def raised_to(self, other: Sensitivity) -> Sensitivity:
        """The higher of the two levels."""
        return self if self.level >= other.level else other


LEVELS = tuple(Sensitivity)
"""From the least sensitive on."""
_LEVELS = {level: order for order, level in enumerate(LEVELS)}


class BodyRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body kept in the object store, content-addressed; the item's `text` is then empty."""

    sha256: str
    """Hex digest of the body's bytes (UTF-8 of a text). The object in `weft_bodies` is named `b`,
    then the HMAC-SHA-256 of the digest's bytes, keyed with the tenant's name, in hex;
    docs/protocol.md has an example."""
    size: int
    """Size in bytes."""


class ReservedMetadata(msgspec.Struct, frozen=True):
    """The keys of `ContextItem.metadata` whose meaning and type weft defines; others are free."""

    tool_name: str | None = None
    """Of a tool_call or tool_result."""
    call_id: str | None = None
    """The provider's id of the call: ties a tool_result to its tool_call within a turn."""
    arguments: dict[str, Any] | None = None
    """Arguments of a tool_call, as an object."""
    turn_id: str | None = None
    """Parallel calls of one turn share it; so do a user's turn and the documents of its message."""
    author: str | None = None
    """The agent or person, if a session has several."""
    occurred_at: str | None = None
    """RFC 3339 time of an imported item; otherwise the publish time counts."""
    scope: str | None = None
    """Whose memory this is, such as `user:42`; by default only the session's."""
    content_type: str | None = None
    """MIME type of a tool result, if the tool gives it."""
    is_error: bool | None = None
    """The tool reports that the call failed."""
    pin: bool | None = None
    """It is in every prompt of its session."""
    slice_of: str | None = None
    """Handle of the artifact of which this text is a drilled-down slice."""
    slice_seal: str | None = None
    """The drill-down's proof that this is an unchanged slice."""
    provider_reasoning: Reasoning | None = None
    """For a tool_call: the model's reasoning before it, which its provider wants back while the
    turn is open. Never in a prompt's text."""


class ContextItem(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="item", tag_field="type"
):
    """One thing that happened in an agent's session. Published complete, never as a delta.

    `id` is any UTF-8 up to 256 bytes, unique within its session; the first item with an id wins.
    `parent_id` names what this answers: a tool_result its tool_call, a tool_call its turn.
    `token_estimate` is the publisher's guess and only informs; weft counts itself.
    """

    id: str
    kind: ItemKind
    text: str = ""
    parent_id: str | None = None
    token_estimate: int | None = None
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    metadata: dict[str, Any] = {}
    body: BodyRef | None = None
    v: int = 1

    @property
    def reserved(self) -> ReservedMetadata:
        """The typed reserved keys of the metadata.

        Raises `InvalidInput` naming the item and the key if one has the wrong type.
        """
        try:
            return converted(self.metadata, ReservedMetadata)
        except msgspec.ValidationError as error:
            path = fault_of(error).replace("`$", "`$.metadata", 1)
            raise InvalidInput(f"item {self.id!r}: {path}; mend the reserved key") from None


def is_users_document(item: ContextItem) -> bool:
    """Whether it is a document that a user's message brought along, with or without words."""
    return item.kind is ItemKind.DOC_SNIPPET and "turn_id" in item.metadata


def check_item(item: ContextItem) -> ContextItem:
    """The item itself, if it keeps the rules that types cannot express.

    Raises `InvalidInput` naming the item, the field and what to do.
    """
    size = len(item.id.encode("utf-8", "surrogatepass"))
    if not 1 <= size <= MAX_ID_BYTES:
        raise InvalidInput(f"item {item.id[:40]!r}: $.id is {size} bytes; give 1 to {MAX_ID_BYTES}")
    for field, value in (("id", item.id), ("parent_id", item.parent_id), ("text", item.text)):
        if value is not None and not is_encodable(value):
            raise InvalidInput(
                f"item {item.id!r}: $.{field} has a lone surrogate; send valid Unicode"
            )
    if item.body is not None and item.text:
        raise InvalidInput(f"item {item.id!r}: $.text and $.body are both set; send one of them")
    if item.parent_id == item.id:
        raise InvalidInput(f"item {item.id!r}: $.parent_id is the item itself; name another")
    if item.metadata and is_deeper(item.metadata, MAX_DEPTH):
        raise InvalidInput(
            f"item {item.id!r}: $.metadata is nested deeper than {MAX_DEPTH}; flatten it"
        )
    _ = item.reserved
    return item


def check_new_item(item: ContextItem) -> ContextItem:
    """The same for an item that is about to be published: the log contains older ones that break
    these rules and must stay readable."""
    if item.token_estimate is not None and item.token_estimate < 0:
        raise InvalidInput(
            f"item {item.id!r}: $.token_estimate is {item.token_estimate}; give 0 or more, or "
            "leave it out"
        )
    if item.parent_id == "":
        raise InvalidInput(
            f"item {item.id!r}: $.parent_id is empty; name the item that this one answers, or "
            "leave it out"
        )
    return check_item(item)


def not_a_number(value: Any, path: str = "$") -> str:
    """Path of the first number in decoded JSON that JSON cannot contain (NaN and the infinite
    ones); empty if there is none."""
    if isinstance(value, float):
        return "" if isfinite(value) else path
    if isinstance(value, dict):
        inner = ((f"{path}.{key}", one) for key, one in value.items())
    elif isinstance(value, list | tuple):
        inner = ((f"{path}[{place}]", one) for place, one in enumerate(value))
    else:
        return ""
    return next((found for at, one in inner if (found := not_a_number(one, at))), "")


def is_deeper(value: Any, limit: int) -> bool:
    """Whether decoded JSON is nested deeper than `limit` levels of objects and arrays."""
    level = _containers([value])
    for _ in range(limit):
        level = [child for parent in level for child in _containers(parent)]
        if not level:
            return False
    return bool(level)


def _containers(parent: dict[str, Any] | list[Any]) -> list[Any]:
    """The objects and arrays directly inside one."""
    values = parent.values() if isinstance(parent, dict) else parent
    return [value for value in values if isinstance(value, (dict, list))]
