"""A subprocess for work that must not delay other work, or that might kill the process.

A worker's huge items run here, and those that were delivered several times, one at a time: if the
work kills the subprocess, one message is to blame. Heavy requests go to a pool (`runtime/pool.py`).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.reduction import ForkingPickler
from multiprocessing.util import register_after_fork
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from weft.parent_death import die_with_parent
from weft.runtime.logs import safe_error
from weft_schemas.errors import WeftError

P = ParamSpec("P")
T = TypeVar("T")

WORK_SECONDS = 60.0
"""Longest that one piece of work may take: far above the slowest real body (a few seconds)."""

NICENESS = 5
"""About a third of a normal process's share when the processor is busy: small items go first."""
_AUTOGROUP = Path("/proc/self/autogroup")

SPAWN = SpawnContext()
"""A fork of a process with a running event loop and threads is not safe."""


class WorkDied(WeftError):
    """The work ended its process, or did not end at all."""

    code = "work_died"


class TookTooLong(WorkDied):
    """The work was ended at its deadline."""


class WorkFailed(WeftError):
    """The work raised something that is not weft's own: type and place."""

    code = "failed"


class Child(Protocol):
    """A process that serves calls."""

    pipe: Connection
    """To send calls and receive their outcomes."""

    def kill(self) -> None: ...


class SubprocessWorker:
    """One subprocess, started when first needed and again after it died."""

    def __init__(
        self, start: Callable[[], Awaitable[Child]] | None = None, seconds: float = WORK_SECONDS
    ) -> None:
        """`start` gives the process, by default a spawned one; work may take `seconds`."""
        self._start = start or _spawned
        self._seconds = seconds
        self._child: Child | None = None
        self._turn = asyncio.Lock()
        # A thread of its own: it waits as long as the work takes, and asyncio's few are shared.
        self._thread = ThreadPoolExecutor(1, "subprocess")

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`work(*args)` in the subprocess; function, arguments and result are picklable.

        Raises weft's errors as the work raised them, `WorkFailed` for any other, `WorkDied` if it
        killed its process, `TookTooLong` if it took too long.
        """
        async with self._turn:
            if self._child is None:
                self._child = await self._start()
            pipe, loop = self._child.pipe, asyncio.get_running_loop()
            call = loop.run_in_executor(self._thread, _ask, pipe, (work, args, kwargs))
            try:
                done, _ = await asyncio.wait([call], timeout=self._seconds)
            except asyncio.CancelledError:
                self._end()  # otherwise the next call would receive this one's result
                await asyncio.gather(call, return_exceptions=True)
                raise
            if not done:
                self._end()
            try:
                outcome = await call
            except (EOFError, OSError):
                self._end()
                if not done:
                    took = f"the work took more than {self._seconds:g} s; look at the item"
                    raise TookTooLong(took) from None
                raise WorkDied("the work ended its process; look at the item") from None
        if isinstance(outcome, WeftError):
            raise outcome
        return cast(T, outcome)

    def close(self) -> None:
        """Kill the subprocess."""
        self._end()
        self._thread.shutdown(wait=False)

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
        self._child = None


class Started:
    """A subprocess with a pipe to it. `target` gets the other end of the pipe and `args`."""

    def __init__(
        self, context: SpawnContext | ForkContext, target: Callable[..., None], *args: object
    ) -> None:
        self.pipe, theirs = context.Pipe()
        place = (os.getpid(), target, theirs, *args)
        self.process = context.Process(target=_in_subprocess, args=place, daemon=True)
        # A fork would keep this end open, and never see that it was closed.
        register_after_fork(self.pipe, Connection.close)
        self.process.start()
        theirs.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


async def _spawned() -> Child:
    return Started(SPAWN, _serve)


def _ask(pipe: Connection, call: object) -> object:
    pipe.send(call)
    return pipe.recv()


def _in_subprocess(parent: int, target: Callable[..., None], *args: object) -> None:
    die_with_parent(parent)
    # Ctrl-C is sent to the whole process group; the parent decides when its subprocess ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    target(*args)


def _serve(pipe: Connection) -> None:
    in_own_session(NICENESS)
    serve_calls(pipe)


def in_own_session(niceness: int = 0) -> None:
    """Give this process a session, and with a `niceness` a smaller share of the processor.

    Where Linux groups processes by session (sched(7), autogroup), niceness counts within one, so
    the session gets it, too. Small compiles beside huge results took 50 to 120 ms at p99 without
    it, 16 to 25 with it.
    """
    os.nice(niceness)
    with suppress(PermissionError):  # it leads a session already
        os.setsid()
    with suppress(OSError):  # not on Linux, or not grouped
        _AUTOGROUP.write_text(str(niceness))


def serve_calls(pipe: Connection) -> None:
    """Do the calls that come through the pipe until its other end is closed."""
    while True:
        try:
            work, args, kwargs = pipe.recv()
        except (EOFError, OSError):
            return  # the worker is gone
        pipe.send_bytes(_pickled(_outcome(work, args, kwargs)))


def within_cpu_time(seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`work(*args)`; ends this process if the work uses more processor time than `seconds`."""
    signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends a process that has no handler
    try:
        return work(*args, **kwargs)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _outcome(work: Callable[P, T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T | WeftError:
    """What the work returns, or why it returns nothing."""
    try:
        return work(*args, **kwargs)
    except WeftError as error:
        return error
    except Exception as error:
        # Pickling loses the traceback, so the location is noted here.
        return WorkFailed(safe_error(error))


def _pickled(outcome: object) -> memoryview:
    """The outcome as `Connection.recv` reads it."""
    try:
        return ForkingPickler.dumps(outcome)
    except Exception as error:
        complaint = (
            f"the work's result, a {type(outcome).__name__}, cannot be pickled "
            f"({safe_error(error)}); return plain values"
        )
        return ForkingPickler.dumps(WorkFailed(complaint))
