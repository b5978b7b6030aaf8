"""The pool: heavy work in processes that are ended at a deadline, in turns between tenants."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from tests.retrying import PATIENCE

from weft.runtime import pool as module
from weft.runtime.fork_server import ForkServer
from weft.runtime.pool import Pool
from weft.runtime.subprocess_worker import NICENESS
from weft_schemas.errors import InvalidInput, Overloaded, TooCostly, WeftError


def warm() -> None:
    """Nothing to load."""


def refuse() -> None:
    raise InvalidInput("give another one")


def compute() -> None:
    while True:
        pass


def after_a_while() -> int:
    time.sleep(0.2)
    return os.getpid()


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: int) -> None:
    """Return when a process has ended."""
    async with asyncio.timeout(PATIENCE):
        while is_there(pid):
            await asyncio.sleep(0.01)


async def test_a_process_of_an_earlier_fork_server_is_not_this_ones_to_kill() -> None:
    """Its number may be gone, or somebody else's by now."""
    fork_server = ForkServer(warm)
    other = await asyncio.create_subprocess_exec("sleep", "60")
    async with Pool(fork_server, 1, 30.0) as pool:
        first = await pool.run("acme", "s", os.getpid)
        for stale in (other.pid, 2**22 - 1):  # the second is nobody's
            fork_server.end(stale)
        assert await pool.run("other", "s", os.getpid) == first
        assert other.returncode is None
    other.kill()
    await other.wait()


async def test_work_is_done_in_one_process_after_the_other() -> None:
    async with Pool(ForkServer(warm), 1, 30.0) as pool:
        first = await pool.run("acme", "s", os.getpid)
        assert first != os.getpid()
        assert await pool.run("rival", "s", os.getpid) == first
        with pytest.raises(InvalidInput, match="another one"):
            await pool.run("acme", "s", refuse)
        with pytest.raises(WeftError, match="ValueError"):
            await pool.run("acme", "s", int, "no number")
        assert await pool.run("acme", "s", os.getpid) == first
    await gone(first)


async def test_what_takes_too_long_or_dies_is_ended_and_the_next_is_done() -> None:
    async with Pool(ForkServer(warm), 1, 30.0) as pool:
        first = await pool.run("acme", "s", os.getpid)
        for worker in pool._heavy.idle:
            worker._seconds = 0.2
        with pytest.raises(TooCostly, match="WEFT_HEAVY_SECONDS"):
            await pool.run("acme", "s", time.sleep, 60)
        for worker in pool._heavy.idle:
            worker._seconds = 30.0
        await gone(first)
        second = await pool.run("acme", "s", os.getpid)
        assert second != first
        with pytest.raises(TooCostly, match="ended"):
            await pool.run("acme", "s", os._exit, 1)
        assert await pool.run("acme", "s", os.getpid) not in (first, second)


async def test_it_starts_again_when_all_its_processes_were_killed() -> None:
    async with Pool(ForkServer(warm), 1, 30.0) as pool:
        await pool.start()
        process = pool._fork_server._process
        assert process is not None
        process.kill()
        with pytest.raises(TooCostly):
            await pool.run("acme", "s", os.getpid)
        assert await pool.run("acme", "s", len, "four") == 4


async def test_a_tenant_leaves_a_process_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Pool(ForkServer(warm), 2, 30.0) as pool:
        await pool.start()
        asked = [asyncio.create_task(pool.run("acme", f"s{n}", time.sleep, 20)) for n in range(8)]
        await asyncio.sleep(0)
        assert await pool.run("rival", "s", len, "four") == 4
        assert not any(task.done() for task in asked)
        monkeypatch.setattr(module, "TURN_SECONDS", 0.05)
        with pytest.raises(Overloaded, match="'acme'"):
            await pool.run("acme", "s", len, "four")
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert await pool.run("acme", "s", len, "four") == 4


async def test_short_work_waits_for_no_heavy_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TURN_SECONDS", "SHORT_SECONDS"):
        monkeypatch.setattr(module, name, PATIENCE)
    async with Pool(ForkServer(warm), 1, 30.0) as pool, pool.turn("acme", "s"):
        waiting = [asyncio.create_task(pool.run("acme", "s", len, "four")) for _ in range(8)]
        apart = await pool.run_short("acme", "s", os.getpid)
        assert apart not in (None, os.getpid())
        assert await pool.run_short("rival", "s", os.getpid) == apart
        assert not any(task.done() for task in waiting)
        monkeypatch.setattr(module, "SHORT_SECONDS", 0.2)
        assert await pool.run_short("acme", "s", compute) is None
        monkeypatch.setattr(module, "SHORT_SECONDS", PATIENCE)
        await gone(apart)
        assert await pool.run_short("acme", "s", len, "four") == 4
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_short_work_may_wait_for_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was ended by the clock, and each next one began in a new process, which takes longer."""
    monkeypatch.setattr(module, "SHORT_SECONDS", 0.02)
    async with Pool(ForkServer(warm), 1, 30.0) as pool:
        first = await pool.run_short("acme", "s", os.getpid)
        assert await pool.run_short("acme", "s", after_a_while) == first
        assert await pool.run_short("acme", "s", niceness) == niceness()
        assert await pool.run("acme", "s", niceness) == niceness() + NICENESS


async def test_work_that_holds_the_loop_and_then_fails_sends_the_tenant_to_the_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Pool(ForkServer(warm), 1, 30.0) as pool:
        with suppress(InvalidInput), pool.watched("quick"):
            refuse()
        assert not pool.is_isolated("quick")
        monkeypatch.setattr(module, "HELD_SECONDS", -1.0)  # everything is longer
        with suppress(InvalidInput), pool.watched("slow"):
            refuse()
        assert pool.is_isolated("slow")


FORKED_FIRST = """
import asyncio, os, sys
from weft.runtime.fork_server import ForkServer
from weft.runtime.pool import Pool

loaded = []

async def main(fork_server):
    async with Pool(fork_server, 1, 30.0) as pool:
        pid = fork_server._process.process.pid
        print(await pool.run("acme", "s", os.getppid) == pid, len(loaded))
        fork_server._process.kill()

asyncio.run(main(ForkServer.first(lambda: loaded.append(1))))
"""


def test_it_can_be_forked_before_there_are_threads() -> None:
    """As `weft work` does; nothing is loaded again."""
    command = [sys.executable, "-W", "error", "-c", FORKED_FIRST]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.stdout, ran.stderr) == ("True 1\n", "")
