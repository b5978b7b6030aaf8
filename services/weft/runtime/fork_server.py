"""A process that others are forked from: it has loaded and tried out what they need, so that each
begins within milliseconds, however often one is ended, and they share its memory.

It has neither threads nor an event loop, which a fork would copy with locks that nobody releases:
so it is forked from the service before that has any, or spawned where that is no longer so.
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
"""A tenth of an ordinary process's share where cores are short: small requests go first."""


class ForkServer:
    """One such process, started when first needed and again after it was lost."""

    def __init__(self, warm: Callable[[], None]) -> None:
        """`warm` loads what the work needs, once; picklable."""
        self._warm = warm
        self._process: SpawnProcess | _First | None = None
        self._commands: Connection | None = None
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "fork-server")

    @classmethod
    def first(cls, warm: Callable[[], None]) -> Self:
        """Started at once, from this process, which is to have neither threads nor an event loop
        yet: nothing is loaded twice, and most memory is shared with this process, too."""
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
        """Another process. Raises `Unavailable` where none can be started."""
        async with self._turn:
            for _ in range(2):
                try:
                    commands = await self._started()
                    return await self._run(partial(self._forked, commands))
                except (EOFError, OSError):
                    self._lose()
        raise Unavailable("no process could be started for this request; try again")

    def end(self, pid: int) -> None:
        """End one of its processes, whatever it does."""
        commands = self._commands
        if commands is not None:
            self._thread.submit(commands.send, pid)

    def close(self) -> None:
        """End it, and all of its processes with it."""
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
    # Ctrl-C reaches the whole group; the service decides when its processes end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm()
    os.nice(NICENESS)  # from now on: whoever waits for the first of them need not wait longer
    gc.freeze()  # else a collection would write to every page, which is shared until then
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
