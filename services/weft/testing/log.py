"""A log in memory with a read model that is never behind: what is appended is folded at once."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

from weft.log.reading import EventLog
from weft.log.record import LogRecord
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.store import MEMORY, open_writer
from weft_schemas.errors import NotFound
from weft_schemas.events import Event
from weft_schemas.items import ItemKind


class MemoryLog(EventLog):
    """Events in order, of any tenants and sessions. One task at a time appends."""

    def __init__(self, encoding: str) -> None:
        self.records: list[LogRecord] = []
        db = open_writer(MEMORY)
        self._fold = Fold(db, encoding)
        self.model = ReadModel(db)

    def append(self, tenant: str, session: str, event: Event) -> LogRecord:
        """The record as it is stored now, folded."""
        first, now = len(self.records) + 1, time.time_ns()
        (record,) = records_of([event], tenant, session, first, now)
        self.records.append(record)
        self._fold.apply([record])
        self._fold.seal()
        return record

    def close(self) -> None:
        self.model.close()

    async def read(self, sequence: int) -> LogRecord:
        if not 1 <= sequence <= len(self.records):
            raise NotFound(f"event {sequence} is not in this log of {len(self.records)} events")
        return self.records[sequence - 1]

    async def session(
        self, tenant: str, session: str, *, after: int = 0
    ) -> AsyncGenerator[LogRecord, None]:
        for record in self.records[after:]:
            address = record.address()
            if (address.tenant, address.session) == (tenant, session):
                yield record

    async def items(
        self, tenant: str, session: str, kind: ItemKind, *, after: int, through: int
    ) -> list[LogRecord]:
        found = [record async for record in self.session(tenant, session, after=after)]
        known = (record for record in found if record.sequence <= through)
        return [record for record in known if record.address().event == kind]
