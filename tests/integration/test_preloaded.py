"""A forked program is what the same program is that was started for real, and none outlives its
supervisor."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.command_line import weft
from tests.integration.fleet import children, service_of
from tests.integration.preloaded import Program, fresh_preloaded, program
from tests.integration.test_supervisor import alive, until

from weft.cli.services import SERVICES, preloaded
from weft.runtime.settings import Settings
from weft.supervision.up import running
from weft.tokens.encodings import DEFAULT_ENCODING

SHOWN = """
import gc, json, os, signal, sys, threading
print(json.dumps({
    "argv": sys.argv[1:], "environ": dict(os.environ), "folder": os.getcwd(),
    "threads": threading.active_count(), "tasks": len(os.listdir("/proc/self/task")),
    "streams": [os.readlink(f"/proc/self/fd/{n}").partition(":")[0] for n in range(3)],
    "files": [
        (one.buffer.seekable(), one.isatty(), one.line_buffering, one.encoding, one.errors)
        for one in (sys.stdin, sys.stdout, sys.stderr)
    ],
    "descriptors": [n for n in range(256) if os.path.lexists(f"/proc/self/fd/{n}")],
    "leads": os.getsid(0) == os.getpid(),
    "signals": [repr(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
    "umask": os.umask(0o077), "name": __name__,
}))
raise SystemExit(7)
"""
"""A module that tells what it finds."""
ENDS = """
import atexit, os, sys, threading, time
def thread():
    time.sleep(0.2)
    print("a thread")
atexit.register(print, "at the end")
threading.Thread(target=thread).start()
print("said", end=" ")
print("told", file=sys.stderr)
exec(sys.argv[1])
"""
"""A module that ends before its thread does, and before what it said is written."""
SECONDS = 60.0


async def test_a_forked_program_finds_what_a_real_one_finds(tmp_path: Path, monkeypatch):
    (tmp_path / "shown.py").write_text(SHOWN)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "WEFT_TENANT": "of its own"}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = (sys.executable, "-m", "shown", "a", "b c")
    real = await asyncio.create_subprocess_exec(
        *command, env=environ, start_new_session=True, **pipes
    )
    real_out, real_err = await real.communicate()
    # The preloaded process's own path, which the environment of a start comes too late for.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with fresh_preloaded() as preloaded:
        forked = await program("shown", "a", "b c", env=environ, preloaded=preloaded, **pipes)
        out, err = await forked.communicate()
    assert (forked.returncode, err) == (real.returncode, real_err) == (7, b"")
    assert json.loads(out) == json.loads(real_out)


ENDINGS = {
    "": 0,
    "sys.exit()": 0,
    "sys.exit(7)": 7,
    "sys.exit(-1)": 255,
    "sys.exit('words')": 1,
    "raise ValueError('words')": 1,
    "os.close(1)": 120,  # what was said cannot be written
}
"""What a module does last, and its exit code."""


async def test_a_forked_program_ends_as_a_real_one(tmp_path: Path, monkeypatch):
    (tmp_path / "ends.py").write_text(ENDS)
    path = (str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with fresh_preloaded(is_bare=True) as preloaded:
        for last, code in ENDINGS.items():
            real = await asyncio.create_subprocess_exec(sys.executable, "-m", "ends", last, **pipes)
            real_out, real_err = await real.communicate()
            forked = await program("ends", last, env=os.environ, preloaded=preloaded, **pipes)
            out, err = await forked.communicate()
            assert forked.returncode == real.returncode == code, last
            assert out == real_out == (b"said a thread\nat the end\n" if code != 120 else b"")
            # A traceback goes through other frames.
            assert (err[:9], err.splitlines()[-1:]) == (real_err[:9], real_err.splitlines()[-1:])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_signal_is_told_as_the_exit_code(number: signal.Signals):
    async with waiting() as forked:
        forked.send_signal(number)
        assert await forked.wait() == forked.returncode == -number
        assert not alive(forked.pid)


async def test_a_signal_right_after_the_start_is_not_lost():
    for _ in range(20):
        forked = await program("code", "-q", env=os.environ, stdin=subprocess.PIPE)
        forked.send_signal(signal.SIGTERM)
        async with asyncio.timeout(SECONDS):
            assert await forked.wait() == -signal.SIGTERM
        forked.stdin.close()


async def test_an_exit_code_and_what_was_printed_are_those_of_the_command():
    assert (await weft("--version")).code == 0
    ran = await weft("work", "nothing")
    assert ran.code == 2
    assert "is none of firewall" in ran.err


async def test_a_program_whose_preloaded_process_is_killed_ends_with_it():
    with fresh_preloaded(is_bare=True) as preloaded:
        async with waiting(preloaded=preloaded) as forked:
            os.kill(preloaded.pid, signal.SIGKILL)
            assert await forked.wait() == -signal.SIGKILL
            await until(lambda: not alive(forked.pid))
            with pytest.raises(ConnectionError):
                await program("json.tool", env=os.environ, preloaded=preloaded)


async def test_services_whose_preloaded_process_is_killed_are_started_for_real(tmp_path: Path):
    with fresh_preloaded() as preloaded, (tmp_path / "log").open("wb") as log:
        counts = {"firewall": 1, "indexer": 1}
        settings = Settings(data_dir=tmp_path)
        async with running(settings, counts, log_file=log, preloaded=preloaded) as up:
            await until(lambda: listening(tmp_path / "log") == 2)
            before = {one.pid for one in up.supervisor.states()}
            assert before <= set(children(preloaded.pid))
            os.kill(preloaded.pid, signal.SIGKILL)
            await until(lambda: all(one.restarts for one in up.supervisor.states()))
            await until(lambda: all(one.pid for one in up.supervisor.states()))
            again = [one.pid for one in up.supervisor.states() if one.pid]
            assert set(again) <= set(children(os.getpid()))
            await until(lambda: listening(tmp_path / "log") == 4)
    assert {one.last_exit for one in up.supervisor.states()} == {0}
    assert not any(alive(pid) for pid in [*before, *again])


async def test_weft_up_forks_its_services_and_ends_them_in_order(tmp_path: Path):
    """Also where a service manager sends its signal to every process, as systemd does."""
    async with up(tmp_path) as (process, parent, services):
        assert {service_of(pid) for pid in services} == {f"weft-{name}" for name in SERVICES}
        for pid in (parent, *services, process.pid):
            os.kill(pid, signal.SIGTERM)
        stderr = (await process.stderr.read()).decode()
        assert await process.wait() == 0
    assert "stopping: the services finish what they began\nstopped" in stderr
    log = [json.loads(line) for line in (tmp_path / "weft.log").read_text().splitlines()]
    assert not [line for line in log if line["level"] == "error"]
    assert not any(alive(pid) for pid in (parent, *services))


async def test_nothing_is_left_of_a_weft_up_that_is_killed(tmp_path: Path):
    async with up(tmp_path) as (process, parent, services):
        process.kill()
        await process.wait()
        await until(lambda: not any(alive(pid) for pid in (parent, *services)))


def test_services_are_not_forked_where_that_is_not_safe(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with preloaded(["firewall"], DEFAULT_ENCODING) as process:
        assert process is None


def listening(log: Path) -> int:
    """How many starts came so far that they heed signals."""
    return log.read_text().count('"listening"')


@asynccontextmanager
async def waiting(**options: object) -> AsyncIterator[Program]:
    """A program that waits for its input, once it does."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    forked = await program("code", "-q", env=os.environ, **pipes, **options)
    forked.stdin.write(b"print('begun', flush=True)\n")
    assert b"begun" in await forked.stdout.readline()
    try:
        yield forked
    finally:
        forked.kill()
        await forked.wait()
        forked.stdin.close()


@asynccontextmanager
async def up(folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, int, list[int]]]:
    """`weft up`, started for real and ready; its preloaded process, and the services forked from
    that."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "weft.cli.main", "up", "--data", str(folder), "--port", "0"),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(2 * SECONDS):
            async for line in process.stderr:
                if line.startswith(b"ready"):
                    break
        [parent] = [pid for pid in children(process.pid) if children(pid)]
        yield process, parent, children(parent)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
