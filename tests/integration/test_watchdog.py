"""The watchdog against a real server that loses things between two of its questions."""

import asyncio
import time

import pytest
from tests.integration.echo_worker import WORKER
from tests.integration.logged import PATIENCE

from weft.log import consuming, reading
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.consuming import Consumer
from weft.log.following import Follower
from weft.log.pulling import Puller
from weft.log.topology import provision
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.workers import watchdog
from weft.workers.watchdog import StreamLost, Watchdog
from weft.workers.worker_loop import run_worker
from weft_schemas.subjects import STREAM


@pytest.fixture
def process(server, log: Connection) -> Process:
    process = Process("firewall", Settings(nats_url=server.url))
    process.connection = log
    return process


@pytest.mark.parametrize("question", ["CONSUMER.INFO", "CONSUMER.CREATE"])
async def test_a_stream_lost_between_two_questions_is_told_at_the_next_look(
    log: Connection, process: Process, monkeypatch, question: str
):
    if question == "CONSUMER.CREATE":
        await call(log, f"CONSUMER.DELETE.{STREAM}.firewall")

    async def losing(connection, verb, body=None):
        if verb.startswith(question):
            monkeypatch.setattr(watchdog, "call", call)
            await call(log, f"STREAM.DELETE.{STREAM}")
        return await call(connection, verb, body)

    monkeypatch.setattr(watchdog, "call", losing)
    watching = Watchdog(process, "firewall")
    await watching.look()
    assert process.complaint() is not None
    with pytest.raises(StreamLost, match="provision"):
        await watching.look()


async def test_a_worker_that_starts_without_its_consumer_makes_it(
    log: Connection, process: Process, monkeypatch
):
    monkeypatch.setattr(Consumer, "GONE_SECONDS", 1.0)
    await call(log, f"CONSUMER.DELETE.{STREAM}.firewall")
    working = asyncio.create_task(run_worker(process, WORKER))
    while process.complaint() is not None and not working.done():
        await asyncio.sleep(0.01)
    process.stopping.set()
    await working
    made = (await call(log, f"CONSUMER.INFO.{STREAM}.firewall"))["config"]
    assert made["deliver_policy"] == "all"


@pytest.mark.parametrize("first", [Consumer, Follower], ids=["consumer", "policies"])
async def test_a_lost_stream_is_told_as_such_whoever_notices_first(
    log: Connection, process: Process, monkeypatch, first
):
    """What else notices it sees its own part missing only, which is no reason to give up for."""
    monkeypatch.setattr(watchdog, "POLL_SECONDS", 60.0)
    monkeypatch.setattr(first, "GONE_SECONDS", 0.4)
    working = asyncio.create_task(run_worker(process, WORKER))
    while process.complaint() is not None:
        await asyncio.sleep(0.01)
    await call(log, f"STREAM.DELETE.{STREAM}")
    with pytest.raises(StreamLost, match="provision"):
        await working


@pytest.mark.parametrize(("module", "kind"), [(consuming, Consumer), (reading, Follower)])
async def test_time_in_which_nobody_looked_counts_for_no_patience(
    log: Connection, monkeypatch, module, kind
):
    """A process that was held up has had no time to mend what it finds missing after that."""
    monkeypatch.setattr(kind, "GONE_SECONDS", 0.6)
    await call(log, f"STREAM.DELETE.{STREAM}")
    answers = 0

    async def held_up(connection, verb, *arguments, **options):
        nonlocal answers
        answers += 1
        if answers == 2:
            time.sleep(1.0)  # noqa: ASYNC251 (nothing else in the process runs)
        if answers == 3:
            await provision(log)
        return await call(connection, verb, *arguments, **options)

    monkeypatch.setattr(module, "call", held_up)
    argument = ("firewall",) if kind is Consumer else ()
    async with kind(log, *argument):
        assert answers >= 3


async def test_a_cancellation_that_is_lost_does_not_keep_a_worker_alive(
    process: Process, monkeypatch
):
    """Python 3.11's `wait_for` loses one that comes at the same time as what it waits for."""
    wait, lost = Puller._wait, []

    async def losing(puller: Puller) -> None:
        try:
            await wait(puller)
        except asyncio.CancelledError:
            if lost:
                raise
            lost.append(puller)

    async def gone(_: Watchdog) -> None:
        while process.complaint() is not None or lost:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        raise StreamLost("the stream is gone")

    monkeypatch.setattr(Puller, "_wait", losing)
    monkeypatch.setattr(Watchdog, "watch", gone)
    with pytest.raises(StreamLost):
        await asyncio.wait_for(run_worker(process, WORKER), PATIENCE)
