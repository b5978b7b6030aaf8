"""Imports an export: bodies first, then events as copies with sequences of this log."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import shutil
import tempfile
from typing import IO, BinaryIO, cast

import msgspec

from weft.copies.copy_digest import CopyDigest
from weft.copies.copying import Copier, copied, copied_before, copies_in, copy_id
from weft.copies.export_check import check_export
from weft.copies.export_format import (
    BodyLine,
    ChunkLine,
    EndLine,
    Line,
    RecordLine,
    StartLine,
    read_line,
    record_of,
)
from weft.erasure.tombstones import check_not_erased
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.record import LogRecord
from weft.progress import OnProgress
from weft_schemas.errors import Conflict, InvalidInput
from weft_schemas.ids import TENANT_SESSION, SessionName
from weft_schemas.subjects import stored_filter


class Imported(msgspec.Struct, frozen=True):
    tenant: str
    sessions: int
    records: int
    bodies: int
    digest: str
    """Digest of what is in this log now."""
    expected: str
    """Digest of what was exported."""
    last: int
    """Sequence of the last copy."""

    @property
    def equal(self) -> bool:
        return self.digest == self.expected


async def import_(
    connection: Connection,
    file: BinaryIO,
    tenant: str,
    session: str | None = None,
    on_progress: OnProgress = lambda at, last: None,
) -> Imported:
    """Import an export into a tenant's log; a single session as session `session`, if that is
    given. A second run continues an interrupted one. Raises `InvalidInput` that names the line,
    before anything is imported, and `Conflict` if the session exists or was erased. `on_progress`
    gets sequences of the exported log."""
    if not file.seekable():
        with tempfile.TemporaryFile(prefix="weft-import-") as whole:
            await asyncio.to_thread(shutil.copyfileobj, file, whole)
            whole.seek(0)
            return await import_(connection, cast(BinaryIO, whole), tenant, session, on_progress)
    begins = file.tell()
    await asyncio.to_thread(check_export, file)
    file.seek(begins)
    async with Publisher(connection) as publisher:
        with tempfile.TemporaryFile(prefix="weft-import-") as spool:
            work = _Import(connection, publisher, tenant, session, spool, on_progress)
            for number, text in enumerate(file, 1):
                await work.take(read_line(text, number), number)
            return await work.end()


class _Import:
    def __init__(
        self,
        connection: Connection,
        publisher: Publisher,
        tenant: str,
        session: str | None,
        spool: IO[bytes],
        on_progress: OnProgress,
    ) -> None:
        self._connection = connection
        self._publisher = publisher
        self._tenant = tenant
        self._session = session
        self._spool = spool
        self._on_progress = on_progress
        self._bodies = Bodies(connection, publisher, tenant)
        self._start: StartLine | None = None
        self._end: EndLine | None = None
        self._body: BodyLine | None = None
        self._copier: Copier
        self._names: dict[str, SessionName] = {}
        self._ids: set[str] = set()
        self._stored = 0

    async def take(self, line: Line, number: int) -> None:
        if self._end is not None or (self._start is None) != isinstance(line, StartLine):
            raise InvalidInput(f"line {number} stands in the wrong place; is the file whole?")
        if not isinstance(line, ChunkLine):
            await self._finish_body()
        match line:
            case StartLine():
                self._begin(line)
            case BodyLine():
                self._body = line
                self._spool.seek(0)
                self._spool.truncate()
            case ChunkLine():
                self._spool.write(base64.b64decode(line.base64))
            case RecordLine():
                await self._record(line)
            case EndLine():
                self._end = line

    async def end(self) -> Imported:
        if self._start is None or self._end is None:
            raise InvalidInput("the export has no last line: it is not whole; export again")
        last = await self._copier.flush()
        self._on_progress(self._start.through, self._start.through)
        digest = await self._read_back()
        return Imported(
            self._tenant, len(self._names), self._copier.count, self._stored, digest,
            self._end.digest, last,
        )  # fmt: skip

    def _begin(self, start: StartLine) -> None:
        if self._session is not None and start.session is None:
            raise InvalidInput("a whole tenant keeps its sessions' names; leave --as out")
        if TENANT_SESSION in (start.session, self._session):
            raise InvalidInput(
                f"{TENANT_SESSION} is no session: a tenant's own events come with the tenant"
            )
        self._start = start
        self._copier = Copier(self._publisher, start.settled, same_log=False, source="/weft/import")

    async def _record(self, line: RecordLine) -> None:
        assert self._start is not None
        if self._start.session not in (None, line.session):
            raise InvalidInput(
                f"event {line.sequence} of the export is of another session than "
                f"{self._start.session!r}, which is all that it is of; look at who made the file"
            )
        record, old = record_of(line, self._start.tenant)
        new = self._names.get(old.session) or await self._first(record, old)
        self._ids.add(copy_id(new, record))
        await self._copier.copy(record, old, new)
        self._on_progress(record.sequence, self._start.through)

    async def _first(self, record: LogRecord, old: SessionName) -> SessionName:
        """A free name for a session, if there is one."""
        new = SessionName(self._tenant, self._session or old.session)
        self._names[old.session] = new
        if old.session == TENANT_SESSION:
            found = read_matching(self._connection, stored_filter(new.tenant, new.session))
            known = copies_in([one async for one in found])
        else:
            await check_not_erased(self._connection, new.tenant, new.session)
            known = await copied_before(self._connection, new, record)
        self._copier.known.update(known)
        return new

    async def _finish_body(self) -> None:
        body, self._body = self._body, None
        if body is None:
            return
        self._spool.seek(0)
        found = hashlib.file_digest(self._spool, "sha256").hexdigest()  # type: ignore[arg-type]
        if found != body.sha256:
            raise Conflict(f"body {body.sha256} has other bytes in the export; export again")
        await self._bodies.put_open(self._spool, body.sha256, body.size)
        self._stored += 1

    async def _read_back(self) -> str:
        copy_digest = CopyDigest()
        names = {(name.tenant, name.session): name for name in self._names.values()}
        one = next(iter(names.values())) if len(names) == 1 else None
        subjects = stored_filter(self._tenant, one.session if one else None)
        async for record in read_matching(self._connection, subjects):
            if copied(record) in self._ids:
                address = record.address()
                copy_digest.take(record, names[address.tenant, address.session])
        return copy_digest.hexdigest()
