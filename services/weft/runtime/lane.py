"""A subprocess for work that must not hold others up, or must not take the worker down with it.

Huge items go here, and every redelivered one: if the work kills its process, exactly one message is
to blame, since the lane takes one at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import ParamSpec, TypeVar

from weft.runtime.logs import safe_error
from weft.runtime.parent import die_with_parent
from weft_schemas.errors import WeftError

P = ParamSpec("P")
T = TypeVar("T")

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
        self._pool: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()
        self._pid = 0

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`work(*args)` in the subprocess; function, arguments and result are picklable.

        Raises weft's errors as the work raised them, `WorkFailed` for any other, and `WorkDied`
        where it killed its process or took longer than `LANE_SECONDS`.
        """
        async with self._turn:
            pool = await self._started()
            call = asyncio.get_running_loop().run_in_executor(pool, _call, work, args, kwargs)
            try:
                return await asyncio.wait_for(call, LANE_SECONDS)
            except TimeoutError:
                self.close()
                raise WorkDied(
                    f"the work took more than {LANE_SECONDS:.0f} s; look at the item"
                ) from None
            except BrokenProcessPool:
                self.close()
                raise WorkDied("the work ended its process; look at the item") from None

    def close(self) -> None:
        """End the subprocess, whatever it does."""
        if self._pool is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None

    async def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # spawn: a fork of a process with a running event loop and threads is not safe.
            self._pool = ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn"), _begin, (os.getpid(),)
            )
            self._pid = await asyncio.get_running_loop().run_in_executor(self._pool, os.getpid)
        return self._pool


def _begin(parent: int) -> None:
    die_with_parent(parent)
    # Ctrl-C reaches the whole group; the worker decides when its lane ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _call(work: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]) -> T:
    try:
        return work(*args, **kwargs)
    except WeftError:
        raise
    except Exception as error:
        # Its place in the code is lost on the way back, so it is written down here.
        raise WorkFailed(safe_error(error)) from None
