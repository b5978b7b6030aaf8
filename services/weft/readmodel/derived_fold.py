"""Folding derived events. One counts only if its source is known and in the same session, and if no
earlier derived event outranks it."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from weft import tokens
from weft.bodies.clean import clean
from weft.bodies.masking import clean_text
from weft.passages.part import packed
from weft.passages.splitting import TYPES, passages_of
from weft.prompt_injection.detection import signals_in
from weft.readmodel.documents import Documents
from weft.readmodel.memory_fold import EPISODE, FACT, USER_FACT, remember, withdraw
from weft.readmodel.postings import Passage, counted
from weft.readmodel.precedence import Derivation, superseded_by
from weft.readmodel.raw_bodies import RawBodies
from weft.readmodel.session_counters import SessionState
from weft.readmodel.store import OPEN, bounded, insert, statements
from weft_schemas.envelope import CleanBody, ResultEnvelope
from weft_schemas.errors import Corrupt, InvalidInput, Unavailable
from weft_schemas.events import (
    EnvelopeEvent,
    EpisodeEvent,
    Event,
    FactsEvent,
    Origin,
    ParkedEvent,
    RevivedEvent,
    SensitivityEvent,
    SummaryEvent,
    encode_event,
)
from weft_schemas.ids import session_scope
from weft_schemas.items import LEVELS, BodyRef, ItemKind
from weft_schemas.subjects import StoredSubject

_sql = statements("fold")
_COMPRESSION = 1
"""The fastest: 200 KB of JSON take 2 ms and shrink to a fifth."""


class Contradiction(InvalidInput):
    """The source of a derived event is unknown or elsewhere. The fold ignores and counts it."""

    code = "contradiction"


class _Source(msgspec.Struct, frozen=True):
    anchor: int
    """Sequence of the item or closing that the source is about."""
    session: int
    item_id: str
    type: str


class Place(msgspec.Struct, frozen=True):
    """The place of a derived event in the log."""

    version: int
    """Its sequence."""
    address: StoredSubject
    state: SessionState
    """Of its session."""


class DerivedFold(msgspec.Struct):
    """Folds derived events within the fold's transaction."""

    db: sqlite3.Connection
    encoding: str
    documents: Documents
    bodies: RawBodies

    def apply(self, place: Place, event: Event) -> None:
        """Fold the event, unless it is a duplicate or outranked. Raises `Contradiction`."""
        fold = _FOLDS.get(type(event))
        if fold is None:
            raise InvalidInput(f"the fold does not know {type(event).__name__}; upgrade it")
        fold(self, place, event)

    def _envelope(self, place: Place, event: EnvelopeEvent) -> None:
        source, version = self._item(place, event.origin, "envelope"), place.version
        # An item that waits has no envelope yet, nothing of one, and no text of its own.
        is_first = self.db.execute(_sql.settle, (version, source.anchor, version)).rowcount > 0
        if not self._counts(version, "envelope", source, event.origin, is_first=is_first):
            return
        envelope = event.envelope
        count = self._tokens(envelope.encoding, envelope.summary_tokens, envelope.summary)
        outline, passages = self._clean(place, source.anchor, envelope)
        body = msgspec.json.encode(envelope)
        insert(self.db, "envelopes", version, source.anchor, count, outline, body)
        for one in envelope.artifacts:
            row = (place.address.tenant, one.handle, source.anchor)
            insert(self.db, "artifacts", *row, conflict="IGNORE")
        if envelope.signals or not is_first:  # or those of an earlier envelope no longer hold
            signals = (msgspec.json.encode(envelope.signals), bool(envelope.signals))
            self.db.execute(_sql.add_flags, (source.session, source.anchor, version, *signals))
        if not is_first:
            self.documents.supersede(source.anchor, version)
        self.bodies.drop(source.anchor)  # most envelopes of short results do without
        self.documents.add(place.state, source.anchor, version, passages)

    def _clean(
        self, place: Place, item: int, envelope: ResultEnvelope
    ) -> tuple[bytes, list[Passage]]:
        """Store the clean text, unless the envelope contains it. Returns the outline of the
        envelope's summary if that is the clean text, and the texts for the search."""
        clean = envelope.clean
        text = envelope.summary if envelope.complete or envelope.passthrough else None
        if clean is not None:
            text = self._clean_text(place.address, item, clean)
        if text is None:
            return b"", counted([envelope_text(envelope)])
        if clean is None:  # the summary is the whole text
            whole, texts = passages_of(text, envelope.content_type)
            return packed(whole), counted(texts)
        kind = envelope.content_type if envelope.content_type in TYPES else ""
        outline, passages, compressed = divided(text, kind)
        count = self._tokens(envelope.encoding, clean.tokens, text)
        insert(self.db, "bodies", place.version, item, count, len(text), outline, compressed)
        return b"", passages

    def _clean_text(self, of: StoredSubject, item: int, recorded: CleanBody) -> str | None:
        """The clean text of an item's raw body. None if the body is gone, or if this release makes
        another text of it than the firewall did: then the summary is used. Raises `Unavailable` if
        it is not known whether the body is there: every replica is to show the same."""
        stored = self.db.execute(_sql.stored_body, (item,)).fetchone()
        bodies = self.bodies
        try:
            raw = bodies.stored(of.tenant, BodyRef(*stored)) if stored else bodies.take(item)
        except Unavailable as error:
            place = f"item {item} of session {of.session!r} of tenant {of.tenant!r}"
            raise Unavailable(f"the fold waits for {place}: {error}") from None
        with suppress(Corrupt):
            return None if raw is None else clean_text(raw, recorded)
        return None

    def _summary(self, place: Place, event: SummaryEvent) -> None:
        source = self._source(place, event.origin)
        erased = (place.state.number, source.anchor)
        if source.type == "closing" and self.db.execute(_sql.partly_erased, erased).fetchone():
            raise Contradiction(f"closing {source.anchor}: a scope of its session was erased since")
        if not self._counts(place.version, "summary", source, event.origin):
            return
        text = event.text
        stored = self.db.execute(_sql.stored_kind, (source.anchor,)).fetchone()
        if stored is not None:
            text = self._shown_instead(place, source.anchor, ItemKind(stored[0]), text)
        is_same = text == event.text
        count = self._tokens(event.encoding if is_same else "", event.tokens, text)
        row = (place.version, source.anchor, count, event.sensitivity.value, text)
        insert(self.db, "summaries", *row)

    def _shown_instead(self, place: Place, item: int, kind: ItemKind, text: str) -> str:
        """The summary of an item whose text is in the object store: prompts show it and searches
        find it like any text, so the summary of a document is cleaned and examined."""
        if kind is ItemKind.DOC_SNIPPET:
            cleaned = clean(text.encode())
            text, signals = cleaned.text, (*cleaned.signals, *signals_in(cleaned.text))
            flags = (msgspec.json.encode(signals), bool(signals))
            self.db.execute(_sql.add_flags, (place.state.number, item, place.version, *flags))
        if kind is not ItemKind.TOOL_CALL:
            self.documents.supersede(item, place.version)
            self.documents.add(place.state, item, place.version, counted([text]))
        return text

    def _facts(self, place: Place, event: FactsEvent) -> None:
        source = self._source(place, event.origin)
        kind = f"fact of {source.type}"
        if not self._counts(place.version, kind, source, event.origin, event.scope, withdraw):
            return
        scope = event.scope
        # Not one that the item's publisher may not use.
        told = self.db.execute(_sql.told_by, (source.anchor,)).fetchone()
        teller, refused = told or ("", None)
        if scope.startswith("session:") or refused == scope:
            scope = session_scope(place.address.session)
        type_ = USER_FACT if teller == ItemKind.USER_TURN else FACT
        for fact in event.facts:
            key = (place.address.tenant, type_, scope, fact.key)
            values = (place.state.number, 0, msgspec.json.encode(fact))
            remember(self.db, key, source.anchor, place.version, values)

    def _episode(self, place: Place, event: EpisodeEvent) -> None:
        source = self._source(place, event.origin)
        kind = f"episode of {source.type}"
        part = f"{event.scope}\n{event.episode_id}"
        if not self._counts(place.version, kind, source, event.origin, part, withdraw):
            return
        count = self._tokens(event.encoding, event.tokens, event.text)
        scope, named = event.scope, (place.state.number, event.scope)
        if scope.startswith("session:") or self.db.execute(_sql.is_refused, named).fetchone():
            scope = session_scope(place.address.session)
        key = (place.address.tenant, EPISODE, scope, event.episode_id)
        values = (place.state.number, count, encode_event(event))
        remember(self.db, key, source.anchor, place.version, values)

    def _level(self, place: Place, event: SensitivityEvent) -> None:
        source, version = self._item(place, event.origin, "level"), place.version
        if not self._counts(version, "level", source, event.origin, "", _end_level):
            return
        insert(self.db, "levels", source.anchor, version, OPEN, LEVELS.index(event.sensitivity))

    def _parked(self, place: Place, event: ParkedEvent) -> None:
        origin, version = event.origin, place.version
        self._source_or_fault(place, origin)
        key = (place.state.number, origin.sequence, origin.worker)
        if self.db.execute(_sql.open_parked, key).fetchone():
            return
        row = (version, *key, origin.item_id, event.code, event.error, bounded(event.attempts))
        insert(self.db, "parked", *row, None, 0)
        if origin.worker == "firewall":
            self.db.execute(_sql.settle, (version, origin.sequence, version))
            self.bodies.drop(origin.sequence)

    def _revived(self, place: Place, event: RevivedEvent) -> None:
        origin, version = event.origin, place.version
        self._source_or_fault(place, origin)
        key = (place.state.number, origin.sequence, origin.worker, origin.worker)
        revived = self.db.execute(_sql.revive, (version, event.drop, *key)).rowcount
        if revived and not event.drop and origin.worker in ("", "firewall"):
            self.db.execute(_sql.wait_again, (version, OPEN, origin.sequence))

    def _item(self, place: Place, origin: Origin, what: str) -> _Source:
        source = self._source(place, origin)
        if source.type != "item":
            raise Contradiction(f"{what} of sequence {origin.sequence}, which is no item")
        return source

    def _source(self, place: Place, origin: Origin) -> _Source:
        _check_order(place, origin)
        row = self.db.execute(_sql.source, (origin.sequence,)).fetchone()
        if row is None:
            raise Contradiction(f"source {origin.sequence} is no item or derived event known here")
        source = _Source(*row)
        if source.session != place.state.number:
            raise Contradiction(f"source {origin.sequence} belongs to another session")
        if origin.item_id and origin.item_id != source.item_id:
            raise Contradiction(f"source {origin.sequence} is not the item that it names")
        return source

    def _source_or_fault(self, place: Place, origin: Origin) -> None:
        """The source of a parked event, which may be a record that cannot be decoded."""
        _check_order(place, origin)
        fault = (origin.sequence, place.version, place.address.tenant, place.address.session)
        if not self.db.execute(_sql.fault_in_session, fault).fetchone():
            self._source(place, origin)

    def _counts(
        self,
        version: int,
        kind: str,
        source: _Source,
        origin: Origin,
        part: str = "",
        supersede: Callable[[sqlite3.Connection, int, int], None] | None = None,
        is_first: bool = False,
    ) -> bool:
        """Whether a derived event counts; if so, record it and supersede what it outranks."""
        key = (source.anchor, kind, origin.worker)
        rows = () if is_first else self.db.execute(_sql.derivations, key)
        known = [Derivation(*row) for row in rows]
        superseded = superseded_by(Derivation(origin.sequence, origin.run, part, version), known)
        if superseded is None:
            return False
        insert(self.db, "derivations", *key, origin.sequence, origin.run, part, version)
        if supersede is not None:
            for old in superseded:
                supersede(self.db, old.version, version)
        return True

    def _tokens(self, encoding: str, count: int, text: str) -> int:
        """The count, or a new one if it is in another encoding."""
        return bounded(count) if encoding == self.encoding else tokens.count(text, self.encoding)


