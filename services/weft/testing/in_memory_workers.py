"""The workers over a log in memory: events that they derive are appended at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from weft.firewall.worker import firewall
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.record import LogRecord
from weft.memory.worker import memory
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.policies import Policies
from weft.runtime.settings import Settings
from weft.runtime.subprocess_worker import SubprocessWorker
from weft.summarizer.worker import summarizer
from weft.testing.log import MemoryLog
from weft.workers.deriver import Deriver
from weft.workers.work_context import Derived, WorkContext, Worker
from weft_schemas.errors import Unavailable
from weft_schemas.events import Event

P = ParamSpec("P")
T = TypeVar("T")


class _InProcess(SubprocessWorker):
    """Huge events are processed in this process too, since it belongs to a test."""

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return work(*args, **kwargs)


class InMemoryWorkers:
    """The firewall, the summarizer, the memory-updater and a user's own workers over one log."""

    def __init__(self, settings: Settings, log: MemoryLog, workers: Sequence[Deriver]) -> None:
        self.log = log
        nothing = cast(Any, None)  # bodies are in their events here, and are not fetched
        artifacts = ArtifactStore(cast(Connection, nothing), cast(Publisher, nothing))
        own = (firewall(settings, log), summarizer(settings, log), memory(log))
        self._workers = [one.worker(artifacts) for one in (*own, *workers)]
        self._policies = Policies()
        self._subprocess_worker = _InProcess()

    async def take(self, tenant: str, session: str, event: Event) -> LogRecord:
        """Append an event, and everything derived from it."""
        first = self.log.append(tenant, session, event)
        queue = [first]
        while queue:
            record = queue.pop(0)
            self._policies.take(record)
            for worker in self._workers:
                for derived in await self._derived(worker, record):
                    made = derived.event
                    queue.append(self.log.append(tenant, session, made))
        return first

    async def _derived(self, worker: Worker, record: LogRecord) -> list[Derived]:
        address = record.address()
        policy = self._policies.of(address.tenant, address.session, record.sequence)
        untrusted = partial(self._policies.untrusted_kinds, address.tenant, address.session)
        context = WorkContext(worker, record, policy, self._subprocess_worker, untrusted)
        event = record.event()
        at_once = worker.at_once(record, address, event, context)
        if at_once is not None:
            return at_once
        try:
            return await worker.derive(record, address, event, context)
        except Unavailable:  # a summary that waits for something that a worker has parked
            return []
