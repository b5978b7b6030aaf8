"""The messages to publish for a record: the events that a worker derives from it, or the event that
parks it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial

import msgspec

from weft.erasure.records import erasure_history
from weft.erasure.sequence_runs import holds
from weft.erasure.tombstones import tombstones
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.reading import read
from weft.log.record import LogRecord
from weft.runtime.crashpoints import crash_point
from weft.runtime.logs import fields
from weft.runtime.policies import Policies
from weft.runtime.subprocess_worker import SubprocessWorker
from weft.workers import dead_letters
from weft.workers.work_context import Derived, WorkContext, Worker, derived_message
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import Event, Origin, ParkedEvent, RevivedEvent
from weft_schemas.subjects import StoredSubject, event_of, place_of

_log = logging.getLogger(__name__)


class SourceGone(NotFound):
    """A parked source that is to be processed again and was trimmed from the log."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(
            f"event {origin.sequence} was trimmed from the log, so that nothing can be derived "
            "from it; drop it"
        )
        self.origin = origin


class RevivalGivenUp(dead_letters.GivenUp):
    """An order to process a parked source again was delivered too often. The source may be one that
    cannot be read, so it is parked unread."""

    def __init__(self, origin: Origin, record: LogRecord) -> None:
        super().__init__(
            f"event {origin.sequence} was to be processed again, but event {record.sequence}, which"
            f" says so, was delivered {record.deliveries - 1} times and never finished; look at it,"
            " then replay or drop it"
        )
        self.origin = origin


class RecordProcessor:
    """Makes the messages of one worker; their ids are the same in every attempt."""

    def __init__(self, worker: Worker, connection: Connection, policies: Policies) -> None:
        self._worker = worker
        self._connection = connection
        self.policies = policies
        self._subprocess_worker = SubprocessWorker()
        self._ahead: tuple[LogRecord, int, list[Message] | None] | None = None
        self._after_decode = crash_point(f"{worker.name}.after_decode")
        self._after_work = crash_point(f"{worker.name}.after_work")

    def close(self) -> None:
        self._subprocess_worker.close()

    def takes(self, record: LogRecord) -> bool:
        """Whether the worker may have something to do for a record."""
        name = event_of(record.subject)
        if name in self._worker.names or name == "revived":
            return True
        if record.deliveries > 1 or record.settled:
            return True
        if not dead_letters.is_reported(record, self._worker.reports):
            return False
        try:
            record.address()
            return self._worker.takes(record.event())
        except InvalidInput:
            return True

    def work_ahead(self, record: LogRecord) -> None:
        """Make the messages of a record while the query whether all its policies are known is on
        its way. `at_once` returns them, unless another policy came."""
        with suppress(Exception):  # which `at_once` will raise
            self._ahead = record, self.policies.known, self.at_once(record)

    def at_once(self, record: LogRecord) -> list[Message] | None:
        """The messages for a record, None if they cannot be made without waiting. Redelivered
        records take the longer way, on which they cannot kill the process."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] is record and ahead[1] == self.policies.known:
            return ahead[2]
        if record.deliveries > 1 or record.settled or record.subject.endswith(".revived"):
            return None
        taken = self._read(record)
        if taken is None:
            return []
        address, event, context = taken
        derived = self._worker.at_once(record, address, event, context)
        return None if derived is None else self._made(record, derived, context)

    async def source(self, record: LogRecord) -> LogRecord:
        """The record to process: this one, or the parked source that it revives for this worker,
        with this one's number of deliveries. Raises `SourceGone` if that was trimmed, and
        `RevivalGivenUp` after too many deliveries."""
        if not record.subject.endswith(".revived"):
            return record
        try:
            event = record.event()
        except InvalidInput:
            return record
        if not isinstance(event, RevivedEvent):
            return record
        if not dead_letters.revives(event, self._worker.name):
            return record
        if dead_letters.worn_out(record) is not None:
            raise RevivalGivenUp(event.origin, record)
        try:
            source = await read(self._connection, event.origin.sequence)
        except NotFound:
            if await self._was_erased(record, event.origin.sequence):
                return record
            raise SourceGone(event.origin) from None
        if not dead_letters.same_session(source, record):
            return record
        return msgspec.structs.replace(source, deliveries=record.deliveries)

    async def _was_erased(self, record: LogRecord, sequence: int) -> bool:
        """Whether an erasure removed the parked source: then nothing more is published about it."""
        tenant, session = place_of(record.subject)
        buried = await tombstones(self._connection, tenant)
        if session in buried or "" in buried:
            return True
        return holds((await erasure_history(self._connection, tenant)).named(), sequence)

    def parked_again(self, record: LogRecord, why: SourceGone | RevivalGivenUp) -> Message:
        """The message that parks again the source that `record` was to revive."""
        origin = Origin(
            why.origin.sequence, why.origin.item_id, self._worker.name, self._worker.version
        )
        event = ParkedEvent(origin, why.code, str(why), record.deliveries)
        part = f"parked after {record.sequence}"
        derived = Derived(dead_letters.parked_subject(record), event, part)
        return self._message(record, derived, 0)

    async def messages(self, source: LogRecord) -> list[Message]:
        """The messages for a source. Raises if it cannot be processed."""
        if self._worker.name in source.settled.split(","):
            return []
        worn_out = dead_letters.worn_out(source)
        if worn_out is not None:
            raise worn_out
        taken = self._read(source)
        if taken is None:
            return []
        address, event, context = taken
        derived = await self._worker.derive(source, address, event, context)
        return self._made(source, derived, context)

    def dead_letter(self, source: LogRecord, error: Exception, delivered: int) -> Message:
        """The message that parks a source. `delivered` is the sequence of the record that caused
        the attempt: a source that is parked again after a revival needs another message id."""
        event = dead_letters.parked_event(source, error, self._worker.name, self._worker.version)
        _log.warning(
            "an event is parked",
            extra=fields(
                sequence=source.sequence,
                code=event.code,
                error="" if isinstance(error, InvalidInput) else event.error,
                attempts=event.attempts,
            ),
        )
        part = "parked" if delivered == source.sequence else f"parked after {delivered}"
        return self._message(source, Derived(dead_letters.parked_subject(source), event, part), 0)

    def _read(self, record: LogRecord) -> tuple[StoredSubject, Event, WorkContext] | None:
        """None if it cannot be read and another worker reports that."""
        try:
            address, event = record.address(), record.event()
        except InvalidInput:
            if dead_letters.is_reported(record, self._worker.reports):
                raise
            return None
        self._after_decode()
        policy = self.policies.of(address.tenant, address.session, record.sequence)
        untrusted = partial(self.policies.untrusted_kinds, address.tenant, address.session)
        return (
            address,
            event,
            WorkContext(self._worker, record, policy, self._subprocess_worker, untrusted),
        )

    def _made(
        self, record: LogRecord, derived: list[Derived], context: WorkContext
    ) -> list[Message]:
        messages = [self._message(record, one, context.policy_version) for one in derived]
        self._after_work()
        return messages

    def _message(self, record: LogRecord, derived: Derived, policy_version: int) -> Message:
        limit = self._connection.max_payload
        return derived_message(self._worker, record, derived, policy_version, limit)
