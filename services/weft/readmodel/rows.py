"""What a compile reads: rows of one session at one sequence, from `view.SessionView`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

import msgspec

from weft.call_text import call_text, tells_all
from weft.passages.part import Outline, unpacked
from weft.passages.splitting import readable
from weft.recent_texts import cached
from weft_schemas.envelope import ResultEnvelope, ResultStatus
from weft_schemas.items import LEVELS, ItemKind, Sensitivity

KINDS = {kind.value: kind for kind in ItemKind}
_levels = {level.value: level for level in Sensitivity}
_metadata = msgspec.json.Decoder(dict[str, Any])
_envelope = msgspec.json.Decoder(ResultEnvelope)
CACHED_ENVELOPES, SMALL = 1_000, 8_192
"""Small envelopes, by their bytes, that each compile reads again: some 30 MB at most."""
BYTES_PER_TOKEN = 4
"""About, of a text that is not at hand."""
_small_envelope = lru_cache(maxsize=CACHED_ENVELOPES)(_envelope.decode)
CACHED_TEXTS = 32
"""Recent results of a few sessions, which each compile reads again: 8 MB of ASCII,
and at most 32 MB of long ones."""


@cached(CACHED_TEXTS, long=128 * 1024)  # compressed to a quarter
def decompressed(data: bytes) -> str:
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
    """As prompts show it: its own, or its envelope's summary; empty while pending."""
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
    """Of `whole`, packed by `passages.packed`; empty if it is one passage."""
    pending: bool = False
    """Untrusted and without an envelope at this sequence."""
    parked: bool = False
    """A worker gave it up: it has no text unless an operator revives it."""
    envelope: ResultEnvelope | None = None
    summary: str = ""
    """By the summarizer; empty if there is none."""
    summary_tokens: int = 0
    summary_version: int = 0
    packed: bytes = b""
    """The clean text of an untrusted item, compressed, if it is not its envelope's summary."""
    packed_tokens: int = 0
    packed_size: int = 0
    """Characters of the clean text."""
    outdated: tuple[int, ...] = ()
    """Numbers of the facts of a `memory_fact` that `text` leaves out for newer values."""
    stored: int = 0
    """Bytes of a trusted item's text that are in the object store and not in the read model: `text`
    is then the summarizer's summary, empty until there is one, and of a call always empty."""

    @property
    def is_complete(self) -> bool:
        """Whether `whole` is the item's whole text, and not only a summary."""
        envelope = self.envelope
        if envelope is None:
            return not self.parked and not self.pending and not self.stored
        return bool(self.packed) or envelope.complete or envelope.passthrough

    @property
    def tool_name(self) -> str:
        """Of a call or a result; empty if it names no tool."""
        named = self.metadata.get("tool_name")
        return named if isinstance(named, str) else ""

    @property
    def failed(self) -> bool:
        """Whether a result's call failed: as its publisher says, else as the firewall found."""
        said = self.metadata.get("is_error")
        if isinstance(said, bool):
            return said
        return self.envelope is not None and self.envelope.status is ResultStatus.ERROR

    @cached_property
    def whole(self) -> str:
        """All that a prompt may show of the item: its own text, a result's clean text, or the
        envelope's summary if nothing more is stored."""
        if self.packed:
            return decompressed(self.packed)
        return call_text(self.text, self.metadata) if self.kind is ItemKind.TOOL_CALL else self.text

    @property
    def whole_tokens(self) -> int:
        """Of `whole`; approximate for a large result."""
        return self.packed_tokens if self.packed else self.tokens

    @property
    def raw_tokens(self) -> int:
        """Of all that the log has of the item; approximate if that is more than `whole`."""
        if self.stored:
            return self.stored // BYTES_PER_TOKEN
        if self.envelope is None or self.is_complete:
            return self.whole_tokens
        return self.envelope.raw_tokens

    @property
    def size_of_whole(self) -> int:
        """Characters of `whole`."""
        return self.packed_size if self.packed else len(self.whole)

    @cached_property
    def parts(self) -> Outline | None:
        """The outline of `readable`, None if that is one passage."""
        return unpacked(self.outline) if self.outline else None

    @cached_property
    def readable(self) -> str:
        """`whole` with long strings decoded: the text to which the places of `parts` refer."""
        return readable(self.whole, self.parts)

    @cached_property
    def part_count(self) -> int:
        """The number of parts to choose from; 1 if `whole` is one passage."""
        return 1 if self.parts is None else len(self.parts.leaves)


def item_row(row: tuple[Any, ...]) -> ItemRow:
    """An `ItemRow` from the columns of the query `item` in view.sql."""
    (
        sequence, ordinal, id, kind, text, tokens, outline, parent_id, sensitivity, metadata,
        published_ns, untrusted, envelope_version, envelope_tokens, envelope_body,
        summary_version, summary_tokens, summary, waits,
        body_tokens, body_size, body_outline, body, raised, stored,
    ) = row  # fmt: skip
    version, envelope = sequence, None
    known = _metadata.decode(metadata) if metadata else {}
    if envelope_version is not None:
        decode = _small_envelope if len(envelope_body) <= SMALL else _envelope.decode
        envelope = decode(envelope_body)
        version, text, tokens = envelope_version, envelope.summary, envelope_tokens
        outline = body_outline or b""
    if stored and kind == ItemKind.TOOL_CALL:
        stored = 0 if tells_all(known, stored) else stored
    elif stored and summary:
        version, text, tokens = summary_version, summary, summary_tokens
    return ItemRow(
        sequence=sequence, ordinal=ordinal, id=id, kind=KINDS[kind], text=text, tokens=tokens,
        version=version, parent_id=parent_id, sensitivity=effective(sensitivity, raised, envelope),
        metadata=known, published_ns=published_ns, outline=outline, envelope=envelope,
        pending=bool(waits), parked=bool(untrusted and envelope is None and not waits),
        summary=summary or "", summary_tokens=summary_tokens or 0,
        summary_version=summary_version or 0,
        packed=body or b"", packed_tokens=body_tokens or 0, packed_size=body_size or 0,
        stored=stored,
    )  # fmt: skip


def effective(level: str, raised: int | None, envelope: ResultEnvelope | None) -> Sensitivity:
    """The sensitivity of an item with its publisher's `level`: that, or the one to which an event
    (`raised`, a place in `LEVELS`) or its envelope raises it."""
    found = _levels[level] if raised is None else _levels[level].raised_to(LEVELS[raised])
    return found if envelope is None else found.raised_to(envelope.sensitivity)


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
    """Empty if it is withdrawn."""
    sequence: int
    """Of the source; the newest per scope and key is the one in force."""
    version: int
    """Of the fact event."""
    sources: tuple[str, ...]
    sensitivity: Sensitivity
    session: str
    """In which it was learned."""
    negates: tuple[str, ...] = ()
    """Values that were withdrawn, if it is a statement that something is not, or no longer, so."""
    by_user: bool = False
    """Whether a user's turn taught it."""
    said_later: FactRow | None = None
    """What the user said since and does not replace the value, since the application gave that."""


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
    """Facts as key and value, for the prompt's header."""

    def facts(self, scopes: Sequence[str]) -> list[FactRow]:
        """Facts in force in these scopes, by scope and key; a withdrawn one has an empty value.
        What a user's turn teaches of one that the application gave is that fact's `said_later`."""


class EpisodicStore(Protocol):
    """Short summaries of earlier work by episode id, for the prompt's header."""

    def episodes(self, scopes: Sequence[str], limit: int) -> list[EpisodeRow]:
        """Newest episodes of these scopes, newest first."""
