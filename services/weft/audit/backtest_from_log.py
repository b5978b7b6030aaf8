"""Backtesting on a real log: recorded compiles read from the audit stream, their sessions handed to
processes one at a time, results added up."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Barrier
from time import perf_counter, process_time
from typing import Any

import msgspec

from weft import tokens
from weft.audit.backtest import SessionResult, Tally, Task, backtest
from weft.audit.compiles import all_compiles
from weft.audit.history import Histories, tombstone_of
from weft.log.connection import Connection
from weft.log.reading import last_sequence
from weft_schemas.compile import CompileAudit
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.policy import ContextPolicy

AHEAD = 2
"""Sessions per process that are read from the log before a process is free for them."""

START_SECONDS = 60.0
"""Until all processes must have started."""

Progress = Callable[[int, int], None]
"""Called with the compiles done and how many there are."""

_Timed = tuple[SessionResult, int, float]


class Backtest(msgspec.Struct):
    """All recorded compiles, both ways."""

    policy: str
    """Its name."""
    recorded: Tally
    proposed: Tally
    sessions: list[SessionResult]
    skipped: dict[str, int]
    """Compiles that could not be made again, by reason."""
    processes: int
    seconds: float
    """From the first session read to the last result; starting the processes is not in it."""
    busy: dict[int, float] = {}
    """Processor seconds of each process that worked, by its id."""

    def add(self, result: SessionResult, process: int, seconds: float) -> None:
        """One session, done by a process in so many processor seconds."""
        self.busy[process] = self.busy.get(process, 0.0) + seconds
        self.recorded.add(result.recorded)
        self.proposed.add(result.proposed)
        self.sessions.append(result)
        if result.missing:
            self.skipped["trimmed"] = self.skipped.get("trimmed", 0) + result.missing

    def summary(self) -> dict[str, Any]:
        """What `weft backtest --json` prints."""
        compiles = self.recorded.compiles
        return {
            "policy": self.policy,
            "compiles": compiles,
            "sessions": len(self.sessions),
            "altered": sum(len(one.altered) for one in self.sessions),
            "selected_otherwise_now": sum(len(one.unlike) for one in self.sessions),
            "skipped": self.skipped,
            "recorded": self.recorded.summary(),
            "proposed": self.proposed.summary(),
            "processes": self.processes,
            "seconds": round(self.seconds, 3),
            "compiles_per_second": round(compiles / self.seconds, 1) if self.seconds else None,
            "processor_seconds": sorted(round(one, 3) for one in self.busy.values()),
            "differences": [
                {
                    "session": one.session,
                    "recorded": one.recorded.summary(),
                    "proposed": one.proposed.summary(),
                    "altered": one.altered,
                }
                for one in self.sessions
            ],
        }


async def backtest_policy(
    connection: Connection,
    tenant: str,
    policy: ContextPolicy,
    key: bytes,
    processes: int,
    since_ns: int = 0,
    progress: Progress = lambda done, all: None,
) -> Backtest:
    """Compile again what a tenant's agents had compiled since a time, under `policy`.

    Raises `NotFound` where nothing was compiled, and `Unavailable` where a process was lost.
    """
    compiles = await all_compiles(connection, tenant)
    by_session: dict[str, list[CompileAudit]] = {}
    for logged in compiles:
        if logged.published_ns >= since_ns:
            by_session.setdefault(logged.audit.session, []).append(logged.audit)
    total = sum(map(len, by_session.values()))
    if not total:
        raise NotFound(f"no compile of tenant {tenant!r} is recorded since then")
    done = Backtest(policy.name, Tally(), Tally(), [], {}, processes, 0.0)
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(processes)
    pool = ProcessPoolExecutor(processes, context, _warm, (ready,))
    try:
        await _started(pool, processes)
        begun = perf_counter()
        bases = {logged.audit.id: logged.audit for logged in compiles}
        tasks = _tasks(connection, tenant, by_session, bases, policy, key, done.skipped)
        async for result, process, seconds in _results(pool, tasks, AHEAD * processes):
            done.add(result, process, seconds)
            progress(done.recorded.compiles + sum(done.skipped.values()), total)
        done.seconds = perf_counter() - begun
    except BrokenProcessPool:
        raise Unavailable(
            "a process of the backtest ended: too little memory, or a script without "
            "`if __name__ == '__main__'`; try again with fewer processes"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)
    done.sessions.sort(key=lambda one: one.session)
    return done


async def _tasks(
    connection: Connection,
    tenant: str,
    by_session: Mapping[str, list[CompileAudit]],
    bases: Mapping[str, CompileAudit],
    policy: ContextPolicy,
    key: bytes,
    skipped: dict[str, int],
) -> AsyncIterator[Task]:
    """One for each session that the log still holds; those with most compiles first, so that no
    process is left alone with one at the end."""
    through = await last_sequence(connection)
    histories = Histories(connection, tenant, through)
    tenants = await histories.tenants()
    for session, audits in sorted(by_session.items(), key=lambda one: -len(one[1])):
        if tombstone_of(tenants, session):
            skipped["erased"] = skipped.get("erased", 0) + len(audits)
            continue
        records = tuple(await histories.of(session))
        named = {audit.request.stable_from or "" for audit in audits}
        kept = tuple(bases[one] for one in sorted(named) if one in bases)
        yield Task(session, tuple(audits), records, policy, key, through, kept)


async def _results(
    pool: ProcessPoolExecutor, tasks: AsyncIterator[Task], most: int
) -> AsyncIterator[_Timed]:
    """Results as they come, with at most so many tasks out."""
    loop = asyncio.get_running_loop()
    out: set[asyncio.Future[_Timed]] = set()
    async for task in tasks:
        out.add(loop.run_in_executor(pool, _timed, task))
        if len(out) >= most:
            ready, out = await asyncio.wait(out, return_when=asyncio.FIRST_COMPLETED)
            for one in ready:
                yield one.result()
    for result in asyncio.as_completed(out):
        yield await result


def _timed(task: Task) -> _Timed:
    """A session's result, the process that made it, and the processor seconds that it took."""
    begun = process_time()
    return backtest(task), os.getpid(), process_time() - begun


async def _started(pool: ProcessPoolExecutor, processes: int) -> None:
    """Return when every process has loaded what it needs."""
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(pool, _nothing) for _ in range(processes)))


def _warm(ready: Barrier) -> None:
    """Load the tokenizer, and wait for the others: else the first would take their first tasks."""
    tokens.counter(tokens.DEFAULT_ENCODING)
    ready.wait(START_SECONDS)


def _nothing() -> None:
    pass
