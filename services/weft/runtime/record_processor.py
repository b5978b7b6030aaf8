"""What is to be published for a record: what a worker derives of it, or that it is parked."""

from __future__ import annotations

import logging
from functools import partial

import msgspec

from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.reading import read
from weft.log.record import LogRecord
from weft.runtime import parking
from weft.runtime.crashpoints import crash_point
from weft.runtime.deriving import Derived, WorkContext, Worker, derived_message
from weft.runtime.logs import fields
from weft.runtime.policies import Policies
from weft.runtime.subprocess_worker import SubprocessWorker
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import Event, RevivedEvent
from weft_schemas.subjects import Stored

_log = logging.getLogger(__name__)


class RecordProcessor:
    """Makes the messages of one worker; their ids are the same in every attempt."""

    def __init__(self, worker: Worker, connection: Connection, policies: Policies) -> None:
        self._worker = worker
        self._connection = connection
        self._policies = policies
        self._lane = SubprocessWorker()
        self._after_decode = crash_point(f"{worker.name}.after_decode")
        self._after_work = crash_point(f"{worker.name}.after_work")

    async def reach(self, sequence: int) -> None:
        """Return when what stands at or before a sequence can be made, under the policy there.
        Raises `Unavailable` and `Forbidden`."""
        await self._policies.reach(sequence)

    def close(self) -> None:
        self._lane.close()

    def at_once(self, record: LogRecord) -> list[Message] | None:
        """What is to be published for a record, None where that cannot be known without waiting.
        What was delivered before goes the longer way, where it can take nobody down."""
        if record.deliveries > 1 or record.settled or record.subject.endswith(".revived"):
            return None
        taken = self._read(record)
        if taken is None:
            return []
        address, event, context = taken
        derived = self._worker.at_once(record, address, event, context)
        return None if derived is None else self._made(record, derived, context)

    async def source(self, record: LogRecord) -> LogRecord:
        """What is to be worked: the record, or the parked source that it revives for this worker,
        with the deliveries of the reviving."""
        if not record.subject.endswith(".revived"):
            return record
        try:
            event = record.event()
        except InvalidInput:
            return record
        if not isinstance(event, RevivedEvent) or not parking.revives(event, self._worker.name):
            return record
        try:
            source = await read(self._connection, event.origin.sequence)
        except NotFound:
            return record  # erased since
        if not parking.same_session(source, record):
            return record
        return msgspec.structs.replace(source, deliveries=record.deliveries)

    async def messages(self, source: LogRecord) -> list[Message]:
        """What is to be published for a source. Raises what makes that impossible."""
        if self._worker.name in source.settled.split(","):
            return []
        worn_out = parking.worn_out(source)
        if worn_out is not None:
            raise worn_out
        taken = self._read(source)
        if taken is None:
            return []
        address, event, context = taken
        derived = await self._worker.derive(source, address, event, context)
        return self._made(source, derived, context)

    def parked(self, source: LogRecord, error: Exception, delivered: int) -> Message:
        """`delivered` is the sequence of the record that brought it: a source that is parked again
        after it was revived needs another message id."""
        event = parking.parked_event(source, error, self._worker.name, self._worker.version)
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
        return self._message(source, Derived(parking.parked_subject(source), event, part), 0)

    def _read(self, record: LogRecord) -> tuple[Stored, Event, WorkContext] | None:
        """None for what cannot be read and is another worker's to report."""
        try:
            address, event = record.address(), record.event()
        except InvalidInput:
            if parking.is_reported(record, self._worker.reports):
                raise
            return None
        self._after_decode()
        policy = self._policies.of(address.tenant, address.session, record.sequence)
        untrusted = partial(self._policies.untrusted_kinds, address.tenant, address.session)
        return address, event, WorkContext(self._worker, record, policy, self._lane, untrusted)

    def _made(
        self, record: LogRecord, derived: list[Derived], context: WorkContext
    ) -> list[Message]:
        messages = [self._message(record, one, context.policy_version) for one in derived]
        self._after_work()
        return messages

    def _message(self, record: LogRecord, derived: Derived, policy_version: int) -> Message:
        limit = self._connection.max_payload
        return derived_message(self._worker, record, derived, policy_version, limit)
