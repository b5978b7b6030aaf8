"""Folding items: of several with one id the first wins. A trusted item's text is stored as it may
be shown, with credentials masked; an untrusted item's only when its envelope arrives."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from weft import tokens
from weft.bodies.clean import clean
from weft.call_text import call_text
from weft.log.record import LogRecord
from weft.passages.part import packed
from weft.passages.splitting import passages_of
from weft.prompt_injection.detection import signals_in
from weft.readmodel.documents import Documents
from weft.readmodel.postings import counted
from weft.readmodel.raw_bodies import RawBodies
from weft.readmodel.session_counters import SessionState
from weft.readmodel.store import OPEN, bounded, insert, statements
from weft.secrets.masked_items import masked_item
from weft_schemas.combined_policy import encoded_in_force
from weft_schemas.envelope import Signal
from weft_schemas.events import content_digest, encode_event
from weft_schemas.grants import ScopeGrants, may_use
from weft_schemas.items import ContextItem, ItemKind, ReservedMetadata
from weft_schemas.policy import FirewallRules
from weft_schemas.reasoning import METADATA as REASONING
from weft_schemas.subjects import StoredSubject

_sql = statements("fold")
_view = statements("view")
_json = msgspec.json.Encoder(order="deterministic")
_STUB_METADATA = frozenset(ReservedMetadata.__struct_fields__) - {"arguments", REASONING}
"""Metadata stored of an untrusted item: short keys that weft defines."""
REFUSED_SCOPE = "refused_scope"
"""Metadata key of a scope that the item named and its publisher may not use."""


class ItemFold(msgspec.Struct):
    """Folds items within the fold's transaction."""

    db: sqlite3.Connection
    encoding: str
    documents: Documents
    bodies: RawBodies

    def apply(
        self, record: LogRecord, address: StoredSubject, state: SessionState, item: ContextItem
    ) -> Iterator[bool]:
        """Two steps: the first makes the item's rows, without reading those of other items; the
        second writes them and tells whether an item with this id has other content: it stays."""
        sequence, raw = record.sequence, item
        content_hash = bytes.fromhex(content_digest(encode_event(item)))
        rules = state.rules = state.rules or self._rules_of(address, sequence)
        untrusted = item.kind in rules.untrusted_kinds
        item, signals = _storable(item, untrusted)
        item = self._narrowed(address, masked_item(item, rules))
        # A tool call is shown and found by its tool and arguments.
        is_call = item.kind is ItemKind.TOOL_CALL
        text = call_text(item.text, item.metadata) if is_call else item.text
        outline, passages = passages_of(text)
        size = bounded(raw.body.size) if raw.body else len(raw.text.encode())
        documents = [] if untrusted else counted(passages)
        # Plain strings and numbers, which SQLite takes several times as fast as other types.
        row = (
            item.id, item.parent_id, str(item.kind), item.text,
            tokens.count(item.text, self.encoding), packed(outline), size,
            str(item.sensitivity), int(untrusted),
            _json.encode(item.metadata) if item.metadata else None,
            record.published_ns, content_hash, item.body.sha256 if item.body else None,
        )  # fmt: skip
        yield False
        place = (sequence, state.number, state.items)
        if not insert(self.db, "items", *place, *row, conflict="IGNORE"):
            yield self._collision(sequence, state, item.id, content_hash)
            return
        state.add_item(sequence, record.published_ns)
        self._mark(state.number, sequence, item.metadata, signals)
        if untrusted:
            insert(self.db, "waits", sequence, sequence, OPEN, state.number, conflict="REPLACE")
            if raw.body is None:
                self.bodies.add(sequence, raw.text)
        else:
            self.documents.add(state, sequence, sequence, documents)
        yield False

    def _mark(
        self, session: int, sequence: int, metadata: Mapping[str, Any], signals: Sequence[Signal]
    ) -> None:
        """The rows by which a session's flagged and pinned items and its scopes are found."""
        if signals:
            insert(self.db, "flags", session, sequence, sequence, _json.encode(signals))
        if scope := metadata.get("scope"):
            insert(self.db, "scopes", session, scope, sequence, conflict="IGNORE")
        if metadata.get("pin") is True:
            insert(self.db, "pins", session, sequence, conflict="IGNORE")

    def _collision(self, at: int, state: SessionState, id: str, content_hash: bytes) -> bool:
        first = self.db.execute(_sql.item_hash, (state.number, id)).fetchone()[0]
        conflict: bool = first != content_hash
        insert(self.db, "collisions", state.number, at, id, conflict, content_hash)
        state.duplicates += not conflict
        return conflict

    def _narrowed(self, address: StoredSubject, item: ContextItem) -> ContextItem:
        """The item, without its scope if its publisher may not use that one."""
        scope = item.metadata.get("scope")
        if not scope:
            return item
        row = self.db.execute(_view.grants, (address.tenant,)).fetchone()  # that precede the item
        grants = msgspec.json.decode(row[0], type=ScopeGrants) if row else None
        if may_use(grants, address.principal, address.session, scope):
            return item
        metadata = {key: item.metadata[key] for key in item.metadata if key != "scope"}
        return msgspec.structs.replace(item, metadata={**metadata, REFUSED_SCOPE: scope})

    def _rules_of(self, address: StoredSubject, at: int) -> FirewallRules:
        place = {"tenant": address.tenant, "session": address.session, "at": at}
        return encoded_in_force(self.db.execute(_view.policies, place))[1].firewall


def _storable(item: ContextItem, untrusted: bool) -> tuple[ContextItem, tuple[Signal, ...]]:
    """The item as it is stored, and the guards' signals: an untrusted one without text and with
    weft's own metadata only; a document, which others wrote, without hidden characters."""
    if untrusted:
        metadata = {key: item.metadata[key] for key in item.metadata if key in _STUB_METADATA}
        return msgspec.structs.replace(item, text="", metadata=metadata), ()
    if item.kind is not ItemKind.DOC_SNIPPET:
        return item, ()
    cleaned = clean(item.text.encode())
    signals = (*cleaned.signals, *signals_in(cleaned.text))
    return msgspec.structs.replace(item, text=cleaned.text) if cleaned.changed else item, signals
