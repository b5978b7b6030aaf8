"""Events per second through each worker, on a full log that is let go when all processes are warm;
the firewall with one and two processes, in turns with a bare loop of nats-py that consumes,
publishes and acks one by one and does nothing else.

`python -m tests.bench.workers [EVENTS]`. Workers, server and whatever else the machine does share
its cores: CPU time per event tells what a worker and the server took.

How two firewalls scale is said in three ways. `events/s` is what was measured. `possible` is what
two cores could give: one process has the second core beside it for the server, two have to share
both with it, so it is 2 w / (w + s) for w and s seconds of CPU that worker and server take per
event. `by CPU` is what two would do with a core each beside the server's: twice the events per CPU
second of a process that has another one beside it, over those of one alone.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import msgspec
import nats

from tests.bench.stack import stack
from tests.bench.table import ratio, show
from weft.client import Client
from weft.log.api import call
from weft.supervision.supervisor import Supervisor, work_children
from weft.supervision.up import Up
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM

EVENTS = 10_000
ROUNDS = 3
"""Of bare loop, one and two firewalls: drift of the machine cancels out in the ratios."""
LARGE_SHARE = 6
"""As many fewer results of 20 KB."""
OTHERS = ("summarizer", "memory")
SESSIONS = 50
BARE_EVENTS = 3_000


def result(number: int, rows: int = 14) -> ContextItem:
    """A tool result of about 1 KB, none like another."""
    orders = ", ".join(
        f'{{"order": "O-{number * rows + row}", "amount": {(number * 7919 + row * 31) % 10_000}, '
        f'"currency": "EUR", "status": "paid"}}'
        for row in range(rows)
    )
    return ContextItem(
        f"r{rows}-{number}", ItemKind.TOOL_RESULT, f'{{"page": {number}, "orders": [{orders}]}}'
    )


def large_result(number: int) -> ContextItem:
    """The same of about 20 KB: the worker's own work is most of it, the server's share small."""
    return result(number, 260)


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


class Rate(msgspec.Struct, frozen=True):
    per_second: float
    worker: float
    """CPU seconds per event, of all processes of the worker."""
    server: float
    """The same of the nats-server."""


Made = Callable[[int], ContextItem]
MADE: dict[str, Made] = {"firewall": result, "memory": turn, "summarizer": long_message}


async def fill(client: Client, worker: str, events: int, made: Made) -> None:
    """Publish what the worker works on."""
    items = [made(number) for number in range(events)]
    step = -(-events // SESSIONS)
    for start in range(0, events, step):
        await client.publish(f"{worker}-{start}", items[start : start + step])


async def left(client: Client, worker: str) -> int:
    """Events that the worker has not acknowledged."""
    info = await call(client.connection, f"CONSUMER.INFO.{STREAM}.{worker}")
    return int(info["num_pending"] + info["num_ack_pending"])


async def rate(client: Client, up: Up, worker: str, supervisor: Supervisor) -> Rate:
    """Let the workers at what is there, and wait until nothing is left."""
    total = await left(client, worker)
    await call(client.connection, f"CONSUMER.PAUSE.{STREAM}.{worker}", {})
    # The server takes up to a second until it hands out the first.
    while (waiting := await left(client, worker)) == total:
        await asyncio.sleep(0.005)
    begun, server, own = time.perf_counter(), cpu_seconds(up), workers_cpu(supervisor)
    while await left(client, worker) > 0:
        await asyncio.sleep(0.02)
    seconds = time.perf_counter() - begun
    return Rate(
        waiting / seconds,
        (workers_cpu(supervisor) - own) / waiting,
        (cpu_seconds(up) - server) / waiting,
    )


async def ready(client: Client, worker: str, processes: int) -> None:
    """Return when so many processes wait for the paused consumer's events."""
    while True:
        info = await call(client.connection, f"CONSUMER.INFO.{STREAM}.{worker}")
        if info["num_waiting"] >= processes:
            return
        await asyncio.sleep(0.05)


def cpu_seconds(up: Up) -> float:
    """Of the nats-server since its start."""
    assert up.server is not None
    assert up.server.pid is not None
    return cpu_of(up.server.pid)


def workers_cpu(supervisor: Supervisor) -> float:
    """Of all workers since their start."""
    pids = [state.pid for state in supervisor.states()]
    return sum(cpu_of(pid) for pid in pids if pid is not None)


