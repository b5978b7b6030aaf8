"""A subprocess for work that must not hold others up, or must not take the worker down with it.

Huge items go here, and every redelivered one: if the work kills its process, exactly one message is
to blame, since the lane takes one at a time.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import ParamSpec, TypeVar, cast

from weft.runtime.logs import safe_error
from weft.runtime.parent import die_with_parent
from weft_schemas.errors import WeftError

P = ParamSpec("P")
T = TypeVar("T")

NICENESS = 5
"""A third of an ordinary process's share where cores are short: small items go first."""
LANE_SECONDS = 60.0
"""Longest that one piece of work may take: far above the slowest real body (a few seconds), far
below a human's patience with a stuck worker."""


class WorkDied(WeftError):
    """The work ended its process, or did not end at all."""

    code = "work_died"


class WorkFailed(WeftError):
    """The work raised something that is not weft's own: type and place."""

    code = "failed"


class Lane:
    """One subprocess, started when first needed and again after it was lost."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._turn = asyncio.Lock()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`work(*args)` in the subprocess; function, arguments and result are picklable.

        Raises weft's errors as the work raised them, `WorkFailed` for any other, and `WorkDied`
        where it killed its process or took longer than `LANE_SECONDS`.
        """
        async with self._turn:
            pipe = self._started()
            call = asyncio.ensure_future(asyncio.to_thread(_ask, pipe, (work, args, kwargs)))
            try:
                done, _ = await asyncio.wait([call], timeout=LANE_SECONDS)
            except asyncio.CancelledError:
                self.close()  # else the next to come would be given this one's outcome
                await asyncio.gather(call, return_exceptions=True)
                raise
            if not done:
                self.close()
            try:
                outcome = await call
            except (EOFError, OSError):
                self.close()
                how = "ended its process" if done else f"took more than {LANE_SECONDS:.0f} s"
                raise WorkDied(f"the work {how}; look at the item") from None
        if isinstance(outcome, WeftError):
            raise outcome
        return cast(T, outcome)

    def close(self) -> None:
        """End the subprocess, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = None

    def _started(self) -> Connection:
        if self._process is None or self._pipe is None:
            # spawn: a fork of a process with a running event loop and threads is not safe.
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe


def _ask(pipe: Connection, call: object) -> object:
    pipe.send(call)
    return pipe.recv()


def _serve(pipe: Connection, parent: int) -> None:
    die_with_parent(parent)
    os.nice(NICENESS)
    # Ctrl-C reaches the whole group; the worker decides when its lane ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            work, args, kwargs = pipe.recv()
        except (EOFError, OSError):
            return  # the worker is gone
        try:
            outcome = work(*args, **kwargs)
        except WeftError as error:
            outcome = error
        except Exception as error:
            # Its place in the code is lost on the way back, so it is written down here.
            outcome = WorkFailed(safe_error(error))
        pipe.send(outcome)
