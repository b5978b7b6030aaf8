"""What a compile reads: rows of one session at one sequence; `view.SessionView` gives them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

import msgspec

from weft.passages.part import Outline, unpacked
from weft.passages.splitting import outline_of, readable
from weft.readmodel.calls import call_text
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.items import ItemKind, Sensitivity

REMEMBERED = 32
"""Texts of the recent results of some sessions, which each compile reads again: 8 MB of ASCII."""


@lru_cache(maxsize=REMEMBERED)
def decompressed(data: bytes) -> str:
    """A clean text."""
    return zlib.decompress(data).decode()


class ItemRow(msgspec.Struct, frozen=True, dict=True):
    """One item as of the sequence read."""

    sequence: int
    """Log sequence of the item: its identity in the log and its place in time."""
    ordinal: int
    """Place within its session, from 0, without gaps."""
    id: str
    kind: ItemKind
    text: str
    """Prompt-facing: its own, or its envelope's summary; empty while pending."""
    tokens: int
    """Of `text`, in the read model's encoding."""
    version: int
    """Sequence of the event that `text` comes from."""
    parent_id: str | None
    sensitivity: Sensitivity
    """Effective: the publisher's, or raised by its envelope."""
    metadata: Mapping[str, Any]
    published_ns: int
    outline: bytes = b""
    """Of `whole`, as `passages.packed` gives it; empty where it is one passage, or of an untrusted
    item whose whole text is its envelope's."""
    pending: bool = False
    """Untrusted and without an envelope at this sequence."""
    parked: bool = False
    """A worker gave it up: it has no text and never will without an operator."""
    envelope: ResultEnvelope | None = None
    summary: str = ""
    """Short form by the summarizer, empty where there is none."""
    summary_tokens: int = 0
    summary_version: int = 0
    packed: bytes = b""
    """The clean text of an untrusted item, compressed, where it is not its envelope's summary."""
    packed_tokens: int = 0
    packed_size: int = 0
    """Characters of the clean text."""
    outdated: tuple[int, ...] = ()
    """Of a `memory_fact`, by their numbers, what it gives and `text` does not say any more, since
    newer values are known."""

    @property
    def is_complete(self) -> bool:
        """Whether `whole` is all that the item says, and not only a summary of it."""
        envelope = self.envelope
        if envelope is None:
            return not self.parked and not self.pending
        return bool(self.packed) or envelope.complete or envelope.passthrough

    @cached_property
    def whole(self) -> str:
        """All that a prompt may show of the item: its own text, the clean text of what a tool said,
        or the envelope's summary where nothing more is kept."""
        if self.packed:
            return decompressed(self.packed)
        return call_text(self.text, self.metadata) if self.kind is ItemKind.TOOL_CALL else self.text

    @property
    def whole_tokens(self) -> int:
        """Of `whole`; of a large result close to it."""
        return self.packed_tokens if self.packed else self.tokens

    @property
    def size_of_whole(self) -> int:
        """Characters of `whole`."""
        return self.packed_size if self.packed else len(self.whole)

    @cached_property
    def parts(self) -> Outline | None:
        """The outline of `readable`, None where it is one passage."""
        if self.outline:
            return unpacked(self.outline)
        if self.envelope is None or not self.is_complete:
            return None
        return outline_of(self.whole, self.envelope.content_type)

    @cached_property
    def readable(self) -> str:
        """The text that the places of `parts` are of: `whole`, its long strings decoded."""
        return readable(self.whole, self.parts)

    @cached_property
    def part_count(self) -> int:
        """Of how many parts a choice can be made; 1 where `whole` is one passage."""
        return 1 if self.parts is None else len(self.parts.leaves)


class Match(msgspec.Struct, frozen=True):
    """A passage that answers a query."""

    sequence: int
    """Of the item."""
    ordinal: int
    passage: int
    """Its number within the item, from 0."""
    score: float
    """BM25 over this session's items at or before the sequence read."""
    kind: ItemKind
    """Of the item."""


class FactRow(msgspec.Struct, frozen=True):
    scope: str
    key: str
    value: str
    sequence: int
    """Of the source; the newest per scope and key is the one in force."""
    version: int
    """Of the fact event."""
    sources: tuple[str, ...]
    sensitivity: Sensitivity
    session: str
    """In which it was learned."""


class EpisodeRow(msgspec.Struct, frozen=True):
    scope: str
    episode_id: str
    text: str
    tokens: int
    version: int
    first_sequence: int
    last_sequence: int
    sensitivity: Sensitivity
    session: str


class FactStore(Protocol):
    """What is known, as key and value: the header's facts are read through this."""

    def facts(self, scopes: Sequence[str]) -> list[FactRow]:
        """Facts in force for these scopes, ordered by scope and key; one that was withdrawn has an
        empty value."""


class EpisodicStore(Protocol):
    """Short summaries of past stretches, keyed by episode id: the header's episodes."""

    def episodes(self, scopes: Sequence[str], limit: int) -> list[EpisodeRow]:
        """Newest episodes of these scopes, newest first."""
