"""Everything that the compiles of one session could read, straight from the log: its own records,
its tenant's, and those of sessions that share a scope with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping

import msgspec

from weft.log.bodies import shown_body
from weft.log.connection import Connection
from weft.log.reading import read_matching, read_session
from weft.log.record import LogRecord
from weft.readmodel.model import NONE_STORED, ReadModel
from weft_schemas.errors import InvalidInput
from weft_schemas.events import EnvelopeEvent, ErasedEvent
from weft_schemas.ids import TENANT_SESSION, session_scope
from weft_schemas.items import BodyRef
from weft_schemas.subjects import stored_filter

_MEMORIES = ("fact", "episode")


class _Scoped(msgspec.Struct):
    """The scope of an item, a fact or an episode. The rest of it is not decoded."""

    scope: str = ""
    metadata: _Named | None = None


class _Named(msgspec.Struct):
    scope: str | None = None


_decode = msgspec.json.Decoder(_Scoped).decode


class LoggedHistories:
    """The histories of one tenant's sessions, up to one sequence. Shared records are read once."""

    def __init__(self, connection: Connection, tenant: str, through: int) -> None:
        self.tenant = tenant
        self.through = through
        self._connection = connection
        self._tenants: list[LogRecord] | None = None
        self._taught: dict[str, set[str]] = {}

    async def tenants(self) -> list[LogRecord]:
        """The tenant's own events: policies, catalogues, tombstones."""
        if self._tenants is None:
            self._tenants = [record async for record in self._session(TENANT_SESSION)]
            self._taught = await self._teachers()
        return self._tenants

    async def own(self, session: str) -> list[LogRecord]:
        """The session's own records, of both directions."""
        return [record async for record in self._session(session)]

    async def beside(self, session: str, own: Iterable[LogRecord]) -> list[LogRecord]:
        """Records of other sessions whose facts and episodes this one may remember."""
        await self.tenants()
        scopes = {session_scope(session), *(scope for scope in map(scope_of, own) if scope)}
        teachers = {one for scope in scopes for one in self._taught.get(scope, ())} - {session}
        return [record for one in sorted(teachers) async for record in self._session(one)]

    async def of(self, session: str) -> list[LogRecord]:
        """Everything that a compile of the session could read, in order of sequence."""
        own = await self.own(session)
        records = [*await self.tenants(), *own, *await self.beside(session, own)]
        return sorted(records, key=lambda record: record.sequence)

    async def stored(self, records: Iterable[LogRecord]) -> dict[str, bytes]:
        """The bodies in the object store of which the records' envelopes record a clean text, by
        their SHA-256. Not those that are gone."""
        wanted = {one.sha256: one for record in records if (one := _shown_whole(record))}
        found = {
            sha256: await shown_body(self._connection, self.tenant, one)
            for sha256, one in wanted.items()
        }
        return {sha256: body for sha256, body in found.items() if body is not None}

    def _session(self, session: str) -> AsyncIterator[LogRecord]:
        return read_session(self._connection, self.tenant, session, through=self.through)

    async def _teachers(self) -> dict[str, set[str]]:
        """Scope → sessions that gave it a fact or an episode."""
        found: dict[str, set[str]] = {}
        for event in _MEMORIES:
            subjects = stored_filter(self.tenant, direction="out", event=event)
            async for record in read_matching(self._connection, subjects, through=self.through):
                if scope := scope_of(record):
                    found.setdefault(scope, set()).add(record.address().session)
        return found


def scope_of(record: LogRecord) -> str:
    """The scope that a record names, empty if it names none or cannot be read."""
    try:
        found = _decode(record.payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return found.scope or (found.metadata and found.metadata.scope) or ""


def _shown_whole(record: LogRecord) -> BodyRef | None:
    """The body in the object store of which an envelope records a clean text."""
    if not (record.subject.startswith("w.out.") and record.subject.endswith(".envelope")):
        return None
    try:
        event = record.event()
    except InvalidInput:
        return None
    if not isinstance(event, EnvelopeEvent) or event.envelope.clean is None:
        return None
    return next((one.body for one in event.envelope.artifacts), None)


def fresh_model(
    records: Iterable[LogRecord],
    through: int,
    encoding: str,
    stored: Mapping[str, bytes] = NONE_STORED,
) -> ReadModel:
    """A read model in memory, folded from the records, that stands at `through`. `stored` are
    their bodies in the object store, by their SHA-256."""
    return ReadModel.in_memory(records, encoding, through, stored)


def tombstone_of(records: Iterable[LogRecord], session: str) -> int:
    """Sequence of the event that erased a session or its whole tenant; 0 if none did."""
    for record in records:
        if not record.subject.startswith("w.out.") or not record.subject.endswith(".erased"):
            continue  # an agent publishes `in`, and erases nothing
        try:
            event = record.event()
        except InvalidInput:
            continue
        if isinstance(event, ErasedEvent) and event.session in (None, session):
            return record.sequence
    return 0