def cpu_of(pid: int) -> float:
    """Seconds of a process, user and system (Linux)."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def measure(worker: str, processes: int, events: int, made: Made | None = None) -> Rate:
    """Of processes that are up and warm when the first event comes."""
    async with stack({}) as (up, client):
        pause = {"pause_until": "2100-01-01T00:00:00Z"}
        await call(client.connection, f"CONSUMER.PAUSE.{STREAM}.{worker}", pause)
        await fill(client, worker, events, made or MADE[worker])
        async with workers(up, {worker: processes}) as supervisor:
            await ready(client, worker, processes)
            return await rate(client, up, worker, supervisor)


def workers(up: Up, counts: Mapping[str, int]) -> Supervisor:
    """These processes, on the log of `up`."""
    environ = {
        "WEFT_NATS_URL": up.settings.nats_url,
        "WEFT_DATA_DIR": str(up.settings.data_dir),
        "WEFT_LOG_LEVEL": "error",
    }
    return Supervisor(work_children(counts, environ))


async def bare() -> Rate:
    """The loop that one would write first: fetch one, publish one, ack one."""
    async with stack({}) as (up, client):
        await fill(client, "firewall", BARE_EVENTS, result)
        connection = await nats.connect(up.settings.nats_url)
        stream = connection.jetstream()
        source = await stream.pull_subscribe_bind("firewall", STREAM)
        begun, server, own = time.perf_counter(), cpu_seconds(up), time.process_time()
        for _ in range(BARE_EVENTS):
            (message,) = await source.fetch(1)
            await stream.publish("weft.default.bare.out.copy", message.data)
            await message.ack()
        seconds = time.perf_counter() - begun
        rate = Rate(
            BARE_EVENTS / seconds,
            (time.process_time() - own) / BARE_EVENTS,
            (cpu_seconds(up) - server) / BARE_EVENTS,
        )
        await connection.close()
    return rate


def row(name: str, rates: Sequence[Rate]) -> list[object]:
    """Medians of the rounds."""
    return [
        name,
        median(rate.per_second for rate in rates),
        median(rate.worker for rate in rates) * 1e6,
        median(rate.server for rate in rates) * 1e6,
        len(rates),
    ]


async def main(events: int) -> None:
    loops, ones, twos, large_ones, large_twos, others = [], [], [], [], [], []
    for _ in range(ROUNDS):
        loops.append(await bare())
        ones.append(await measure("firewall", 1, events))
        twos.append(await measure("firewall", 2, events))
        large_ones.append(await measure("firewall", 1, events // LARGE_SHARE, large_result))
        large_twos.append(await measure("firewall", 2, events // LARGE_SHARE, large_result))
        others.append([await measure(name, 1, events) for name in OTHERS])
    rows = [
        row("nats-py, one by one, no work", loops),
        row("firewall, 1 KB, 1 process", ones),
        row("firewall, 1 KB, 2 processes", twos),
        row("firewall, 20 KB, 1 process", large_ones),
        row("firewall, 20 KB, 2 processes", large_twos),
    ]
    others_of = list(zip(OTHERS, zip(*others, strict=True), strict=True))
    rows += [row(f"{name}, 1 process", rates) for name, rates in others_of]
    show(
        f"Workers on {events:,} events ({events // LARGE_SHARE:,} of 20 KB)",
        ["worker", "events/s", "its CPU µs/event", "nats-server's", "rounds"],
        rows,
    )
    ratios: list[list[object]] = [["firewall, 1 KB", _ratio(ones, loops)]]
    ratios += [[name, _ratio(rates, loops)] for name, rates in others_of]
    show("Events/s over those of the bare loop, round by round (median)", ["of", "times"], ratios)
    show(
        "Two firewalls over one (median of the rounds)",
        ["results", "events/s", "possible", "by CPU"],
        [
            ["1 KB", *scaling(ones, twos)],
            ["20 KB", *scaling(large_ones, large_twos)],
        ],
    )


def scaling(ones: Sequence[Rate], twos: Sequence[Rate]) -> list[object]:
    """Measured, possible on two cores, and by CPU; see the head of this file."""
    possible = median(2 * x.worker / (x.worker + x.server) for x in ones)
    return [
        _ratio(twos, ones),
        possible,
        2 * ratio([x.worker for x in ones], [x.worker for x in twos]),
    ]


def _ratio(these: Sequence[Rate], those: Sequence[Rate]) -> float:
    return ratio([x.per_second for x in these], [x.per_second for x in those])


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS))
