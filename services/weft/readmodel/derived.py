"""Folding derived events. One counts only if its source is known, is in the same session, and it
outranks what was derived before."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import msgspec

from weft import tokens
from weft.bodies.masking import clean_text
from weft.passages.part import packed
from weft.passages.splitting import passages_of
from weft.readmodel.compression import compressed
from weft.readmodel.documents import Documents
from weft.readmodel.memories import Memory, remember, withdraw
from weft.readmodel.precedence import Derivation, Verdict, judge
from weft.readmodel.raw_bodies import RawBodies
from weft.readmodel.sessions import SessionState
from weft.readmodel.sql import statements
from weft.readmodel.store import OPEN, bounded
from weft_schemas.envelope import CleanBody, ResultEnvelope
from weft_schemas.errors import Corrupt, InvalidInput
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
from weft_schemas.items import LEVELS
from weft_schemas.subjects import Stored

_sql = statements("fold")


class Contradiction(InvalidInput):
    """A derived event whose source is unknown or in another session. The fold ignores and counts
    it, so this is never raised to callers."""

    code = "contradiction"


class _Source(msgspec.Struct, frozen=True):
    anchor: int
    """Sequence of the item, or of the closing, that the source is about."""
    session: int
    item_id: str
    type: str


class DerivedFold:
    """Folds derived events within the fold's transaction."""

    def __init__(
        self, db: sqlite3.Connection, encoding: str, documents: Documents, bodies: RawBodies
    ) -> None:
        self._db = db
        self._encoding = encoding
        self._documents = documents
        self._bodies = bodies

    def apply(self, version: int, address: Stored, state: SessionState, event: Event) -> bool:
        """False if the event is a duplicate or outranked. Raises `Contradiction`."""
        match event:
            case EnvelopeEvent():
                return self._envelope(version, address, state, event)
            case SummaryEvent():
                return self._summary(version, state, event)
            case FactsEvent():
                return self._facts(version, address, state, event)
            case EpisodeEvent():
                return self._episode(version, address, state, event)
            case SensitivityEvent():
                return self._level(version, state, event)
            case ParkedEvent():
                return self._parked(version, address, state, event)
            case RevivedEvent():
                return self._revived(version, address, state, event)
        raise InvalidInput(f"the fold does not know {type(event).__name__}; upgrade it")

    def _envelope(
        self, version: int, address: Stored, state: SessionState, event: EnvelopeEvent
    ) -> bool:
        source = self._source(version, state, event.origin)
        if source.type != "item":
            raise Contradiction(f"envelope of sequence {event.origin.sequence}, which is no item")
        if not self._counts(version, "envelope", source, event.origin, "", ()):
            return False
        envelope = event.envelope
        known = envelope.encoding == self._encoding
        count = bounded(envelope.summary_tokens) if known else self._count(envelope.summary)
        row = (version, source.anchor, count, msgspec.json.encode(envelope))
        self._db.execute(_sql.add_envelope, row)
        for one in envelope.artifacts:
            self._db.execute(_sql.add_artifact, (address.tenant, one.handle, source.anchor))
        self._db.execute(_sql.settle, (version, source.anchor, version))
        self._flags(version, source, envelope)
        self._documents.supersede(source.anchor, version)
        passages = self._clean(version, source.anchor, envelope)
        self._documents.add(state, source.anchor, version, passages)
        return True

    def _flags(self, version: int, source: _Source, envelope: ResultEnvelope) -> None:
        """Store the envelope's signals, if it or an earlier one has any."""
        known = self._db.execute(_sql.has_flags, (source.session, source.anchor)).fetchone()
        if envelope.signals or known:
            row = (source.session, source.anchor, version, msgspec.json.encode(envelope.signals))
            self._db.execute(_sql.add_flags, row)

    def _clean(self, version: int, item: int, envelope: ResultEnvelope) -> list[str]:
        """Store the clean text if the envelope describes it without containing it. Returns the
        texts by which the item is found."""
        text = envelope.summary if envelope.complete or envelope.passthrough else None
        if envelope.clean is not None:
            raw = self._bodies.take(item)
            text = None if raw is None else _folded(raw, envelope.clean)
        if text is None:
            return [envelope_text(envelope)]
        outline, found_by = passages_of(text, envelope.content_type)
        if envelope.clean is not None:  # else the summary is the whole text
            known = envelope.encoding == self._encoding
            count = bounded(envelope.clean.tokens) if known else self._count(text)
            row = (version, item, count, len(text), packed(outline), compressed(text))
            self._db.execute(_sql.add_body, row)
        return found_by

    def _summary(self, version: int, state: SessionState, event: SummaryEvent) -> bool:
        source = self._source(version, state, event.origin)
        place = (state.number, source.anchor)
        if source.type == "closing" and self._db.execute(_sql.partly_erased, place).fetchone():
            raise Contradiction(f"closing {source.anchor}: a scope of its session was erased since")
        if not self._counts(version, "summary", source, event.origin, "", ()):
            return False
        count = self._tokens(event)
        row = (version, source.anchor, count, event.sensitivity.value, event.text)
        self._db.execute(_sql.add_summary, row)
        return True

    def _facts(self, version: int, address: Stored, state: SessionState, event: FactsEvent) -> bool:
        source = self._source(version, state, event.origin)
        kind = f"fact of {source.type}"
        if not self._counts(version, kind, source, event.origin, event.scope, self._withdraw):
            return False
        scope = self._scope_of_facts(event.scope, address.session, source)
        for fact in event.facts:
            memory = Memory(
                "fact", address.tenant, scope, fact.key, source.anchor, version,
                state.number, 0, msgspec.json.encode(fact),
            )  # fmt: skip
            remember(self._db, memory)
        return True

    def _episode(
        self, version: int, address: Stored, state: SessionState, event: EpisodeEvent
    ) -> bool:
        source = self._source(version, state, event.origin)
        kind = f"episode of {source.type}"
        part = f"{event.scope}\n{event.episode_id}"
        if not self._counts(version, kind, source, event.origin, part, self._withdraw):
            return False
        count = self._tokens(event)
        scope = self._scope_of_session(event.scope, address.session, state)
        memory = Memory(
            "episode", address.tenant, scope, event.episode_id, source.anchor, version,
            state.number, count, encode_event(event),
        )  # fmt: skip
        remember(self._db, memory)
        return True

    def _scope_of_facts(self, scope: str, session: str, source: _Source) -> str:
        """The scope of facts from an item: the one that the worker read, or the session's own if
        the item's publisher may not use that one."""
        if scope.startswith("session:"):
            return f"session:{session}"
        refused = self._db.execute(_sql.refused_scope, (source.anchor,)).fetchone()
        return f"session:{session}" if refused and refused[0] == scope else scope

    def _scope_of_session(self, scope: str, session: str, state: SessionState) -> str:
        """The scope of an episode: one that an item of the session may use, or the session's
        own."""
        own, place = f"session:{session}", (state.number, scope)
        if scope.startswith("session:"):
            return own
        if self._db.execute(_sql.has_scope, place).fetchone():
            return scope
        return own if self._db.execute(_sql.refuses_scope, place).fetchone() else scope

    def _level(self, version: int, state: SessionState, event: SensitivityEvent) -> bool:
        source = self._source(version, state, event.origin)
        if source.type != "item":
            raise Contradiction(f"level of sequence {event.origin.sequence}, which is no item")
        if not self._counts(version, "level", source, event.origin, "", self._end_level):
            return False
        rank = LEVELS.index(event.sensitivity)
        self._db.execute(_sql.add_level, (source.anchor, version, OPEN, rank))
        return True

    def _end_level(self, version: int, at: int) -> None:
        self._db.execute(_sql.end_level, (at, version))

    def _parked(
        self, version: int, address: Stored, state: SessionState, event: ParkedEvent
    ) -> bool:
        origin = event.origin
        self._source_or_fault(version, address, state, origin)
        place = (state.number, origin.sequence, origin.worker)
        if self._db.execute(_sql.open_parked, place).fetchone():
            return False
        row = (version, *place, origin.item_id, event.code, event.error, bounded(event.attempts))
        self._db.execute(_sql.add_parked, row)
        if origin.worker == "firewall":
            self._db.execute(_sql.settle, (version, origin.sequence, version))
        return True

    def _revived(
        self, version: int, address: Stored, state: SessionState, event: RevivedEvent
    ) -> bool:
        origin = event.origin
        self._source_or_fault(version, address, state, origin)
        place = (state.number, origin.sequence, origin.worker, origin.worker)
        if not self._db.execute(_sql.revive, (version, event.drop, *place)).rowcount:
            return False
        if not event.drop and self._waits(origin):
            wait = (origin.sequence, version, OPEN, state.number)
            self._db.execute(_sql.add_wait, wait)
        return True

    def _waits(self, origin: Origin) -> bool:
        if origin.worker not in ("", "firewall"):
            return False
        item = self._db.execute(_sql.item, (origin.sequence,)).fetchone()
        enveloped = self._db.execute(_sql.has_envelope, (origin.sequence,)).fetchone()
        return bool(item and item[2] and not enveloped)

    def _source(self, version: int, state: SessionState, origin: Origin) -> _Source:
        if not 0 < origin.sequence < version:
            raise Contradiction(f"source {origin.sequence} does not come before this event")
        row = self._db.execute(_sql.source, (origin.sequence,)).fetchone()
        if row is None:
            raise Contradiction(f"source {origin.sequence} is no item or derived event known here")
        source = _Source(*row)
        if source.session != state.number:
            raise Contradiction(f"source {origin.sequence} belongs to another session")
        if origin.item_id and origin.item_id != source.item_id:
            raise Contradiction(f"source {origin.sequence} is not the item that it names")
        return source

    def _source_or_fault(
        self, version: int, address: Stored, state: SessionState, origin: Origin
    ) -> None:
        """The source of a parked event, which may be a record that cannot be decoded."""
        if not 0 < origin.sequence < version:
            raise Contradiction(f"source {origin.sequence} does not come before this event")
        place = (origin.sequence, address.tenant, address.session)
        if not self._db.execute(_sql.fault_in_session, place).fetchone():
            self._source(version, state, origin)

    def _counts(
        self,
        version: int,
        kind: str,
        source: _Source,
        origin: Origin,
        part: str,
        supersede: Callable[[int, int], None] | tuple[()],
    ) -> bool:
        """Judge a derived event; if it counts, record it and supersede what it outranks."""
        place = (source.anchor, kind, origin.worker)
        known = [Derivation(*row) for row in self._db.execute(_sql.derivations, place)]
        new = Derivation(origin.sequence, origin.run, part, version)
        verdict, superseded = judge(new, known)
        if verdict is not Verdict.COUNTS:
            return False
        row = (*place, origin.sequence, origin.run, part, version)
        self._db.execute(_sql.add_derivation, row)
        if supersede:
            for old in superseded:
                supersede(old.version, version)
        return True

    def _withdraw(self, version: int, at: int) -> None:
        withdraw(self._db, version, at)

    def _tokens(self, event: SummaryEvent | EpisodeEvent) -> int:
        known = event.encoding == self._encoding
        return bounded(event.tokens) if known else self._count(event.text)

    def _count(self, text: str) -> int:
        return tokens.count(text, self._encoding)


def _folded(raw: str, clean: CleanBody) -> str | None:
    """The clean text; None if this release makes a different one of the body than the firewall did.
    The summary is then used, as for bodies that are not kept."""
    try:
        return clean_text(raw, clean)
    except Corrupt:
        return None


def envelope_text(envelope: ResultEnvelope) -> str:
    """The text by which a result is found whose clean text is not kept: its summary and facts."""
    return "\n".join([envelope.summary, *(f"{fact.name} {fact.value}" for fact in envelope.facts)])
