"""The fold: records of the log in, rows and checkpoint out, in one transaction.

Exactly once by construction: rows and checkpoint commit together, and a record at or before the
checkpoint is skipped. What the rows say is a function of the records alone, in any batches.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator

import msgspec

from weft import tokens
from weft.log.record import LogRecord
from weft.readmodel.derived import Contradiction, DerivedFold, bounded
from weft.readmodel.erasure import erase_session, erase_tenant
from weft.readmodel.postings import IndexWriter, clip
from weft.readmodel.sessions import Sessions, SessionState
from weft.readmodel.sql import statements
from weft.readmodel.store import OPEN, get_meta, set_meta, transaction
from weft.readmodel.terms import words
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.events import (
    ErasedEvent,
    ErasureReceiptEvent,
    Event,
    ParkedEvent,
    RevivedEvent,
    SessionClosedEvent,
    encode_event,
)
from weft_schemas.ids import TENANT_SESSION, artifact_handle
from weft_schemas.items import ContextItem, ItemKind, ReservedMetadata
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog
from weft_schemas.subjects import Stored

_sql = statements("fold")
_postings = statements("postings")
_json = msgspec.json.Encoder(order="deterministic")
_STUB_METADATA = frozenset(ReservedMetadata.__struct_fields__) - {"arguments"}
"""Metadata kept of an untrusted item: short keys whose meaning weft fixes."""
_MOST_SESSIONS = 20_000
"""Whose policy is remembered between records."""


class Folded(msgspec.Struct):
    """What one batch came to."""

    records: int = 0
    skipped: int = 0
    """At or before the checkpoint."""
    items: int = 0
    duplicates: int = 0
    conflicts: int = 0
    faults: int = 0
    erased: int = 0
    """Tombstones folded: scrub the file afterwards."""


class Fold:
    """Folds records into a writer's connection. One thread uses it."""

    def __init__(self, db: sqlite3.Connection, encoding: str = tokens.DEFAULT_ENCODING) -> None:
        self._db = db
        self.encoding = encoding
        stored = get_meta(db, "encoding")
        if stored not in (None, encoding):
            raise ConfigurationError(
                f"the read model counts in {stored}, not in {encoding}: rebuild it"
            )
        if stored is None:
            set_meta(db, "encoding", encoding)
        self.checkpoint = int(get_meta(db, "checkpoint") or 0)
        self._index = IndexWriter(db)
        self._sessions = Sessions(db)
        self._derived = DerivedFold(db, encoding, self._add_document, self._supersede)
        self._tombstones: set[tuple[str, str]] = set(db.execute(_sql.tombstones))
        self._untrusted: dict[tuple[str, str], tuple[ItemKind, ...]] = {}

    def apply(
        self,
        records: Iterable[LogRecord],
        through: int = 0,
        identity: str = "",
        step: Callable[[str], None] = lambda name: None,
    ) -> Folded:
        """Fold a batch, in order of sequence, in one transaction.

        `through`: the log is complete up to here, even where its last messages were deleted.
        `identity`: kept beside the checkpoint, tells which log it is of. `step` is called with
        `decode`, `work` (before the commit) and `commit` (after it): where a test crashes the
        process.
        """
        folded = Folded()
        decoded = [_decode(record) for record in self._new(records, folded)]
        checkpoint = max([self.checkpoint, through, *(one.record.sequence for one in decoded[-1:])])
        step("decode")
        try:
            with transaction(self._db):
                for one in decoded:
                    self._one(one, folded)
                self._index.flush()
                self._sessions.flush()
                set_meta(self._db, "checkpoint", checkpoint)
                if identity:
                    set_meta(self._db, "identity", identity)
                step("work")
        except BaseException:
            self._forget()
            raise
        self.checkpoint = checkpoint
        step("commit")
        return folded

    def _new(self, records: Iterable[LogRecord], folded: Folded) -> Iterator[LogRecord]:
        last = self.checkpoint
        for record in records:
            if record.sequence > last:
                last = record.sequence
                yield record
            else:
                folded.skipped += 1

    def _forget(self) -> None:
        self._index.discard()
        self._sessions.forget()
        self._untrusted.clear()
        self._tombstones = set(self._db.execute(_sql.tombstones))

    def _one(self, decoded: _Decoded, folded: Folded) -> None:
        folded.records += 1
        record, address, event = decoded.record, decoded.address, decoded.event
        if address is not None and self._is_erased(address):
            return
        try:
            if decoded.error is not None:
                raise decoded.error
            assert address is not None
            assert event is not None
            check_place(address, event)
            self._event(record, address, event, folded)
        except InvalidInput as error:
            folded.faults += 1
            self._fault(record, address, error.code, str(error))

    def _fault(self, record: LogRecord, address: Stored | None, code: str, error: str) -> None:
        tenant, session = (address.tenant, address.session) if address else ("", "")
        safe = error.encode("utf-8", "replace").decode()[:500]
        self._db.execute(_sql.add_fault, (record.sequence, tenant, session, code, safe))

    def _is_erased(self, address: Stored) -> bool:
        if address.session == TENANT_SESSION and address.event in ("erased", "erasure_receipt"):
            return False
        graves = self._tombstones
        return (address.tenant, "") in graves or (address.tenant, address.session) in graves

    def _event(self, record: LogRecord, address: Stored, event: Event, folded: Folded) -> None:
        version, tenant = record.sequence, address.tenant
        match event:
            case ContextItem():
                self._item(record, address, event, folded)
            case SessionClosedEvent():
                self._closing(record, address, event, folded)
            case ErasedEvent():
                folded.erased += 1
                self._erase(tenant, event, version)
            case ErasureReceiptEvent():
                self._db.execute(_sql.add_receipt, (version, tenant, encode_event(event)))
            case ContextPolicy():
                session = event.session or ""
                if (tenant, session) not in self._tombstones:
                    policy = (version, tenant, session, encode_event(event))
                    self._db.execute(_sql.add_policy, policy)
                self._untrusted.clear()
            case Catalog():
                catalog = (version, tenant, event.name, encode_event(event))
                self._db.execute(_sql.add_catalog, catalog)
            case _:
                state = self._state_of_derived(record, address, event)
                if not self._derived.apply(version, address, state, event):
                    folded.duplicates += 1

    def _state_of_derived(self, record: LogRecord, address: Stored, event: Event) -> SessionState:
        """What is derived makes no session, but for the parking of a record without one."""
        if isinstance(event, ParkedEvent):
            return self._sessions.get(address.tenant, address.session, record.published_ns)
        state = self._sessions.find(address.tenant, address.session)
        if state is None:
            raise Contradiction(f"session {address.session!r} has no items")
        return state

    def _item(self, record: LogRecord, address: Stored, item: ContextItem, folded: Folded) -> None:
        state = self._sessions.get(address.tenant, address.session, record.published_ns)
        content_hash = hashlib.sha256(encode_event(item)).digest()
        untrusted = item.kind in self._untrusted_kinds(address, record.sequence)
        row = self._item_row(record, state, item, untrusted, content_hash)
        if not self._db.execute(_sql.add_item, row).rowcount:
            self._collision(record, state, item, content_hash, folded)
            return
        folded.items += 1
        state.add_item(record.sequence, record.published_ns)
        scope = item.metadata.get("scope")
        if scope:
            self._db.execute(_sql.add_scope, (state.number, scope, record.sequence))
        if untrusted or item.body is not None:
            handle = artifact_handle(address.tenant, address.session, item.id)
            self._db.execute(_sql.add_artifact, (address.tenant, handle, record.sequence))
        if untrusted:
            wait = (record.sequence, record.sequence, OPEN, state.number)
            self._db.execute(_sql.add_wait, wait)
        else:
            self._add_document(state, record.sequence, record.sequence, searchable(item))

    def _item_row(
        self,
        record: LogRecord,
        state: SessionState,
        item: ContextItem,
        untrusted: bool,
        content_hash: bytes,
    ) -> tuple[object, ...]:
        metadata = item.metadata
        if untrusted:
            metadata = {key: metadata[key] for key in metadata if key in _STUB_METADATA}
        text = "" if untrusted else item.text
        size = bounded(item.body.size) if item.body else len(item.text.encode())
        return (
            record.sequence,
            state.number,
            state.items,
            item.id,
            item.parent_id,
            item.kind.value,
            text,
            tokens.count(text, self.encoding),
            size,
            item.sensitivity.value,
            untrusted,
            _json.encode(metadata) if metadata else None,
            record.published_ns,
            content_hash,
            item.body.sha256 if item.body else None,
        )

    def _collision(
        self,
        record: LogRecord,
        state: SessionState,
        item: ContextItem,
        content_hash: bytes,
        folded: Folded,
    ) -> None:
        first = self._db.execute(_sql.item_hash, (state.number, item.id)).fetchone()[0]
        conflict = first != content_hash
        row = (state.number, record.sequence, item.id, conflict, content_hash)
        self._db.execute(_sql.add_collision, row)
        if conflict:
            folded.conflicts += 1
        else:
            folded.duplicates += 1
            state.add_duplicate()

    def _closing(
        self, record: LogRecord, address: Stored, event: SessionClosedEvent, folded: Folded
    ) -> None:
        """Several replicas may close an idle session at the same item: the first counts."""
        state = self._sessions.get(address.tenant, address.session, record.published_ns)
        last = bounded(event.last_sequence) or record.sequence
        if event.last_sequence and last <= state.closed:
            folded.duplicates += 1
            return
        row = (record.sequence, state.number, last, event.reason)
        self._db.execute(_sql.add_closing, row)
        state.close(max(state.closed, last))

    def _add_document(self, state: SessionState, item: int, version: int, text: str) -> None:
        terms = clip(words(text))
        if not terms:
            return
        document = state.add_document(len(terms))
        row = (state.number, document, item, version, state.words)
        self._db.execute(_postings.add_document, row)
        self._index.add(state.number, document, terms)

    def _supersede(self, item: int, until: int) -> None:
        """From `until` on, no document so far of this item matches."""
        for place in self._db.execute(_postings.documents_of_item, (item,)).fetchall():
            self._db.execute(_postings.supersede, (*place, until))

    def _untrusted_kinds(self, address: Stored, at: int) -> tuple[ItemKind, ...]:
        key = (address.tenant, address.session)
        kinds = self._untrusted.get(key)
        if kinds is None:
            if len(self._untrusted) >= _MOST_SESSIONS:
                self._untrusted.clear()
            found = self._db.execute(_sql.policy, (*key, at)).fetchone()
            policy = msgspec.json.decode(found[1], type=ContextPolicy) if found else ContextPolicy()
            kinds = self._untrusted[key] = policy.firewall.untrusted_kinds
        return kinds

    def _erase(self, tenant: str, event: ErasedEvent, version: int) -> None:
        row = (version, tenant, event.session or "", event.reason)
        self._db.execute(_sql.add_tombstone, row)
        self._tombstones.add((tenant, event.session or ""))
        self._index.flush()
        self._sessions.flush()
        if event.session is None:
            erase_tenant(self._db, tenant, version)
        else:
            erase_session(self._db, tenant, event.session, version)
        self._sessions.forget()
        self._untrusted.clear()


