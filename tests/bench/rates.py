"""Events per second of each worker, of this tree and of others in turn: one process of `weft work`
meets a full log that is let go when it is warm. Server and log are this tree's. Where the machine
does other things, too, the processor's time per event tells more than events per second.

`python -m tests.bench.rates [WEFT ...]`, where each WEFT is another tree's `.venv/bin/weft`.
"""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.bench.stack import stack
from tests.bench.table import ratio, show
from tests.bench.workers import MADE, cpu_of, fill, left, ready
from weft.log.api import call
from weft.log.reading import last_sequence
from weft.runtime.settings import Settings
from weft_schemas.subjects import STREAM

EVENTS = 4_000
ROUNDS = 3
INDEXER = "indexer"
LOOK_SECONDS = 0.005


class Rate(NamedTuple):
    per_second: float
    cpu: float
    """Of the process, microseconds per event."""


@asynccontextmanager
async def work(weft: str, worker: str, settings: Settings) -> AsyncIterator[int]:
    """A process of a tree's worker, at the log of `settings`: its id."""
    environ = {
        **os.environ,
        "WEFT_NATS_URL": settings.nats_url,
        "WEFT_DATA_DIR": str(settings.data_dir),
        "WEFT_LOG_LEVEL": "error",
    }
    process = await asyncio.create_subprocess_exec(weft, "work", worker, env=environ)
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def worker_rate(weft: str, worker: str) -> Rate:
    """Of a worker with a consumer."""
    async with stack({}) as (up, client):
        connection = client.connection
        pause = f"CONSUMER.PAUSE.{STREAM}.{worker}"
        await call(connection, pause, {"pause_until": "2100-01-01T00:00:00Z"})
        await fill(client, worker, EVENTS, MADE[worker])
        total = await left(client, worker)
        async with work(weft, worker, up.settings) as process:
            await ready(client, worker, 1)
            await call(connection, pause, {})
            while (waiting := await left(client, worker)) == total:
                await asyncio.sleep(LOOK_SECONDS)
            begun, spent = time.perf_counter(), cpu_of(process)
            while await left(client, worker):
                await asyncio.sleep(LOOK_SECONDS)
            return rate(waiting, begun, cpu_of(process) - spent)


async def indexer_rate(weft: str) -> Rate:
    """Of what an indexer folds, from its first batch on."""
    async with stack({}) as (up, client):
        await fill(client, INDEXER, EVENTS, MADE["memory"])
        last = await last_sequence(client.connection)
        async with work(weft, INDEXER, up.settings) as process:
            while not (first := folded(up.settings.data_dir)):
                await asyncio.sleep(LOOK_SECONDS)
            begun, spent = time.perf_counter(), cpu_of(process)
            while folded(up.settings.data_dir) < last:
                await asyncio.sleep(LOOK_SECONDS)
            return rate(last - first, begun, cpu_of(process) - spent)


def rate(events: int, begun: float, spent: float) -> Rate:
    return Rate(events / (time.perf_counter() - begun), spent / events * 1e6)


def folded(data_dir: Path) -> int:
    """By the file itself: nothing reads it before it has caught up with the log."""
    for path in (data_dir / "replica").glob("generation-*.sqlite"):
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
                (checkpoint,) = db.execute("SELECT value FROM meta WHERE name = 'checkpoint'")
                return int(checkpoint[0])
        except (sqlite3.Error, ValueError):
            return 0
    return 0


async def measured(wefts: list[str]) -> dict[tuple[str, str], list[Rate]]:
    """Worker and tree → each round."""
    found = defaultdict(list)
    for number in range(ROUNDS):
        for weft in wefts if number % 2 else wefts[::-1]:
            for worker in MADE:
                found[worker, weft].append(await worker_rate(weft, worker))
            found[INDEXER, weft].append(await indexer_rate(weft))
    return found


def main() -> None:
    wefts = [str(Path(sys.executable).with_name("weft")), *sys.argv[1:]]
    found = asyncio.run(measured(wefts))
    rows = []
    for worker in (*MADE, INDEXER):
        own = found[worker, wefts[0]]
        for weft in wefts:
            rates = found[worker, weft]
            per_second, cpu = ([one[n] for one in rates] for n in (0, 1))
            times = [ratio([one[n] for one in own], [one[n] for one in rates]) for n in (0, 1)]
            rows.append([worker, weft, median(per_second), median(cpu), *times])
    show(
        f"{EVENTS:,} events, one process (median of {ROUNDS} rounds)",
        [
            "worker",
            "tree",
            "events/s",
            "its CPU µs/event",
            "first tree's events/s over",
            "CPU over",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
