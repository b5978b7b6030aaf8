"""A process from which others are forked. It has loaded what they need, so that each of them starts
within milliseconds and shares its memory.

It has neither threads nor an event loop, since a fork would copy their locks without the threads
that release them. So it is forked from the service before the service has any, or spawned later.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import reduction
from multiprocessing.connection import Connection, Pipe
from multiprocessing.context import ForkContext
from typing import Self, TypeVar

import msgspec

from weft.parent_death import die_with_parent
from weft.runtime.subprocess_worker import SPAWN, Started, in_own_session, serve_calls
from weft_schemas.errors import Unavailable

T = TypeVar("T")


class ForkServer:
    """Started when first needed, and again after it died."""

    def __init__(self, warm: Callable[[], None]) -> None:
        """`warm` loads what the work needs, once; picklable."""
        self._warm = warm
        self._process: Started | None = None
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "fork-server")

    @classmethod
    def first(cls, warm: Callable[[], None]) -> Self:
        """Forked at once from this process, which must not have threads or an event loop yet:
        nothing is loaded twice, and most memory is shared with this process."""
        fork_server = cls(warm)
        warm()
        # It is warm when it is forked.
        fork_server._process = Started(ForkContext(), _serve, lambda: None)
        fork_server._process.pipe.recv()
        return fork_server

    async def fork(self, niceness: int = 0) -> ForkedProcess:
        """A new process, with a smaller share of the processor if it has a `niceness`. Raises
        `Unavailable` if none can be started."""
        async with self._turn:
            for _ in range(2):
                try:
                    commands = await self._started()
                    return await self._run(partial(self._forked, commands, niceness))
                except (EOFError, OSError):
                    self._lose()
        raise Unavailable("no process could be started for this request; try again")

    def end(self, pid: int) -> None:
        """Kill one of its processes."""
        if self._process is not None:
            self._thread.submit(self._process.pipe.send, -pid)

    def close(self) -> None:
        """Kill it, and all of its processes with it."""
        self._lose()
        self._thread.shutdown(wait=False)

    async def _started(self) -> Connection:
        if self._process is None:
            # In the loop's own thread: Linux ends a child with the thread that started it.
            self._process = Started(SPAWN, _serve, self._warm)
            await self._run(self._process.pipe.recv)  # it is warm
        return self._process.pipe

    def _forked(self, commands: Connection, niceness: int) -> ForkedProcess:
        ours, theirs = Pipe()
        try:
            commands.send(niceness)
            reduction.send_handle(commands, theirs.fileno(), None)
            return ForkedProcess(self, commands.recv(), ours)
        finally:
            theirs.close()

    def _lose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.pipe.close()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class ForkedProcess(msgspec.Struct):
    """One process of a fork server, as a `SubprocessWorker` uses it."""

    fork_server: ForkServer
    pid: int
    pipe: Connection

    def kill(self) -> None:
        self.fork_server.end(self.pid)


def _serve(commands: Connection, warm: Callable[[], None]) -> None:
    """A command is the niceness of a process to fork, or the negated number of one to kill."""
    warm()
    in_own_session()
    gc.freeze()  # a collection would write to every page, which would no longer be shared
    commands.send(None)
    children: set[int] = set()
    while True:
        try:
            command: int = commands.recv()
        except (EOFError, OSError):
            return  # the service is gone
        if command >= 0:
            children.add(_fork(commands, command))
        elif -command in children:  # not one of a fork server before this one
            children.discard(-command)
            os.kill(-command, signal.SIGKILL)
            os.waitpid(-command, 0)


def _fork(commands: Connection, niceness: int) -> int:
    fork_server, handle = os.getpid(), reduction.recv_handle(commands)
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent(fork_server)
            commands.close()
            in_own_session(niceness)
            serve_calls(Connection(handle))
        finally:
            os._exit(0)
    os.close(handle)
    commands.send(pid)
    return pid
