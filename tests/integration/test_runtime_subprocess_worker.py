"""One piece of work at a time in a process of its own."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from weft.runtime.subprocess_worker import NICENESS, SubprocessWorker, WorkFailed

AUTOGROUP = Path("/proc/self/autogroup")


def priority() -> tuple[int, bool, str]:
    """Niceness, whether the session is another than the tests', and the niceness of the session."""
    grouped = AUTOGROUP.read_text() if AUTOGROUP.exists() else f"nice {NICENESS}"
    return os.nice(0), os.getsid(0) != os.getsid(os.getppid()), grouped


async def test_who_leaves_takes_his_outcome_with_him() -> None:
    worker = SubprocessWorker()
    try:
        left = asyncio.create_task(worker.run(time.sleep, 20))
        await asyncio.sleep(0.5)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        assert await worker.run(len, "four") == 4
    finally:
        worker.close()


def unsendable() -> object:
    return (number for number in range(3))


async def test_a_result_that_cannot_be_pickled_is_told_and_costs_no_process() -> None:
    worker = SubprocessWorker()
    try:
        process = await worker.run(os.getpid)
        with pytest.raises(WorkFailed, match="a generator, cannot be pickled"):
            await worker.run(unsendable)
        assert await worker.run(os.getpid) == process
    finally:
        worker.close()


async def test_heavy_work_goes_behind_other_processes_also_where_sessions_share_the_processor():
    """A niceness alone counts only within a session where Linux groups processes by session."""
    worker = SubprocessWorker()
    try:
        niceness, is_apart, grouped = await worker.run(priority)
        assert niceness == os.nice(0) + NICENESS
        assert is_apart
        assert grouped.rstrip().endswith(f"nice {NICENESS}")
    finally:
        worker.close()
