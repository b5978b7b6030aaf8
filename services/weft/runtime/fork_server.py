"""A process from which others are forked. It has loaded what they need, so that each of them starts
within milliseconds and shares its memory.

It has neither threads nor an event loop, since a fork would copy their locks without the threads
that release them. So it is forked from the service before the service has any, or spawned later.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import reduction
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Self, TypeVar

from weft.runtime.parent_death import die_with_parent
from weft.runtime.subprocess_worker import serve_calls
from weft_schemas.errors import Unavailable

T = TypeVar("T")

NICENESS = 10
"""About a tenth of a normal process's share when the processor is busy: small requests go first."""


class ForkServer:
    """Started when first needed, and again after it died."""

    def __init__(self, warm: Callable[[], None]) -> None:
        """`warm` loads what the work needs, once; picklable."""
        self._warm = warm
        self._process: SpawnProcess | _First | None = None
        self._commands: Connection | None = None
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "fork-server")

    @classmethod
    def first(cls, warm: Callable[[], None]) -> Self:
        """Forked at once from this process, which must not have threads or an event loop yet:
        nothing is loaded twice, and most memory is shared with this process."""
        fork_server, parent = cls(warm), os.getpid()
        warm()
        fork_server._commands, theirs = multiprocessing.Pipe()
        pid = os.fork()
        if pid == 0:
            try:
                fork_server._commands.close()
                _serve(theirs, parent, _nothing)
            finally:
                os._exit(0)
        theirs.close()
        fork_server._process = _First(pid)
        fork_server._commands.recv()
        return fork_server

    async def fork(self) -> Forked:
        """A new process. Raises `Unavailable` if none can be started."""
        async with self._turn:
            for _ in range(2):
                try:
                    commands = await self._started()
                    return await self._run(partial(self._forked, commands))
                except (EOFError, OSError):
                    self._lose()
        raise Unavailable("no process could be started for this request; try again")

    def end(self, pid: int) -> None:
        """Kill one of its processes."""
        commands = self._commands
        if commands is not None:
            self._thread.submit(commands.send, pid)

    def close(self) -> None:
        """Kill it, and all of its processes with it."""
        self._lose()
        self._thread.shutdown(wait=False)

    async def _started(self) -> Connection:
        if self._commands is None:
            context = multiprocessing.get_context("spawn")
            self._commands, theirs = context.Pipe()
            # In the loop's own thread: Linux ends a child with the thread that started it.
            self._process = context.Process(target=_serve, args=(theirs, os.getpid(), self._warm))
            self._process.daemon = True
            self._process.start()
            theirs.close()
            await self._run(self._commands.recv)  # it is warm
        return self._commands

    def _forked(self, commands: Connection) -> Forked:
        ours, theirs = multiprocessing.Pipe()
        try:
            commands.send(None)
            reduction.send_handle(commands, theirs.fileno(), None)
            return Forked(self, commands.recv(), ours)
        finally:
            theirs.close()

    def _lose(self) -> None:
        process, self._process = self._process, None
        commands, self._commands = self._commands, None
        if process is not None:
            process.kill()
            process.join()
        if commands is not None:
            commands.close()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class _First:
    """A fork server that was forked."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def join(self) -> None:
        os.waitpid(self.pid, 0)


class Forked:
    """One process of a fork server, as a `SubprocessWorker` uses it."""

    def __init__(self, fork_server: ForkServer, pid: int, pipe: Connection) -> None:
        self.pid = pid
        self.pipe = pipe
        self._fork_server = fork_server

    def kill(self) -> None:
        self._fork_server.end(self.pid)


def _serve(commands: Connection, parent: int, warm: Callable[[], None]) -> None:
    die_with_parent(parent)
    # Ctrl-C is sent to the whole process group; the service decides when its processes end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm()
    os.nice(NICENESS)  # only now, so that the start itself is not slowed down
    gc.freeze()  # a collection would write to every page, which would no longer be shared
    commands.send(None)
    while True:
        try:
            pid = commands.recv()
        except (EOFError, OSError):
            return  # the service is gone
        if pid is None:
            _fork(commands)
        else:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _nothing() -> None:
    """It was warm when it was forked."""


def _fork(commands: Connection) -> None:
    fork_server, handle = os.getpid(), reduction.recv_handle(commands)
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent(fork_server)
            commands.close()
            serve_calls(Connection(handle))
        finally:
            os._exit(0)
    os.close(handle)
    commands.send(pid)
