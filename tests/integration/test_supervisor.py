"""The supervisor: what dies comes back, what cannot be mended is told, nothing is left running."""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.supervision.supervisor import ChildSpec, Supervisor

PATIENCE = 120.0

SLEEPER = """
import pathlib, signal, sys, time
from weft.parent_death import die_with_parent
die_with_parent()
name = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (name.with_suffix('.drained').touch(), sys.exit(0)))
name.write_text('')
time.sleep(600)
"""


def child(name: str, program: str, *arguments: str) -> ChildSpec:
    return ChildSpec(name, (sys.executable, "-c", program, *arguments))


def sleeper(folder: Path, name: str) -> ChildSpec:
    return child(name, SLEEPER, str(folder / name))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before it is opened, or after
        return False


async def test_a_killed_child_is_restarted_and_the_others_go_on(tmp_path: Path):
    async with Supervisor([sleeper(tmp_path, "a"), sleeper(tmp_path, "b")]) as supervisor:
        await until(lambda: all(state.status == "running" for state in supervisor.states()))
        before = {state.name: state.pid for state in supervisor.states()}
        supervisor.kill("a")
        await until(lambda: supervisor.states()[0].restarts == 1)
        await until(lambda: supervisor.states()[0].status == "running")
        a, b = supervisor.states()
        assert a.pid != before["a"]
        assert a.last_exit == -signal.SIGKILL
        assert (b.pid, b.restarts) == (before["b"], 0)


async def test_stopping_lets_every_child_drain_and_leaves_none(tmp_path: Path):
    async with Supervisor([sleeper(tmp_path, name) for name in "abc"]) as supervisor:
        await until(lambda: all((tmp_path / name).exists() for name in "abc"))
        pids = [state.pid for state in supervisor.states()]
    assert all((tmp_path / name).with_suffix(".drained").exists() for name in "abc")
    assert not any(alive(pid) for pid in pids)
    assert [state.status for state in supervisor.states()] == ["stopped"] * 3


async def test_a_child_that_always_dies_is_restarted_ever_more_slowly(tmp_path: Path):
    marks = tmp_path / "marks"
    program = f"open({str(marks)!r}, 'a').write('x'); raise SystemExit(1)"
    async with Supervisor([child("dying", program)]) as supervisor:
        await until(lambda: supervisor.states()[0].restarts >= 3)
        assert supervisor.states()[0].last_exit == 1
    assert 3 <= len(marks.read_text()) <= 6


async def test_a_configuration_fault_ends_it_all_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    children = [sleeper(tmp_path, "a"), child("broken", "raise SystemExit(2)")]
    async with Supervisor(children) as supervisor:
        was_stopped = await asyncio.wait_for(supervisor.run_until(asyncio.Event()), PATIENCE)
        assert was_stopped is False
        failed = [state.name for state in supervisor.states() if state.status == "failed"]
    assert failed == ["broken"]
    (told,) = caplog.records
    assert (told.levelname, told.fields) == ("ERROR", {"child": "broken", "exit": 2})
    assert "it is given up" in told.message


@pytest.mark.parametrize("mode", [None, 0o600])
async def test_a_child_whose_program_is_missing_or_may_not_be_run_ends_it_all_and_is_named(
    tmp_path: Path, mode: int | None, caplog: pytest.LogCaptureFixture
):
    program = tmp_path / "program"
    if mode is not None:
        program.touch(mode)
    async with Supervisor(
        [sleeper(tmp_path, "a"), ChildSpec("bad", (str(program),))]
    ) as supervisor:
        was_stopped = await asyncio.wait_for(supervisor.run_until(asyncio.Event()), PATIENCE)
        assert was_stopped is False
        failed = [state.name for state in supervisor.states() if state.status == "failed"]
    assert failed == ["bad"]
    assert "a child cannot be started" in caplog.text


async def test_a_child_that_cannot_be_started_for_now_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    program, whole = tmp_path / "program", tmp_path / "whole"
    program.write_bytes(b"half a program")
    program.chmod(0o700)
    whole.write_text("#!/bin/sh\nexec sleep 600\n")
    whole.chmod(0o700)
    async with Supervisor([ChildSpec("late", (str(program),))]) as supervisor:
        await until(lambda: "a child cannot be started" in caplog.text)
        assert supervisor.states()[0].status == "restarting"
        whole.replace(program)
        await until(lambda: supervisor.states()[0].status == "running")


async def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path):
    program = (
        "import asyncio, sys\n"
        "from weft.supervision.supervisor import ChildSpec, Supervisor\n"
        "async def main():\n"
        f"    one = ChildSpec('a', (sys.executable, '-c', {SLEEPER!r}, {str(tmp_path / 'a')!r}))\n"
        "    async with Supervisor([one]) as supervisor:\n"
        "        while supervisor.states()[0].pid is None:\n"
        "            await asyncio.sleep(0.01)\n"
        "        print(supervisor.states()[0].pid, flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    try:
        pid = int(await process.stdout.readline())
        await until((tmp_path / "a").exists)
        process.kill()
        await until(lambda: not alive(pid))
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
