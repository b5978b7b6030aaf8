"""What the firewall makes of an untrusted body: ResultEnvelope and its parts."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from weft_schemas.items import BodyRef, Sensitivity


class ResultStatus(StrEnum):
    """How the call went, found out from the content."""

    SUCCESS = "success"
    ERROR = "error"
    PARTIAL = "partial"


class ExtractedFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One value that the body states."""

    name: str
    """Where it stands: a JSON path, a column, a key, an entity name."""
    value: str
    source: str
    """Id of the item it came from."""


class ArtifactRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A handle for the raw body. `body` is set where it lies in the object store; else it lies in
    the log, in the event of the source item."""

    handle: str
    content_type: str
    size: int
    """Bytes."""
    body: BodyRef | None = None


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A way to look at an artifact that a drill-down can ask for by name."""

    name: str
    """Such as `head`, `lines`, `search`, `json`, `rows`, `errors`."""
    hint: str = ""
    """What it gives here, such as `rows 0..1999 of 7 columns`."""


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something that a guard saw in the body. Never carries the secret or the person's data."""

    kind: str
    """`secret`, `pii`, `injection`, `invisible`, `control`, `malformed`, `bounded`."""
    name: str
    """The rule, such as `aws_access_key` or `instruction_override`."""
    count: int = 1
    detail: str = ""
    """The reason in words, safe to show; for a secret its keyed fingerprint."""
    score: float = 0.0
    """How sure an `injection` is: from 2 on it is told, 4 is the surest. 0 for what is certain."""


class Mask(msgspec.Struct, frozen=True, array_like=True):
    """A span of a body that may not be shown, in characters of the normalised text."""

    start: int
    end: int
    """Exclusive."""
    text: str
    """What stands there instead."""


class CleanBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What makes the clean text of a body in the log: the body itself, normalised where it must be,
    with the masks over it. `weft.bodies.masking.clean_text` folds them."""

    normalised: bool = False
    """Hidden characters or malformed bytes were taken out, so the fold takes them out as well."""
    masks: tuple[Mask, ...] = ()
    """In order, without overlaps."""
    characters: int = 0
    """Of the clean text."""
    tokens: int = 0
    """Of the clean text; exact up to the worker's bound, above it extrapolated."""
    digest: str = ""
    """First 16 hex digits of the SHA-256 of the clean text in UTF-8."""


class ResultEnvelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The prompt-facing form of a tool result. `summary` is the text that a prompt may hold."""

    summary: str
    status: ResultStatus = ResultStatus.SUCCESS
    facts: tuple[ExtractedFact, ...] = ()
    artifacts: tuple[ArtifactRef, ...] = ()
    views: tuple[View, ...] = ()
    content_type: str = "text/plain"
    passthrough: bool = False
    """The summary is the whole body, unchanged but for masked spans."""
    raw_size: int = 0
    """Bytes."""
    raw_tokens: int = 0
    """Exact up to the worker's bound, above it extrapolated."""
    summary_tokens: int = 0
    tokens_saved: int = 0
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    """The source's, or raised by a guard; never lowered."""
    signals: tuple[Signal, ...] = ()
    firewall_version: str = ""
    encoding: str = ""
    """Name of the encoding that the counts are in."""
    complete: bool = False
    """The summary is the whole clean text; `clean` is then absent."""
    clean: CleanBody | None = None
    """How the whole clean text is made; absent for what is no text, lies in the object store, was
    not analysed whole, or may only be shown as its summary."""
