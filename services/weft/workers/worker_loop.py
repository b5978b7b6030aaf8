"""Runs a derive function as a worker process: events in, derived events out, then the ack.

A source event is acknowledged only when the server has acknowledged everything derived from it.
Derived events have deterministic ids: after a crash in between the same ids are published again,
and the fold counts the first.

The loop is the handler of a FastStream subscriber (`runtime/events.py`): it is called once for each
batch and returns when every event of it is started, so that answers to publishes overlap.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from weft.log.consuming import Delivery
from weft.log.message import Ack, Message, Outcome
from weft.log.publishing import Publisher
from weft.log.record import LogRecord
from weft.log.timeouts import cancelled
from weft.runtime.crashpoints import crash_point
from weft.runtime.events import EventSubscriber
from weft.runtime.logs import fields, safe_error
from weft.runtime.policies import following_policies
from weft.runtime.process import Process
from weft.runtime.tracing import continued
from weft.workers import dead_letters
from weft.workers.record_processor import RecordProcessor, RevivalGivenUp, SourceGone
from weft.workers.watchdog import Watchdog
from weft.workers.work_context import Worker
from weft_schemas.errors import (
    ConfigurationError,
    Corrupt,
    InvalidInput,
    Overloaded,
    Unavailable,
)
from weft_schemas.events import Event
from weft_schemas.subjects import event_of

_log = logging.getLogger(__name__)

TOGETHER_SECONDS = 0.004
"""How long events are processed before the socket is served again. Serving it costs three system
calls, but derived events wait for it."""
PUBLISH_PAUSE = 0.5
"""Seconds until a refused or unanswered publish is sent again, with the same id."""


async def run_worker(process: Process, worker: Worker) -> None:
    """Work until `process.stopping` is set, then finish started events and return the rest.

    Raises `Unavailable` if the log is lost, `Forbidden` and `ConfigurationError` if this
    process may not or cannot do its work.
    """
    connection = process.connection
    worker = worker.keyed(process.settings.fingerprint_key)
    async with following_policies(connection) as policies, Publisher(connection) as publisher:
        watchdog = Watchdog(process, worker.name, worker.filter)
        # Its consumer may have been deleted while no process of this worker ran.
        await watchdog.look()
        processor = RecordProcessor(worker, connection, policies)
        loop = WorkerLoop(process, worker.name, publisher, processor)
        subscriber = process.broker.events(worker.name, worker.filter, Event, worker.concurrency)
        subscriber(loop.take)
        subscriber.before = loop.settle_others
        # If this worker fails, others get what it had begun: later each time, so that an event that
        # ends every worker does not keep them all busy with starting.
        subscriber.put_off = dead_letters.retry_delay
        # Modules and encodings live as long as the process: garbage collection can skip them.
        gc.freeze()
        try:
            await _together(process, subscriber, loop, watchdog, policies.following)
        finally:
            await subscriber.stop()
            processor.close()


async def _together(
    process: Process,
    subscriber: EventSubscriber,
    loop: WorkerLoop,
    watchdog: Watchdog,
    following: asyncio.Task[None],
) -> None:
    """Run all three until the work is done, or the watchdog or the policies fail."""

    async def pause_when_stopping() -> None:
        await process.stopping.wait()
        subscriber.pause()

    beside = [asyncio.create_task(watchdog.watch()), asyncio.create_task(pause_when_stopping())]
    work = asyncio.create_task(loop.run(subscriber))
    try:
        await asyncio.wait([work, beside[0], following], return_when=asyncio.FIRST_COMPLETED)
        for task in (beside[0], following, work):
            if task.done():
                task.result()
    except (ConfigurationError, Corrupt):
        # If the whole log is gone, the watchdog raises the clearer error.
        await watchdog.look()
        raise
    finally:
        subscriber.pause()
        await cancelled(*beside, work)


class WorkerLoop:
    """One worker in one process. An ordinary event is processed in the loop itself and settled by
    the answer to its publish; a task is created only for one that has to wait."""

    def __init__(
        self, process: Process, name: str, publisher: Publisher, processor: RecordProcessor
    ) -> None:
        self._process = process
        self._publisher = publisher
        self._processor = processor
        self._tasks: asyncio.TaskGroup
        self._tracing = process.tracing
        self._spans: dict[int, Any] = {}
        """Of the events in work, by sequence, if they are traced."""
        self._open = 0
        """Events that were begun and are neither acknowledged nor put off."""
        self._all_closed = asyncio.Event()
        process.metrics.in_flight(lambda: self._open)
        self._after_fetch = crash_point(f"{name}.after_fetch")
        self._after_publish = crash_point(f"{name}.after_publish")
        self._after_ack = crash_point(f"{name}.after_ack")

    async def run(self, subscriber: EventSubscriber) -> None:
        """Start the subscriber and process events, many at a time. Raises the first error that is
        not caused by an event."""
        async with self._to_the_end():
            await subscriber.start()
            self._process.started()
            await subscriber.ended()

    async def finish(self, batch: list[Delivery]) -> None:
        """Take one batch to its end."""
        async with self._to_the_end():
            await self.take(batch)

    @asynccontextmanager
    async def _to_the_end(self) -> AsyncIterator[None]:
        try:
            async with asyncio.TaskGroup() as self._tasks:
                yield
                while self._open:
                    self._all_closed.clear()
                    await self._all_closed.wait()
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None

    def settle_others(self, batch: list[Delivery]) -> list[Delivery]:
        """Settle the deliveries that the worker does not take, which needs no policy; returns the
        rest."""
        taken = []
        for delivery in batch:
            if self._processor.takes(delivery.record):
                taken.append(delivery)
            else:
                self._begin(delivery, is_taken=False)
        return taken

    async def take(self, batch: list[Delivery]) -> None:
        """Start every event of a batch; each is acknowledged, parked or retried later on its
        own."""
        newest = max(delivery.record.sequence for delivery in batch)
        reaching = asyncio.create_task(self._reach(newest))
        await asyncio.sleep(0)  # its request is on its way now, and takes as long as an event
        if not reaching.done() and self._tracing.tracer is None:
            self._processor.work_ahead(batch[0].record)
        await reaching
        looked = perf_counter()
        for delivery in batch:
            if self._process.stopping.is_set():
                delivery.nak()
                continue
            await self._publisher.room()
            self._begin(delivery)
            if perf_counter() - looked > TOGETHER_SECONDS:
                # Let the event loop take in answers to earlier publishes.
                await asyncio.sleep(0)
                looked = perf_counter()

    async def _reach(self, sequence: int) -> None:
        """Wait until the policies that precede an event are known, however long the server is
        away."""
        while not self._process.stopping.is_set():
            try:
                await self._processor.policies.reach(sequence)
            except Unavailable as error:
                self._process.health.report("policies", str(error))
                await asyncio.sleep(PUBLISH_PAUSE)
            else:
                self._process.health.report("policies", None)
                return

    def _begin(self, delivery: Delivery, is_taken: bool = True) -> None:
        begun = perf_counter()
        self._open += 1
        self._after_fetch()
        span = self._tracing.event(delivery.record)
        if span is not None:
            self._spans[delivery.record.sequence] = span
            delivery.record = continued(delivery.record, span)
        record = delivery.record
        try:
            messages = self._processor.at_once(record) if is_taken else []
        except Exception as error:
            self._failed(delivery, record, error, begun)
        else:
            if messages is None:
                self._start(self._in_time(delivery, begun))
            else:
                self._publish(delivery, record, messages, "derived", begun)

    async def _in_time(self, delivery: Delivery, begun: float) -> None:
        """Process an event that has to wait for something."""
        record = source = delivery.record
        try:
            source = await self._processor.source(record)
            messages = await self._processor.messages(source)
        except (SourceGone, RevivalGivenUp) as why:
            messages = [self._processor.parked_again(record, why)]
            self._publish(delivery, record, messages, "parked", begun)
        except Exception as error:
            self._failed(delivery, source, error, begun)
        else:
            self._publish(delivery, source, messages, "derived", begun)

    def _failed(
        self, delivery: Delivery, source: LogRecord, error: Exception, begun: float
    ) -> None:
        record = delivery.record
        self._process.health.failed(f"event {source.sequence}: {safe_error(error)}")
        if dead_letters.is_final(error, record.deliveries):
            messages = [self._processor.dead_letter(source, error, record.sequence)]
            self._publish(delivery, source, messages, "parked", begun)
        else:
            self._put_off(delivery, error)
            self._close(record, "failed", begun)

    def _publish(
        self,
        delivery: Delivery,
        source: LogRecord,
        messages: list[Message],
        outcome: str,
        begun: float,
    ) -> None:
        """Publish what was derived from `source`; the delivery, which is the source itself or
        revives it, is acknowledged when the server has all of it."""

        def answered(outcomes: list[Outcome]) -> None:
            if all(isinstance(one, Ack) for one in outcomes):
                self._settle(delivery, outcome, begun)
            else:
                self._start(self._publish_again(delivery, source, messages, outcome, begun))

        if not messages:
            self._settle(delivery, "nothing", begun)
        else:
            self._publisher.send(messages, answered)

    def _settle(self, delivery: Delivery, outcome: str, begun: float) -> None:
        self._after_publish()
        delivery.ack()
        self._after_ack()
        self._close(delivery.record, outcome, begun)

    def _close(self, record: LogRecord, outcome: str, begun: float) -> None:
        event = event_of(record.subject)
        self._process.metrics.event(event, outcome, perf_counter() - begun)
        span = self._spans.pop(record.sequence, None)
        if span is not None:
            span.set_attribute("weft.outcome", outcome)
            span.end()
        self._open -= 1
        if not self._open:
            self._all_closed.set()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._tasks.create_task(work)
        except RuntimeError:
            # This worker is failing; its events are redelivered to another.
            work.close()

    def _put_off(self, delivery: Delivery, error: Exception) -> None:
        delay = dead_letters.retry_delay(delivery.record.deliveries)
        _log.warning(
            "an event failed and is tried again",
            extra=fields(
                sequence=delivery.record.sequence,
                attempt=delivery.record.deliveries,
                seconds=delay,
                error=safe_error(error),
            ),
        )
        delivery.nak(delay)

    async def _publish_again(
        self,
        delivery: Delivery,
        source: LogRecord,
        messages: list[Message],
        outcome: str,
        begun: float,
    ) -> None:
        """Publish until the server has acknowledged all. A temporary refusal is not the source's
        fault, so it is retried here without another delivery; any other error ends the worker."""
        while True:
            try:
                await self._publisher.publish_many(messages)
            except (Unavailable, Overloaded) as error:
                self._process.health.report("publishing", str(error))
                await asyncio.sleep(PUBLISH_PAUSE)
            except InvalidInput as error:
                # The derived event itself cannot be sent, so its source is parked.
                if outcome == "parked":
                    raise
                messages = [self._processor.dead_letter(source, error, delivery.record.sequence)]
                outcome = "parked"
            else:
                self._process.health.report("publishing", None)
                self._settle(delivery, outcome, begun)
                return
