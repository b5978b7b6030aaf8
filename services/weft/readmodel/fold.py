"""The fold: records of the log in, rows and checkpoint out, in one transaction.

Exactly once by construction: rows and checkpoint commit together, and a record at or before the
checkpoint is skipped. The rows depend on the records alone, not on how they were batched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator

import msgspec

from weft import tokens
from weft.log.record import LogRecord
from weft.readmodel.derived_fold import Contradiction, DerivedFold, Place, divided
from weft.readmodel.documents import Documents
from weft.readmodel.item_fold import ItemFold
from weft.readmodel.raw_bodies import RawBodies
from weft.readmodel.session_counters import Sessions, SessionState
from weft.readmodel.store import bounded, get_meta, insert, set_meta, statements, transaction
from weft.readmodel.tombstone_fold import erase_scope, erase_session, erase_tenant
from weft_schemas.errors import ConfigurationError, InvalidInput
from weft_schemas.event_place import check_place
from weft_schemas.events import (
    ERASURE_RECORDS,
    ErasedEvent,
    ErasingEvent,
    ErasureReceiptEvent,
    Event,
    ParkedEvent,
    ScopeErasedEvent,
    SessionClosedEvent,
    encode_event,
)
from weft_schemas.grants import ScopeGrants
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy
from weft_schemas.routing import Catalog
from weft_schemas.subjects import StoredSubject, place_of

_sql = statements("fold")

_LARGE = 65_536
"""Characters of a body that is prepared, which takes 4 ms or more."""
_TOGETHER = 100
"""Items whose rows are made before any is written: to alternate would take a quarter longer."""
_END = 64
"""Characters in which the last bracket of a JSON text is, before line ends."""


class Folded(msgspec.Struct):
    """The result of folding one batch."""

    records: int = 0
    """After the checkpoint."""
    conflicts: int = 0
    faults: int = 0
    erased: int = 0
    """Tombstones folded: scrub the file afterwards."""


class Fold:
    """Folds records into a writer's connection. One thread uses it."""

    def __init__(
        self,
        db: sqlite3.Connection,
        encoding: str = tokens.DEFAULT_ENCODING,
        bodies: RawBodies | None = None,
    ) -> None:
        """`bodies` provides the raw bodies of items when their envelopes arrive; without it only
        bodies are known that this fold has seen itself."""
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
        self._documents = Documents(db)
        self._sessions = Sessions(db)
        self._bodies = bodies or RawBodies()
        self._items = ItemFold(db, encoding, self._documents, self._bodies)
        self._derived = DerivedFold(db, encoding, self._documents, self._bodies)
        self._tombstones: set[tuple[str, str]] = set(db.execute(_sql.tombstones))
        self._waiting: list[tuple[LogRecord, Iterator[bool]]] = []
        """Items that are to be folded before any other event."""

    def apply(
        self,
        records: Iterable[LogRecord],
        through: int = 0,
        identity: str = "",
        step: Callable[[str], None] = lambda name: None,
    ) -> Folded:
        """Fold a batch, in order of sequence, in one transaction.

        `through`: the log is complete up to here, even if its last messages were deleted.
        `identity`: identifies the log, stored with the checkpoint. `step` is called with
        `decode` (all records are decoded, and what they add to the text index is not written),
        `work` (before the commit) and `commit` (after it), at which a test can crash the process.
        """
        folded = Folded()
        new = list(self._new(records))
        checkpoint = max([self.checkpoint, through, *(record.sequence for record in new[-1:])])
        try:
            with transaction(self._db):
                for record in new:
                    self._one(record, folded)
                self._fold_items(folded)
                step("decode")
                self._documents.flush()
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

    @property
    def is_seal_due(self) -> bool:
        """Whether `seal` has something to do."""
        return bool(self._documents.full)

    def seal(self) -> None:
        """Seal the text index's newest documents in a separate transaction. Searches find the same
        before and after, so no request has to wait for it."""
        with transaction(self._db):
            self._documents.seal()

    def divisible(self) -> str:
        """The newest raw body, if `prepare` should divide it: large JSON, which is divided the same
        whatever content type the firewall finds. Other texts would be divided in vain."""
        text = self._bodies.newest()
        is_json = text[:1] in ("{", "[") and text[-_END:].rstrip()[-1:] in ("}", "]")
        return text if len(text) >= _LARGE and is_json else ""

    def prepare(self) -> None:
        """Divide the newest raw body, if it is `divisible`, while the firewall makes its envelope:
        most are shown as they are."""
        if text := self.divisible():
            divided(text, "")

    def _new(self, records: Iterable[LogRecord]) -> Iterator[LogRecord]:
        last = self.checkpoint
        for record in records:
            if record.sequence > last:
                last = record.sequence
                yield record

    def _forget(self) -> None:
        """The rows were changed, so the state in memory is out of date."""
        self._waiting.clear()
        self._bodies.forget()
        self._documents.forget()
        self._sessions.forget()
        self._tombstones = set(self._db.execute(_sql.tombstones))

    def _one(self, record: LogRecord, folded: Folded) -> None:
        folded.records += 1
        try:
            address = record.address()
            if self._is_erased(address):
                return
            event = record.event()
            check_place(address, event)
            self._event(record, address, event, folded)
        except InvalidInput as error:
            self._fault(record, error, folded)

    def _fault(self, record: LogRecord, error: InvalidInput, folded: Folded) -> None:
        folded.faults += 1
        tenant, session = place_of(record.subject)
        safe = str(error).encode("utf-8", "replace").decode()[:500]
        fault = (record.sequence, tenant, session, error.code, safe)
        insert(self._db, "faults", *fault, conflict="REPLACE")

    def _fold_items(self, folded: Folded) -> None:
        made = []
        for record, item in self._waiting:
            try:
                next(item)
                made.append(item)
            except InvalidInput as error:
                self._fault(record, error, folded)
        self._waiting.clear()
        folded.conflicts += sum(map(next, made))

    def _is_erased(self, address: StoredSubject) -> bool:
        is_tenants = address.direction == "out" and address.session == TENANT_SESSION
        if is_tenants and address.event in ERASURE_RECORDS:
            return False
        graves = self._tombstones
        return (address.tenant, "") in graves or (address.tenant, address.session) in graves

    def _event(
        self, record: LogRecord, address: StoredSubject, event: Event, folded: Folded
    ) -> None:
        version, tenant = record.sequence, address.tenant
        if isinstance(event, ContextItem):
            state = self._sessions.get(tenant, address.session, record.published_ns)
            self._waiting.append((record, self._items.apply(record, address, state, event)))
            if len(self._waiting) >= _TOGETHER or len(record.payload) > _LARGE:
                self._fold_items(folded)
            return
        self._fold_items(folded)
        match event:
            case SessionClosedEvent():
                self._closing(record, address, event)
            case ErasedEvent() | ScopeErasedEvent():
                folded.erased += 1
                self._erase(tenant, event, version)
            case ErasingEvent() | ErasureReceiptEvent():
                pass  # for the auditor, who reads them from the log
            case ContextPolicy():
                session = event.session or ""
                if (tenant, session) not in self._tombstones:
                    insert(self._db, "policies", version, tenant, session, encode_event(event))
                    self._sessions.flush()  # their rules may have changed
            case ScopeGrants():
                insert(self._db, "grants", version, tenant, encode_event(event))
            case Catalog():
                insert(self._db, "catalogs", version, tenant, event.name, encode_event(event))
            case _:
                state = self._state_of_derived(record, address, event)
                self._derived.apply(Place(version, address, state), event)

    def _state_of_derived(
        self, record: LogRecord, address: StoredSubject, event: Event
    ) -> SessionState:
        """Derived events create no session, but one parked for a record without a session."""
        if isinstance(event, ParkedEvent):
            return self._sessions.get(address.tenant, address.session, record.published_ns)
        state = self._sessions.find(address.tenant, address.session)
        if state is None:
            raise Contradiction(f"session {address.session!r} has no items")
        return state

    def _closing(
        self, record: LogRecord, address: StoredSubject, event: SessionClosedEvent
    ) -> None:
        """Several replicas may close an idle session at the same item; the first counts."""
        state = self._sessions.get(address.tenant, address.session, record.published_ns)
        last = bounded(event.last_sequence) or record.sequence
        if event.last_sequence and last <= state.closed:
            return
        insert(self._db, "closings", record.sequence, state.number, last, event.reason)
        state.closed = max(state.closed, last)

    def _erase(self, tenant: str, event: ErasedEvent | ScopeErasedEvent, version: int) -> None:
        session = None if isinstance(event, ScopeErasedEvent) else event.session or ""
        insert(self._db, "tombstones", version, tenant, session, event.reason)
        self._documents.flush()
        self._sessions.flush()
        if isinstance(event, ScopeErasedEvent):
            erase_scope(self._db, tenant, event.scope, version, event.unreadable)
        elif event.session is None:
            erase_tenant(self._db, tenant, version)
        else:
            erase_session(self._db, tenant, event.session, version)
        self._forget()
