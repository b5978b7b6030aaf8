"""A worker of one's own on a real server: exactly once, whoever is killed, and rederived."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from examples import birthdays as example
from tests.integration.command_line import weft
from tests.integration.logged import PATIENCE, publish, stored, until, until_finished
from tests.integration.processes import started

from weft.firewall.worker import firewall
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.consuming import HELD
from weft.log.publishing import Publisher
from weft.log.reading import EventLog, read_session
from weft.log.topology import worker_consumer
from weft.log.transport import connect
from weft.memory.worker import memory
from weft.runtime.artifacts import ArtifactStore
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.testing import running
from weft.workers import Deriver, Source, derives
from weft.workers.running import run
from weft_schemas.events import FactsEvent, ParkedEvent
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM

WORK = ("weft.cli.main", "work", "examples.birthdays:birthdays")


def turns(count: int) -> list[ContextItem]:
    return [
        ContextItem(f"u{n}", ItemKind.USER_TURN, f"I was born on 19{n % 90 + 10}-01-01.")
        for n in range(count)
    ]


@asynccontextmanager
async def running_in(url: str, worker: Deriver) -> AsyncIterator[None]:
    """A worker in this process."""
    process = Process(worker.name, Settings(nats_url=url))
    process.connection = await connect(url)
    task = asyncio.create_task(run(process, worker))
    try:
        yield
    finally:
        process.stopping.set()
        await task
        await process.connection.close()


async def hurry(log: Connection) -> None:
    """Redeliver what the dead process held after a second."""
    config = worker_consumer("birthdays", example.birthdays.filter) | {"ack_wait": 1_000_000_000}
    body = {"stream_name": STREAM, "config": config}
    await call(log, f"CONSUMER.CREATE.{STREAM}.birthdays.{config['filter_subject']}", body)


async def test_it_derives_what_the_client_publishes(tmp_path: Path) -> None:
    async with running(example.birthdays, tmp_path) as client:
        await client.publish("s1", turns(3))
        found: list[FactsEvent] = []
        async with asyncio.timeout(PATIENCE):
            while len(found) < 3:
                await asyncio.sleep(0.02)
                records = read_session(client.connection, "default", "s1")
                events = [record.event() async for record in records]
                found = [event for event in events if isinstance(event, FactsEvent)]
        address = client.connection.connected_url.geturl()
        status = (await weft("status", "--json", url=address)).json
    assert {event.origin.worker for event in found} == {"birthdays"}
    names = [one["name"] for one in status["consumers"]]
    assert names == ["firewall", "summarizer", "memory", "birthdays"]


@pytest.mark.parametrize("step", ["publish"])
async def test_a_kill_loses_nothing_and_doubles_nothing(server, log: Connection, step: str) -> None:
    await publish(log, "s1", turns(40))
    crash = {"WEFT_CRASH_AT": f"birthdays.after_{step}:7"}
    async with started(*WORK, WEFT_NATS_URL=server.url, **crash) as killed:
        await killed.process.wait()
    assert killed.process.returncode == -9
    await hurry(log)
    async with started(*WORK, WEFT_NATS_URL=server.url), started(*WORK, WEFT_NATS_URL=server.url):
        await until(log, lambda events: len(events) >= 40)
        await until_finished(log, "birthdays")
    events = [event for _, event in await stored(log)]
    assert not [event for event in events if isinstance(event, ParkedEvent)]
    assert len({event.origin.sequence for event in events}) == len(events) == 40


@pytest.mark.parametrize(("given", "most"), [({}, 8), ({"concurrency": 1}, 1)])
async def test_an_async_function_is_called_for_so_many_events_at_a_time(
    server, log: Connection, given: dict[str, int], most: int
) -> None:
    calls, answered = 0, asyncio.Event()

    @derives("user_turn", version="1", **given)
    async def asking(source: Source) -> None:
        nonlocal calls
        calls += 1
        await answered.wait()

    async with running_in(server.url, asking):
        await publish(log, "s1", turns(40))
        try:
            async with asyncio.timeout(PATIENCE):
                while calls < most:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)
            assert calls == most
            # What waits for its call is with the server, for other processes to take.
            info = await call(log, f"CONSUMER.INFO.{STREAM}.asking")
            assert info["num_ack_pending"] == most
        finally:
            answered.set()
        await until_finished(log, "asking")
    assert calls == 40


async def test_a_function_that_does_not_wait_takes_as_many_as_come(server, log: Connection) -> None:
    @derives("user_turn", version="1")
    def counting(source: Source) -> None: ...

    artifacts = ArtifactStore(log, Publisher(log))
    own = (firewall(Settings(), EventLog(log)), memory(EventLog(log)), counting)
    assert {one.worker(artifacts).concurrency for one in own} == {HELD}


async def test_rederiving_publishes_what_is_new_and_nothing_twice(server, log: Connection) -> None:
    await publish(log, "s1", turns(5))
    command = ("rederive", "examples.birthdays:birthdays", "--json")
    settings = {"WEFT_TENANT": "acme", "WEFT_FINGERPRINT_KEY": "tests"}
    first = (await weft(*command, url=server.url, settings=settings)).json
    again = (await weft(*command, url=server.url, settings=settings)).json
    assert (first["worker"], first["published"], first["failed"]) == ("birthdays", 5, [])
    assert (again["published"], again["known"]) == (0, 5)
