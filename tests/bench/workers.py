"""Events per second through each worker, alone on a full log, with one and two firewall processes,
beside a bare loop of nats-py that consumes, publishes and acks one by one.

`python -m tests.bench.workers [EVENTS]`. Two workers and the server share the machine's cores, so
the table says what the server took.
"""

import asyncio
import sys
import time
from collections.abc import Mapping

import nats

from tests.bench.stack import stack
from tests.bench.table import show
from weft.client import Client
from weft.log.api import call
from weft.runtime.supervisor import Supervisor, work_children
from weft.runtime.up import Up
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM

EVENTS = 10_000
FROM_SHARE = 0.1
"""Of the events, before the clock starts: processes start and warm up meanwhile."""
SESSIONS = 50
BARE_EVENTS = 3_000


def result(number: int) -> ContextItem:
    """A tool result of about 1 KB, none like another."""
    rows = ", ".join(
        f'{{"order": "O-{number * 13 + row}", "amount": {(number * 7919 + row * 31) % 10_000}, '
        f'"currency": "EUR", "status": "paid"}}'
        for row in range(14)
    )
    return ContextItem(
        f"r{number}", ItemKind.TOOL_RESULT, f'{{"page": {number}, "orders": [{rows}]}}'
    )


def turn(number: int) -> ContextItem:
    """A user turn that states a fact."""
    text = f"My customer number is C-{number}. Please look at order O-{number * 13} of last week."
    return ContextItem(f"u{number}", ItemKind.USER_TURN, text)


def long_message(number: int) -> ContextItem:
    """An agent's message that is long enough to be summarised."""
    text = " ".join(
        f"Step {step} of run {number} took {step * number % 991} ms." for step in range(60)
    )
    return ContextItem(f"a{number}", ItemKind.AGENT_MSG, text)


MADE = {"firewall": result, "memory": turn, "summarizer": long_message}


async def fill(client: Client, worker: str, events: int) -> None:
    """Publish what the worker works on."""
    items = [MADE[worker](number) for number in range(events)]
    step = -(-events // SESSIONS)
    for start in range(0, events, step):
        await client.publish(f"{worker}-{start}", items[start : start + step])


async def left(client: Client, worker: str) -> int:
    """Events that the worker has not acknowledged."""
    info = await call(client.connection, f"CONSUMER.INFO.{STREAM}.{worker}")
    return int(info["num_pending"] + info["num_ack_pending"])


async def rate(client: Client, up: Up, worker: str) -> tuple[float, float]:
    """Events per second until nothing is left, and the server's share of one core meanwhile."""
    total = await left(client, worker)
    while (begun_at := await left(client, worker)) > total * (1 - FROM_SHARE):
        await asyncio.sleep(0.02)
    begun, used = time.perf_counter(), cpu_seconds(up)
    while await left(client, worker) > 0:
        await asyncio.sleep(0.02)
    seconds = time.perf_counter() - begun
    return begun_at / seconds, (cpu_seconds(up) - used) / seconds


def cpu_seconds(up: Up) -> float:
    """Of the nats-server, user and system, since its start (Linux)."""
    assert up.server is not None
    with open(f"/proc/{up.server.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def measure(worker: str, processes: int, events: int) -> list[object]:
    async with stack({}) as (up, client):
        await fill(client, worker, events)
        counts: Mapping[str, int] = {worker: processes}
        async with workers(up, counts):
            per_second, server = await rate(client, up, worker)
    return [f"{worker}, {processes} process(es)", per_second, f"{server:.0%} of a core", events]


def workers(up: Up, counts: Mapping[str, int]) -> Supervisor:
    """These processes, on the log of `up`."""
    environ = {
        "WEFT_NATS_URL": up.settings.nats_url,
        "WEFT_DATA_DIR": str(up.settings.data_dir),
        "WEFT_LOG_LEVEL": "error",
    }
    return Supervisor(work_children(counts, environ))


async def bare() -> list[object]:
    """The loop that one would write first: fetch one, publish one, ack one."""
    async with stack({}) as (up, client):
        await fill(client, "firewall", BARE_EVENTS)
        connection = await nats.connect(up.settings.nats_url)
        stream = connection.jetstream()
        source = await stream.pull_subscribe_bind("firewall", STREAM)
        begun, used = time.perf_counter(), cpu_seconds(up)
        for _ in range(BARE_EVENTS):
            (message,) = await source.fetch(1)
            await stream.publish("weft.default.bare.out.copy", message.data)
            await message.ack()
        seconds = time.perf_counter() - begun
        server = (cpu_seconds(up) - used) / seconds
        await connection.close()
    return [
        "nats-py, one by one, no work",
        BARE_EVENTS / seconds,
        f"{server:.0%} of a core",
        BARE_EVENTS,
    ]


async def main(events: int) -> None:
    rows = [await bare()]
    for worker, processes in (("firewall", 1), ("firewall", 2), ("summarizer", 1), ("memory", 1)):
        rows.append(await measure(worker, processes, events))
    show(
        "Events per second through each worker (firewall: results of 1 KB)",
        ["worker", "events/s", "nats-server", "n"],
        rows,
    )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS))
