"""Every event of the log besides ContextItem, the union of them, and its strict decoding."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from weft_schemas.envelope import ResultEnvelope
from weft_schemas.errors import InvalidInput, UnknownVersion
from weft_schemas.faults import fault_of, valid_values
from weft_schemas.grants import ScopeGrants
from weft_schemas.items import ContextItem, Sensitivity, check_item
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog

VERSION = 1
"""Newest schema version of every event of this release."""


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The source of a derived event, and its author."""

    sequence: int
    """Log sequence of the source event."""
    item_id: str = ""
    """Its item id, empty if the source is not an item."""
    worker: str = ""
    """`firewall`, `summarizer`, `memory`, `indexer`."""
    worker_version: str = ""
    policy_version: int = 0
    run: str = ""
    """Name of a re-derivation; empty for live work. For one source, worker and run the first event
    counts; a later run supersedes it."""


class EnvelopeEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="envelope", tag_field="type"
):
    """The firewall's result for one untrusted item."""

    origin: Origin
    envelope: ResultEnvelope
    v: int = 1


EXTRACTIVE = "extractive"
"""The summarizer that calls no model, so its output can be made again at any time."""


class SummaryEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="summary", tag_field="type"
):
    """The short form of one long trusted item, or of a closed session (`item_id` is then empty)."""

    origin: Origin
    text: str
    tokens: int
    encoding: str
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    """The highest level of its sources."""
    model: str = EXTRACTIVE
    scope: str = ""
    """For a session's summary: the one scope that its items name, otherwise `session:<id>`."""
    first_sequence: int = 0
    """For a session's summary: its first item since the session was last closed."""
    last_sequence: int = 0
    sources: tuple[str, ...] = ()
    """For a session's summary: ids of the items from whose text it was made."""
    v: int = 1


class MemoryFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`key=value`, true for a scope from its source's sequence on until there is a newer value. An
    empty value says that nothing is known any more. What a user's turn states replaces no value
    from another source: it stands beside it."""

    key: str
    value: str
    sources: tuple[str, ...]
    """Item ids."""
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    negates: tuple[str, ...] = ()
    """Values that the source says are not, or no longer, true; `value` is then empty. The value in
    force is withdrawn if it is one of them, whatever its case, also with a company's legal form or
    with what specifies it behind a comma. Any other stays in force."""


class FactsEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="fact", tag_field="type"
):
    """All facts learned from one source; an empty list in a later run withdraws them."""

    origin: Origin
    scope: str
    """`session:<id>` unless the item's metadata names one, such as `user:42`."""
    facts: tuple[MemoryFact, ...]
    v: int = 1


class EpisodeEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="episode", tag_field="type"
):
    """A short summary of a past stretch of a session, for the header of later ones."""

    origin: Origin
    episode_id: str
    scope: str
    text: str
    tokens: int
    encoding: str
    first_sequence: int
    last_sequence: int
    sources: tuple[str, ...] = ()
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    v: int = 1


class SensitivityEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="sensitivity", tag_field="type"
):
    """A classifier's judgement: from this event on, the source item is at least this sensitive."""

    origin: Origin
    sensitivity: Sensitivity
    v: int = 1


class SessionClosedEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="session_closed", tag_field="type"
):
    """A session ended at `last_sequence` (0: at this event). Later items open it again."""

    last_sequence: int = 0
    reason: str = "closed"
    """`closed` by the client or `idle`."""
    v: int = 1


class ParkedEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="parked", tag_field="type"
):
    """A worker gave up this source, so that others need not wait for it; the raw event stays in the
    log."""

    origin: Origin
    code: str
    error: str
    """Safe to show: never contains the body."""
    attempts: int
    v: int = 1


class RevivedEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="revived", tag_field="type"
):
    """An operator replayed (`drop` false) or dropped a parked source."""

    origin: Origin
    drop: bool = False
    v: int = 1


class ErasedEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="erased", tag_field="type"
):
    """The tombstone of a session, or of a whole tenant (`session` null): the fold ignores it from
    here on. Published under the tenant's reserved session."""

    session: str | None
    reason: str = ""
    events: int | msgspec.UnsetType = msgspec.UNSET
    """Number of its events in the log at that time. Written by releases that did not yet name what
    they erase; see `ErasingEvent`."""
    v: int = 1


class ScopeErasedEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="scope_erased", tag_field="type"
):
    """The tombstone of a scope. It deletes earlier items that name the scope, everything derived
    from them, and the scope's memory. Items that name the scope later are remembered as usual.
    Published under the tenant's reserved session."""

    scope: str
    reason: str = ""
    unreadable: tuple[int, ...] = ()
    """Records that cannot be decoded and that contain the scope's name: they are deleted too."""
    v: int = 1


class ErasingEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="erasing", tag_field="type"
):
    """Events that an erasure is about to delete. It is published before they are, so that the
    auditor tells them from events that somebody else deleted, wherever the erasure is interrupted.
    Published under the tenant's reserved session."""

    tombstone_sequence: int
    sequences: tuple[tuple[int, int], ...]
    """First and last of each run of sequences, in order; empty in a copy, where there are no
    gaps."""
    v: int = 1


class ErasureReceiptEvent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="erasure_receipt", tag_field="type"
):
    """What an erasure removed, in counts, and what it could not reach."""

    session: str | None
    tombstone_sequence: int
    removed: dict[str, int]
    unreachable: tuple[str, ...]
    v: int = 1
    scope: str | msgspec.UnsetType = msgspec.UNSET
    """For the erasure of a scope; `session` is then null."""


TOMBSTONES = ("erased", "scope_erased")
"""Types of events from which on the fold ignores what they name."""
ERASURE_RECORDS = (*TOMBSTONES, "erasing", "erasure_receipt")
"""Types of events that say what was erased; they stay."""


Event = (
    ContextItem
    | EnvelopeEvent
    | SummaryEvent
    | FactsEvent
    | EpisodeEvent
    | SensitivityEvent
    | SessionClosedEvent
    | ParkedEvent
    | RevivedEvent
    | ErasedEvent
    | ScopeErasedEvent
    | ErasingEvent
    | ErasureReceiptEvent
    | ContextPolicy
    | Catalog
    | ScopeGrants
)

EVENT_TYPES: dict[str, type[msgspec.Struct]] = {
    str(cls.__struct_config__.tag): cls for cls in Event.__args__
}


_OPERATORS = frozenset({"context_policy", "catalog", "scope_grants"})


class _Peek(msgspec.Struct):
    type: str = ""
    v: int = 1


_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_peek = msgspec.json.Decoder(_Peek)
_encoder = msgspec.json.Encoder(order="deterministic")


def encode_event(event: Event) -> bytes:
    """Canonical bytes: JSON with object keys in a fixed order; equal events give equal bytes.

    Raises `InvalidInput` if the event cannot be encoded (a lone surrogate).
    """
    try:
        return _encoder.encode(event)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise InvalidInput(
            f"this {type(event).__name__} cannot be encoded: {error}; give plain values"
        ) from None


def content_digest(payload: bytes) -> str:
    """Hex SHA-256 of an event's canonical bytes. Items with equal digests are the same item."""
    return hashlib.sha256(payload).hexdigest()


def decode_event(payload: bytes) -> Event:
    """Decode and check one event.

    Raises `UnknownVersion` for a version that is newer than this release knows, otherwise
    `InvalidInput` with the path of the wrong field.
    """
    try:
        event = _decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _undecodable(payload, error) from None
    if event.v > VERSION:
        raise _unknown_version(str(type(event).__struct_config__.tag), event.v)
    if event.v < 1:
        raise InvalidInput(f"event has version {event.v} at `$.v`; versions start at 1")
    return check_item(event) if isinstance(event, ContextItem) else event


def _undecodable(payload: bytes, error: Exception) -> InvalidInput:
    try:
        seen = _peek.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        text = f"event is not an event in JSON: {fault_of(error)}"
        return InvalidInput(f"{text}; see schemas/jsonschema")
    if seen.v > VERSION:
        return _unknown_version(seen.type, seen.v)
    known = f"type {seen.type!r}" if seen.type in EVENT_TYPES else "an unknown type"
    # The whole message is given for an operator's input: he has to correct it, and it is nobody's
    # data.
    why = str(error) if seen.type in _OPERATORS else fault_of(error)
    values = valid_values(str(error), EVENT_TYPES.get(seen.type, Any))
    why += f": use one of {', '.join(values)}" if values else ""
    return InvalidInput(f"event of {known}: {why}; see schemas/jsonschema")


def _unknown_version(name: str, version: int) -> UnknownVersion:
    known = f"type {name!r}" if name in EVENT_TYPES else "an unknown type"
    return UnknownVersion(
        f"event of {known} has version {version}; this release knows up to {VERSION}: upgrade it"
    )
