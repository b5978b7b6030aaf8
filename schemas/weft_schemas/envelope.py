"""What the firewall makes of an untrusted body: ResultEnvelope and its parts."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from weft_schemas.items import BodyRef, Sensitivity


class ResultStatus(StrEnum):
    """Whether the call succeeded, judged from the content."""

    SUCCESS = "success"
    ERROR = "error"
    PARTIAL = "partial"


class ExtractedFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One value that the body states."""

    name: str
    """Its place: a JSON path, a column, a key, an entity name."""
    value: str
    source: str
    """Id of the item that states it."""


class ArtifactRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A handle for the raw body. `body` is set if it is in the object store; otherwise it is in the
    log, in the event of the source item."""

    handle: str
    content_type: str
    size: int
    """Size in bytes."""
    body: BodyRef | None = None


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A way to read an artifact, which a drill-down requests by name."""

    name: str
    """For example `head`, `lines`, `search`, `json`, `rows`, `errors`."""
    hint: str = ""
    """What it shows of this artifact, such as `rows 0..1999 of 7 columns`."""


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something that a guard found in the body. Never contains the secret or the person's data."""

    kind: str
    """`secret`, `pii`, `injection`, `invisible`, `control`, `malformed`, `bounded`."""
    name: str
    """Name of the rule, such as `aws_access_key` or `instruction_override`."""
    count: int = 1
    detail: str = ""
    """The reason in words, safe to show; for a secret, its keyed fingerprint."""
    score: float = 0.0
    """Certainty of an `injection`: it is reported from 2 on, and 4 is the highest. 0 for other
    kinds, which are certain."""


class Mask(msgspec.Struct, frozen=True, array_like=True):
    """A span of a body that must not be shown, in characters of the normalised text."""

    start: int
    end: int
    """Exclusive."""
    text: str
    """The text that replaces it."""


class CleanBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How to make the clean text from a body, in the log or in the object store: the body,
    normalised if necessary, with the masks applied. `weft.bodies.masking.clean_text` does this."""

    normalised: bool = False
    """Hidden characters or malformed bytes were removed, so the fold removes them as well."""
    masks: tuple[Mask, ...] = ()
    """In order, without overlaps."""
    characters: int = 0
    """Characters of the clean text."""
    tokens: int = 0
    """Tokens of the clean text; exact up to the worker's bound, extrapolated above it."""
    digest: str = ""
    """First 16 hex digits of the SHA-256 of the clean text in UTF-8."""


class ResultEnvelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The form of a tool result for prompts. A prompt may contain its `summary`."""

    summary: str
    status: ResultStatus = ResultStatus.SUCCESS
    facts: tuple[ExtractedFact, ...] = ()
    artifacts: tuple[ArtifactRef, ...] = ()
    views: tuple[View, ...] = ()
    content_type: str = "text/plain"
    passthrough: bool = False
    """The summary is the whole body, unchanged except for masked spans."""
    raw_size: int = 0
    """Size in bytes."""
    raw_tokens: int = 0
    """Exact up to the worker's bound, extrapolated above it."""
    summary_tokens: int = 0
    tokens_saved: int = 0
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    """The source's level, or a higher one that a guard set; never a lower one."""
    signals: tuple[Signal, ...] = ()
    firewall_version: str = ""
    encoding: str = ""
    """Name of the encoding in which the tokens are counted."""
    complete: bool = False
    """The summary is the whole clean text; `clean` is then absent."""
    clean: CleanBody | None = None
    """How to make the whole clean text. Absent if the body is not text, was not analysed whole, or
    may only be shown as its summary."""