class _Decoded(msgspec.Struct):
    """A record taken apart as far as that goes."""

    record: LogRecord
    address: Stored | None = None
    event: Event | None = None
    error: InvalidInput | None = None


def _decode(record: LogRecord) -> _Decoded:
    decoded = _Decoded(record)
    try:
        decoded.address = record.address()
        decoded.event = record.event()
    except InvalidInput as error:
        decoded.error = error
    return decoded


def searchable(item: ContextItem) -> str:
    """The text by which an item is found: its own; of a tool call also its tool and arguments."""
    if item.kind is not ItemKind.TOOL_CALL:
        return item.text
    name = item.metadata.get("tool_name") or ""
    arguments = item.metadata.get("arguments")
    extra = "" if arguments is None else _json.encode(arguments).decode()
    return "\n".join(part for part in (item.text, name, extra) if part and part != item.text)


def check_place(address: Stored, event: Event) -> None:
    """Whether the event stands where its type belongs. Raises `InvalidInput`."""
    name = str(type(event).__struct_config__.tag)
    expected = event.kind.value if isinstance(event, ContextItem) else name
    if address.event != expected:
        raise InvalidInput(f"event {expected!r} stands on a subject that ends in {address.event!r}")
    if isinstance(event, ContextItem):
        direction_fits = address.direction == "in"
    else:
        agents_too = isinstance(event, SessionClosedEvent | RevivedEvent)
        direction_fits = address.direction == "out" or agents_too
    if not direction_fits:
        raise InvalidInput(f"event {expected!r} stands on an {address.direction!r} subject")
    if isinstance(event, ContextPolicy | ErasedEvent) and event.session == "":
        raise InvalidInput(f"event {expected!r} names the session ''; null means the whole tenant")
    tenants_own = isinstance(event, ContextPolicy | Catalog | ErasedEvent | ErasureReceiptEvent)
    if tenants_own != (address.session == TENANT_SESSION):
        raise InvalidInput(f"event {expected!r} does not belong in session {address.session!r}")