_FOLDS: dict[type, Callable[[DerivedFold, Place, Any], None]] = {
    EnvelopeEvent: DerivedFold._envelope,
    SummaryEvent: DerivedFold._summary,
    FactsEvent: DerivedFold._facts,
    EpisodeEvent: DerivedFold._episode,
    SensitivityEvent: DerivedFold._level,
    ParkedEvent: DerivedFold._parked,
    RevivedEvent: DerivedFold._revived,
}


@lru_cache(maxsize=2)
def divided(text: str, content_type: str) -> tuple[bytes, list[Passage], bytes]:
    """What is stored of a clean text: its packed outline, its passages, and itself compressed. The
    newest are cached for `Fold.prepare`."""
    outline, passages = passages_of(text, content_type)
    return packed(outline), counted(passages), zlib.compress(text.encode(), _COMPRESSION)


def _check_order(place: Place, origin: Origin) -> None:
    if not 0 < origin.sequence < place.version:
        raise Contradiction(f"source {origin.sequence} does not come before this event")


def _end_level(db: sqlite3.Connection, version: int, at: int) -> None:
    db.execute(_sql.end_level, (at, version))


def envelope_text(envelope: ResultEnvelope) -> str:
    """Summary and facts: a search finds a result by these if its clean text is not stored."""
    return "\n".join([envelope.summary, *(f"{fact.name} {fact.value}" for fact in envelope.facts)])
