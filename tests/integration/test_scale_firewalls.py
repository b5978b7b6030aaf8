"""Firewalls come and go under load, publishers outnumber them and the log fills up: nothing is lost
and memory stays bounded."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

from tests.integration.conftest import empty
from tests.integration.fleet import peak_mib
from tests.integration.logged import (
    PATIENCE,
    hurry,
    publish,
    result,
    stored,
    until,
    until_finished,
)
from tests.integration.processes import started

from weft.client import Client
from weft.log.connection import Connection
from weft.log.topology import LogLimits, provision
from weft.runtime.settings import Settings
from weft_schemas.errors import Overloaded, WeftError

ECHO = "tests.integration.echo_worker"
FIREWALL = ("weft.cli.main", "work", "firewall")
MOST_MIB = 400
"""Of a firewall with far more waiting than it may hold; at rest it has about 120."""


async def test_firewalls_are_added_and_removed_under_load(server, log: Connection):
    await hurry(log)
    environ = {"WEFT_NATS_URL": server.url}

    async def load() -> None:
        for start in range(0, 3_000, 100):
            await publish(log, "s1", [result(f"i{n}", "x") for n in range(start, start + 100)])
            await asyncio.sleep(0.05)

    loading = asyncio.create_task(load())
    async with AsyncExitStack() as living:
        first, second = [await living.enter_async_context(started(ECHO, **environ)) for _ in "ab"]
        await until(log, lambda events: len(events) >= 300)
        await first.until_listening()
        assert await first.end(signal.SIGTERM) == 0
        third = await living.enter_async_context(started(ECHO, **environ))
        await until(log, lambda events: len(events) >= 900)
        await second.end(signal.SIGKILL)
        await third.until_ready()
        await loading
        await until_finished(log)
    sources = sorted(event.origin.sequence for _, event in await stored(log))
    items = sorted(sequence for sequence, _ in await stored(log, "in"))
    assert sources == items
    assert len(items) == 3_000


async def test_many_publishers_on_a_log_that_fills_up_are_refused_and_lose_nothing(
    server, log: Connection, tmp_path: Path
):
    """Forty publishers, one firewall, room for a thousand events; then the operator makes room."""
    await empty(log)
    await provision(log, limits=LogLimits(max_messages=1_000))
    acknowledged: set[str] = set()
    refusals: list[WeftError] = []

    async def publisher(number: int) -> None:
        async with Client(Settings(nats_url=server.url, tenant="acme")) as client:
            for n in range(50):
                item = result(f"i{n}", "word " * 1_600)
                while True:
                    try:
                        await client.publish(f"s{number}", item)
                        break
                    except WeftError as error:
                        refusals.append(error)
                        await asyncio.sleep(0.1)
                acknowledged.add(f"s{number}/i{n}")

    publishing = asyncio.gather(*(publisher(number) for number in range(40)))
    # For real: a forked process would begin with the memory of what it is forked from.
    firewall = started(*FIREWALL, is_forked=False, WEFT_NATS_URL=server.url)
    async with asyncio.timeout(2 * PATIENCE), firewall as one:
        while len(refusals) < 40:
            await asyncio.sleep(0.05)
        assert not publishing.done()
        await provision(log)
        await publishing
        await until_finished(log)
        peak = peak_mib(one.process.pid)
    assert all(isinstance(error, Overloaded) and error.retryable for error in refusals)
    assert len(acknowledged) == 2_000
    items = [sequence for sequence, _ in await stored(log, "in")]
    assert len(items) == 2_000
    assert sorted(event.origin.sequence for _, event in await stored(log)) == sorted(items)
    assert peak < MOST_MIB


async def test_small_items_are_not_starved_by_a_queue_of_slow_ones(server, log: Connection):
    """A tenant's slow items wait for one another; what others publish after them does not."""
    slow = [result(f"slow-{n}", "slow 0.2") for n in range(60)]
    await publish(log, "s1", slow)
    for number in range(12):
        await publish(log, f"s{number}", [result(f"i{number}-{n}", "x") for n in range(50)])
    async with started(ECHO, WEFT_NATS_URL=server.url):
        events = await until(log, lambda events: len(events) >= 660)
    names = [event.origin.item_id for _, event in events]
    last_small = max(place for place, name in enumerate(names) if name.startswith("i"))
    assert sum(name.startswith("slow") for name in names[:last_small]) < len(slow) // 2
