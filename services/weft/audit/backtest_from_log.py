"""Backtesting on a real log: reads the recorded compiles from the audit stream, hands sessions to
processes one at a time, and adds up the results."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Barrier
from time import perf_counter, process_time
from typing import Any

import msgspec

from weft import tokens
from weft.audit.backtest import BacktestTask, SessionResult, Tally, backtest
from weft.audit.compiles import LoggedCompile, all_compiles
from weft.audit.history import LoggedHistories, tombstone_of
from weft.audit.missing_records import MissingRecords
from weft.audit.missing_records_from_log import cut_of
from weft.log.connection import Connection
from weft.log.reading import last_sequence
from weft.progress import OnProgress
from weft_schemas.compile import CompileAudit
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.policy import ContextPolicy

AHEAD = 2
"""Sessions per process that are read from the log before a process is free to take them."""

START_SECONDS = 60.0
"""Time in which all processes must have started."""

_Timed = tuple[SessionResult, int, float]


class Backtest(msgspec.Struct):
    """All recorded compiles, both ways."""

    policy: str
    """Its name."""
    recorded: Tally
    proposed: Tally
    sessions: list[SessionResult]
    skipped: dict[str, int]
    """Reason → number of compiles that could not be made again."""
    processes: int
    seconds: float
    """From the first session read to the last result, without the start of the processes."""
    gone: MissingRecords = MissingRecords()
    """Where the log begins."""
    busy: dict[int, float] = {}
    """Process id → processor seconds, of each process that worked."""

    def add(self, result: SessionResult, process: int, seconds: float) -> None:
        """Add the result of one session, and the processor seconds that its process took."""
        self.busy[process] = self.busy.get(process, 0.0) + seconds
        self.recorded.add(result.recorded)
        self.proposed.add(result.proposed)
        self.sessions.append(result)
        if result.missing:
            cause = self.gone.cause
            self.skipped[cause] = self.skipped.get(cause, 0) + result.missing

    def summary(self) -> dict[str, Any]:
        """What `weft backtest --json` prints."""
        compiles = self.recorded.compiles
        return {
            "policy": self.policy,
            "compiles": compiles,
            "sessions": len(self.sessions),
            "altered": sum(len(one.altered) for one in self.sessions),
            "selected_otherwise_now": sum(len(one.unlike) for one in self.sessions),
            "recorded_under_another_key": sum(len(one.other_key) for one in self.sessions),
            "skipped": self.skipped,
            "log_begins": self.gone.begins,
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
    progress: OnProgress = lambda done, all: None,
) -> Backtest:
    """Compile again, under `policy`, everything that a tenant's agents had compiled since a time.

    `progress` counts compiles. Raises `NotFound` if nothing was compiled, and `Unavailable` if a
    process was lost.
    """
    compiles = await all_compiles(connection, tenant)
    by_session = _by_session(compiles, since_ns)
    total = sum(map(len, by_session.values()))
    if not total:
        raise NotFound(f"no compile of tenant {tenant!r} is recorded since then")
    gone = await cut_of(connection)
    done = Backtest(policy.name, Tally(), Tally(), [], {}, processes, 0.0, gone)
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(processes)
    pool = ProcessPoolExecutor(processes, context, _warm, (ready,))
    try:
        await _started(pool, processes)
        begun = perf_counter()
        bases = {logged.audit.id: logged.audit for logged in compiles}
        tasks = _tasks(connection, tenant, by_session, bases, policy, key, done)
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


def _by_session(compiles: Iterable[LoggedCompile], since_ns: int) -> dict[str, list[CompileAudit]]:
    """The compiles since a time, by the session that they read."""
    by_session: dict[str, list[CompileAudit]] = {}
    for logged in compiles:
        if logged.published_ns >= since_ns:
            by_session.setdefault(logged.audit.session, []).append(logged.audit)
    return by_session


async def _tasks(
    connection: Connection,
    tenant: str,
    by_session: Mapping[str, list[CompileAudit]],
    bases: Mapping[str, CompileAudit],
    policy: ContextPolicy,
    key: bytes,
    done: Backtest,
) -> AsyncIterator[BacktestTask]:
    """One task for each session that the log still holds. Those with the most compiles come first,
    so that no long one is left for a single process at the end."""
    through = await last_sequence(connection)
    histories = LoggedHistories(connection, tenant, through)
    tenants = await histories.tenants()
    for session, audits in sorted(by_session.items(), key=lambda one: -len(one[1])):
        if tombstone_of(tenants, session):
            done.skipped["erased"] = done.skipped.get("erased", 0) + len(audits)
            continue
        records = tuple(await histories.of(session))
        named = {audit.request.stable_from or "" for audit in audits}
        kept = tuple(bases[one] for one in sorted(named) if one in bases)
        stored = await histories.stored(records)
        yield BacktestTask(
            session, tuple(audits), records, policy, key, through, kept, done.gone, stored
        )


async def _results(
    pool: ProcessPoolExecutor, tasks: AsyncIterator[BacktestTask], most: int
) -> AsyncIterator[_Timed]:
    """Results as they come, with at most `most` tasks in flight."""
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


def _timed(task: BacktestTask) -> _Timed:
    """A session's result, the id of the process that made it, and the processor seconds it took."""
    begun = process_time()
    return backtest(task), os.getpid(), process_time() - begun


async def _started(pool: ProcessPoolExecutor, processes: int) -> None:
    """Return when every process has loaded what it needs."""
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(pool, _nothing) for _ in range(processes)))


def _warm(ready: Barrier) -> None:
    """Load the tokenizer and wait for the other processes. Otherwise the first one to start would
    take the tasks meant for them."""
    tokens.counter(tokens.DEFAULT_ENCODING)
    ready.wait(START_SECONDS)


def _nothing() -> None:
    pass
