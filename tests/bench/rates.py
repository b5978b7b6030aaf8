"""Processor time and events per second of each worker, of this tree and of others in turn: one
process of `weft work` of each tree, warm, gets a thousand events, then the other tree's, round
after round. Server and log are this tree's.

`python -m tests.bench.rates [WEFT ...] [WORKER ...]`, where each WEFT is another tree's
`.venv/bin/weft`. Where the machine does other things, too, the least processor time of all rounds
tells the most.
"""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.bench.stack import stack
from tests.bench.table import ratio, show
from tests.bench.workers import MADE, left, ready
from weft.client import Client
from weft.log.reading import last_sequence
from weft.runtime.settings import Settings

EVENTS = 1_000
ROUNDS = 15
SESSIONS = 10
INDEXER = "indexer"
POLL_SECONDS = 0.01
KINDS = {**MADE, INDEXER: MADE["memory"]}


class Rate(NamedTuple):
    per_second: float
    cpu: float
    """Of the process, microseconds per event."""


class Running(NamedTuple):
    """One worker of one tree, at a log of its own."""

    worker: str
    client: Client
    data_dir: Path
    process: int

    async def rate(self, number: int) -> Rate:
        """Of the events of a round."""
        begun, spent = time.perf_counter(), cpu_of(self.process)
        first, step = number * EVENTS, EVENTS // SESSIONS
        for start in range(first, first + EVENTS, step):
            items = [KINDS[self.worker](n) for n in range(start, start + step)]
            await self.client.publish(f"{self.worker}-{start}", items)
        last = await last_sequence(self.client.connection)
        while not await self._has_worked(last):
            await asyncio.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - begun
        return Rate(EVENTS / seconds, (cpu_of(self.process) - spent) / EVENTS * 1e6)

    async def _has_worked(self, last: int) -> bool:
        if self.worker == INDEXER:
            return folded(self.data_dir) >= last
        return not await left(self.client, self.worker)


def cpu_of(process: int) -> float:
    """Seconds of all threads of a process since its start (Linux)."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


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


@asynccontextmanager
async def running(weft: str, worker: str) -> AsyncIterator[Running]:
    """A worker that has worked one round."""
    async with stack({}) as (up, client), work(weft, worker, up.settings) as process:
        if worker != INDEXER:
            await ready(client, worker, 1)
        one = Running(worker, client, up.settings.data_dir, process)
        await one.rate(ROUNDS)
        yield one


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


async def measured(wefts: list[str], worker: str) -> dict[str, list[Rate]]:
    """Tree → each round."""
    found = defaultdict(list)
    async with AsyncExitStack() as opened:
        trees = {w: await opened.enter_async_context(running(w, worker)) for w in wefts}
        for number in range(ROUNDS):
            for weft in wefts if number % 2 else wefts[::-1]:
                found[weft].append(await trees[weft].rate(number))
    return found


def rows_of(worker: str, found: dict[str, list[Rate]]) -> list[list[object]]:
    own, *_ = found.values()
    rows: list[list[object]] = []
    for weft, rates in found.items():
        per_second, cpu = ([one[n] for one in rates] for n in (0, 1))
        speeds = ratio([one.per_second for one in own], per_second)
        least = min(one.cpu for one in own) / min(cpu)
        times = ratio([one.cpu for one in own], cpu)
        rows.append([worker, weft, median(per_second), median(cpu), min(cpu), speeds, times, least])
    return rows


def main() -> None:
    workers = [name for name in sys.argv[1:] if name in KINDS] or list(KINDS)
    others = [name for name in sys.argv[1:] if name not in KINDS]
    wefts = [str(Path(sys.executable).with_name("weft")), *others]
    rows = []
    for worker in workers:
        found = asyncio.run(measured(wefts, worker))
        rows += rows_of(worker, {weft: found[weft] for weft in wefts})
    show(
        f"{ROUNDS} rounds of {EVENTS:,} events in turn, one process of each tree",
        [
            "worker",
            "tree",
            "events/s",
            "its CPU µs/event",
            "least",
            "first tree's events/s over",
            "CPU over",
            "least over",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
