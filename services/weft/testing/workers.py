"""To test a worker of one's own: without a server, under FastStream's test broker, and with one.

async with TestNatsBroker(broker_of(birthdays)) as broker:
    reply = await broker.request(encode_event(turn), "weft.acme.s1.in.user_turn", timeout=30)
    assert derived(reply) == [...]
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from weft.client import Client, connect
from weft.log.connection import Connection
from weft.log.consuming import Delivery
from weft.log.message import Ack, Message, Outcome
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.log.transport import connect as open_connection
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.broker import Broker
from weft.runtime.crashpoints import add_worker
from weft.runtime.policies import Policies
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.workers.deriver import Deriver
from weft.workers.record_processor import RecordProcessor
from weft.workers.running import run
from weft.workers.worker_loop import WorkerLoop
from weft_schemas.events import Event, decode_event

SECRET = "for tests"


def broker_of(deriver: Deriver) -> Broker:
    """A broker with one handler, the worker, for FastStream's `TestNatsBroker`.

    The handler is the worker's own loop, with decoding, the outcome of retries, parking and message
    ids. There is no log: the policy is the default one, sequences count up, and nothing is stored.
    Derived events are published through the broker, and are returned to the sender of a request. An
    error after which a worker would try the event again is raised: there is no second delivery.
    """
    process = Process(deriver.name, Settings(fingerprint_key=SECRET))
    subscriber = process.broker.events(deriver.name, deriver.filter, Event)
    subscriber(_Unlogged(process, deriver).take)
    return process.broker


def derived(reply: Any) -> list[Event]:
    """The events that a worker derived, from the reply to a request to its broker."""
    events = msgspec.json.decode(reply.body, type=list[msgspec.Raw])
    return [decode_event(bytes(event)) for event in events]


@asynccontextmanager
async def running(deriver: Deriver, folder: Path) -> AsyncIterator[Client]:
    """A nats-server of its own in a folder, the worker, and a client of tenant `default`."""
    async with EmbeddedServer(folder) as server:
        process = Process(deriver.name, Settings(nats_url=server.url, fingerprint_key=SECRET))
        process.connection = await open_connection(server.url)
        await provision(process.connection)
        working = asyncio.create_task(run(process, deriver))
        try:
            async with connect(server.url) as client:
                yield client
        finally:
            process.stopping.set()
            await working
            await process.connection.close()


class _Unlogged:
    """The handler of a worker without a log."""

    def __init__(self, process: Process, deriver: Deriver) -> None:
        add_worker(deriver.name)
        self._process = process
        self._worker = deriver.worker(ArtifactStore(_NONE, cast(Publisher, None))).keyed(SECRET)

    async def take(self, batch: list[Delivery]) -> bytes:
        sent = _Sent(self._process.broker)
        processor = RecordProcessor(
            self._worker, cast(Connection, self._process.broker), _DefaultPolicies()
        )
        try:
            loop = _Once(self._process, self._worker.name, cast(Publisher, sent), processor)
            await loop.finish(batch)
        finally:
            processor.close()
        await asyncio.gather(*sent.going)
        if loop.failures:
            raise loop.failures[0]
        return b"[%b]" % b",".join(message.payload for message in sent.messages)


class _Once(WorkerLoop):
    """Keeps the errors of events that would be delivered again."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.failures: list[Exception] = []

    def _put_off(self, delivery: Delivery, error: Exception) -> None:
        super()._put_off(delivery, error)
        self.failures.append(error)


_NONE = cast(Connection, None)


class _DefaultPolicies(Policies):
    async def reach(self, sequence: int) -> None:
        """No policy precedes anything."""


class _Sent:
    """A publisher that publishes through FastStream's broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.messages: list[Message] = []
        self.going: list[asyncio.Task[None]] = []

    async def room(self) -> None: ...

    def send(self, messages: Sequence[Message], settled: Callable[[list[Outcome]], None]) -> None:
        self.messages += messages
        self.going.append(asyncio.create_task(self._publish(messages)))
        settled([Ack(0) for _ in messages])

    async def _publish(self, messages: Sequence[Message]) -> None:
        for one in messages:
            headers = {**one.headers, "Nats-Msg-Id": one.message_id}
            await self._broker.publish(one.payload, one.subject, headers=headers)
